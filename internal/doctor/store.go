package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/sqlite"
)

func (e *examination) embedded() bool { return e.cfg.StoreName() == "sqlite" }

// storeItself looks at the store without changing it.
func (e *examination) storeItself(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if e.embedded() {
		e.embeddedStore(ctx)
	} else {
		e.server(ctx)
	}
	if e.store == nil {
		return
	}
	switch err := e.store.Reads(); {
	case err != nil:
		e.say("schema", Fail, "run the newer release", "%s", oneLine(err))
	case e.store.Schema < e.store.Known:
		e.say("schema", Warn, "einmal migrate   (or the next einmal serve)", "the schema is version %d, and this release's is %d", e.store.Schema, e.store.Known)
	default:
		e.ok("schema", "version %d", e.store.Schema)
	}
}

func (e *examination) embeddedStore(ctx context.Context) {
	path := filepath.Join(e.cfg.Data, app.StoreFile)
	seen, err := sqlite.Inspect(ctx, path, e.running)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.say("store", Warn, "einmal serve   (it makes it)", "there is no store in %s yet", e.cfg.Data)
		return
	case err != nil:
		e.say("store", Fail, "put a copy in its place as docs/restore.md says", "%s", oneLine(err))
		return
	}
	e.store = seen
	e.ok("store", "SQLite %s, %s in %s", seen.Version, size(seen.Bytes), path)
	if seen.LogLeft {
		e.say("store", Warn, "einmal serve", "the gateway was killed, and its write-ahead log waits for the next start: what is in it was not looked at")
	}
}

func (e *examination) server(ctx context.Context) {
	seen, err := postgres.Inspect(ctx, e.cfg.Store)
	if seen == nil || err != nil {
		e.say("store", Fail, "see that the server runs, and that the address, the user and the password in store are right", "PostgreSQL cannot be asked: %s", oneLine(err))
		return
	}
	e.store = seen
	e.judgeServer()
}

func (e *examination) judgeServer() {
	seen := e.store
	switch err := postgres.Durable(seen.Settings); {
	case err != nil:
		e.say("store", Fail, "set it in postgresql.conf, and reload", "%s", oneLine(err))
	case seen.Standby:
		e.say("store", Fail, "name the primary, or promote this server", "PostgreSQL %s is a standby and takes no writes", seen.Version)
	default:
		e.ok("store", "PostgreSQL %s, %s; fsync and full_page_writes are on", seen.Version, size(seen.Bytes))
	}
	e.standbys()
}

// standbys tells of those that would lose something in a failover now.
func (e *examination) standbys() {
	const far = 16 << 20 // bytes: a segment of the log
	switch s := e.store; {
	case s.Standby || s.Standbys == 0:
	case s.Behind > far:
		e.say("replication", Warn, "see why the standby is slow", "the standby that lags most is %s behind: a failover to it loses that, and traffic waits then", size(s.Behind))
	default:
		e.ok("replication", "standbys: %d, at most %s behind", s.Standbys, size(s.Behind))
	}
}

// clock compares the node's with the store's. The store's decides: on the embedded store they are one.
func (e *examination) clock(context.Context) {
	if e.store == nil || e.store.Clock.IsZero() {
		return
	}
	const slack = 2 * time.Second
	apart := e.Now().Sub(e.store.Clock).Round(time.Millisecond)
	if apart.Abs() > slack {
		e.say("clock", Warn, "keep both by NTP", "this machine's clock and the store's are %s apart: the store's decides, and times in logs are wrong", apart.Abs())
		return
	}
	e.ok("clock", "this machine's clock and the store's are %s apart", apart.Abs())
}

// size is a number of bytes as people read it.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	v, unit := float64(n), 0
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}
