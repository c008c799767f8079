package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Inspection is what can be seen of a store without changing anything in it.
type Inspection struct {
	Version string            // of the engine
	Schema  int64             // 0: there is none yet
	Known   int64             // the schema of this release
	Meta    map[string]string // the installation's values
	Bytes   int64             // on disk
	// Dead are events that an endpoint could not be told, counted up to MostDead.
	Dead int
	// LogLeft: the log of a gateway that was killed lies beside the file, and what is in it is not seen (SQLite).
	LogLeft bool
	// Of a server (PostgreSQL).
	Settings map[string]string
	Clock    time.Time
	Standby  bool // it replays another server's log and takes no writes
	Standbys int  // that replay its log; what may not be seen is not counted
	Behind   int64
}

// Inspect reads what both engines have.
func (i *Inspection) Inspect(ctx context.Context, db *sql.DB, files fs.FS) error {
	i.Known = newest(files)
	i.Meta = map[string]string{}
	err := db.QueryRowContext(ctx, "select coalesce(max(version_id), 0) from goose_db_version where is_applied").Scan(&i.Schema)
	if err != nil || i.Schema == 0 {
		return err
	}
	rows, err := db.QueryContext(ctx, "select name, value from meta")
	if err != nil {
		return err
	}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return errors.Join(err, rows.Close())
		}
		i.Meta[name] = value
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || i.Schema < webhooks {
		return err
	}
	return db.QueryRowContext(ctx, countDead).Scan(&i.Dead)
}

// MostDead is how far dead letters are counted.
const MostDead = 10_000

// webhooks is the schema in which there were first any.
const webhooks = 18

// countDead reads the index of dead letters alone.
const countDead = `select count(*) from (select 1 from webhook_delivery where state = 4 limit 10000) as dead`

// Reads says what keeps this release from the store; nil: nothing.
func (i *Inspection) Reads() error {
	oldest, err := strconv.ParseInt(i.Meta[minReader], 10, 64)
	if err != nil {
		oldest = i.Schema
	}
	return tooOld(i.Schema, oldest, i.Known)
}

// newest is the version of the last migration. Files are named by their number.
func newest(files fs.FS) (version int64) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return 0 // the pattern is right
	}
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			version = max(version, n)
		}
	}
	return version
}
