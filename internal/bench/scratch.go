package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const sqliteStore = "sqlite"

func engineOf(store string) string {
	if store == sqliteStore {
		return sqliteStore
	}
	return "postgres"
}

// scratch is a data folder and a store, both empty, that last as long as a run.
type scratch struct {
	folder string
	store  string               // as in the configuration
	admin  string               // URL of the server's own database; "" on SQLite
	name   string               // of the database that was made
	policy *store.PolicyVersion // in policy.yaml; nil: the built-in one
}

// newScratch makes a folder, and a database where the store is a server.
func newScratch(ctx context.Context, o Options) (*scratch, error) {
	folder, err := os.MkdirTemp(o.Folder, "einmal-bench-")
	if err != nil {
		return nil, err
	}
	s := &scratch{folder: folder, store: o.Store}
	if o.Store == sqliteStore {
		return s, nil
	}
	if err := s.createDatabase(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, nil
}

func (s *scratch) createDatabase(ctx context.Context) (err error) {
	s.admin, s.name = s.store, "einmal_bench_"+ident.NewNode().String()[len("node_"):]
	u, err := url.Parse(s.admin)
	if err != nil {
		return errors.New("the store's address is not a PostgreSQL URL: write postgres://user:password@host:port/database")
	}
	if err := s.onServer(ctx, "create database "+s.name); err != nil {
		return fmt.Errorf("a database for the run cannot be made: give the URL of a role with CREATEDB (%w)", err)
	}
	u.Path = "/" + s.name
	s.store = u.String()
	return nil
}

func (s *scratch) onServer(ctx context.Context, statement string) (err error) {
	db, err := sql.Open("pgx", s.admin)
	if err != nil {
		return err
	}
	defer closing(&err, db)
	_, err = db.ExecContext(ctx, statement)
	return err
}

// Close removes everything, whatever became of the run.
func (s *scratch) Close() error {
	err := os.RemoveAll(s.folder)
	if s.admin != "" {
		err = errors.Join(err, s.onServer(context.Background(), "drop database if exists "+s.name+" with (force)"))
	}
	return err
}

func (s *scratch) path(name string) string { return filepath.Join(s.folder, name) }

// config is a gateway's configuration over this store.
func (s *scratch) config() (app.Config, error) {
	return app.Load("", app.Flags{Listen: "127.0.0.1:0", Data: s.folder, Mark: s.path("node.mark"), Store: s.store})
}

// open opens the store as a gateway does.
func (s *scratch) open(ctx context.Context) (store.Store, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	c.Mark = s.path("bench.mark") // beside the one of a gateway that is a process of its own
	return app.OpenWatched(ctx, c, slog.New(slog.DiscardHandler))
}

// bare opens the store for statements of our own, with the same durability.
func (s *scratch) bare(connections int) (*sql.DB, error) {
	if s.store == sqliteStore {
		connections = 1
	}
	db, err := s.openBare()
	if err == nil {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, err
}

func (s *scratch) openBare() (*sql.DB, error) {
	if s.store == sqliteStore {
		return sql.Open("sqlite", "file:"+(&url.URL{Path: s.path(app.StoreFile)}).EscapedPath()+
			"?_txlock=immediate&_pragma=busy_timeout(3000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"+
			"&_pragma=wal_autocheckpoint(4000)&_pragma=cache_size(-16000)&_pragma=temp_store(memory)")
	}
	u, err := url.Parse(s.store)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("synchronous_commit", "on")
	u.RawQuery = q.Encode()
	return sql.Open("pgx", u.String())
}
