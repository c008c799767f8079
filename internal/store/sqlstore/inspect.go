package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
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
	// DeadOf says of which tenants they are.
	DeadOf []DeadOf
	// Administered are the connections that are kept in the store, without those that were removed, and Routes the
	// connections to which each rule of it leads.
	Administered []AdministeredConnection
	Routes       [][]string
	Keys         map[string]bool // the ids of API keys that were not revoked
	// LogLeft: the log of a gateway that was killed lies beside the file, and what is in it is not seen (SQLite).
	LogLeft bool
	// Of a server (PostgreSQL).
	Settings map[string]string
	Clock    time.Time
	Standby  bool // it replays another server's log and takes no writes
	Standbys int  // that replay its log; what may not be seen is not counted
	Behind   int64
}

// DeadOf is how many dead letters are a tenant's.
type DeadOf struct {
	Tenant string
	Dead   int
}

// AdministeredConnection is one that is kept in the store.
type AdministeredConnection struct {
	Name, Settings string
	Enabled        bool
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
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || i.Schema < administered {
		return err
	}
	return errors.Join(i.dead(ctx, db), i.connections(ctx, db), i.routes(ctx, db), i.keys(ctx, db))
}

func (i *Inspection) dead(ctx context.Context, db *sql.DB) error {
	return each(ctx, db, countDead, func(rows *sql.Rows) error {
		var one DeadOf
		err := rows.Scan(&one.Tenant, &one.Dead)
		i.Dead += one.Dead
		i.DeadOf = append(i.DeadOf, one)
		return err
	})
}

func (i *Inspection) connections(ctx context.Context, db *sql.DB) error {
	return each(ctx, db, administeredConnections, func(rows *sql.Rows) error {
		var one AdministeredConnection
		err := rows.Scan(&one.Name, &one.Settings, &one.Enabled)
		i.Administered = append(i.Administered, one)
		return err
	})
}

func (i *Inspection) routes(ctx context.Context, db *sql.DB) error {
	return each(ctx, db, "select uses from route order by position", func(rows *sql.Rows) error {
		var uses []byte
		if err := rows.Scan(&uses); err != nil {
			return err
		}
		i.Routes = append(i.Routes, nil)
		return json.Unmarshal(uses, &i.Routes[len(i.Routes)-1])
	})
}

func (i *Inspection) keys(ctx context.Context, db *sql.DB) error {
	i.Keys = map[string]bool{}
	return each(ctx, db, "select id from api_key where revoked_at = 0", func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		i.Keys[id] = true
		return err
	})
}

func each(ctx context.Context, db *sql.DB, query string, take func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := take(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// MostDead is how far dead letters are counted.
const MostDead = 10_000

// administered is the schema in which there were first webhooks, and connections in the store.
const administered = 20

// countDead reads as many dead letters as are counted, by their own index.
const countDead = `select coalesce(t.name, '?'), count(*) from (select tenant from webhook_delivery where state = 4 limit 10000) as d
  left join tenant t on t.id = d.tenant group by t.name order by t.name`

const administeredConnections = `select c.name, s.settings, s.enabled = 1 from connection_setting s join connection c on c.id = s.connection
  where s.removed = 0 order by c.name`

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
