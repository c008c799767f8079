// Package postgres opens the store on PostgreSQL 13 or later, which any number of nodes share.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/einmal/einmal/internal/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

var dialect = &sqlstore.Dialect{
	Name: "postgres", Arrays: true,
	ForUpdate: "for update", ForShare: "for share", SkipLocked: "for update skip locked",
	LockHead:    "lock table policy_head in exclusive mode",
	ServerClock: true, Partitions: true, Classify: classify,
}

// Options say where and how.
type Options struct {
	URL string // postgres://user:password@host:port/database
	Log *slog.Logger
	// Retried is told of every transaction that is made again; nil: nobody counts.
	Retried func(sqlstore.Class)
	// Connections bounds the pool of writers; 0 means 16. Readers have half as many beside it.
	Connections int
}

// session holds the settings of every connection. They are set by us, whatever the server's defaults are: a
// commit that is acknowledged is on disk, and nobody holds a lock for long.
var session = map[string]string{
	"synchronous_commit":                  "on",
	"idle_in_transaction_session_timeout": "3s",
	"lock_timeout":                        "1s",
	"statement_timeout":                   "5s",
	"default_transaction_isolation":       "read committed",
	"application_name":                    "einmal",
	// Every statement names the rows that it wants by a key, and a table may grow a thousandfold before anybody
	// has analysed it: a plan that reads it from end to end, which was right while it was empty, would stay. So
	// plans go by indexes, row by row, are made once, and no longer depend on what the server believes of a table.
	"enable_seqscan":   "off",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
	// An index scan marks the entries of rows that are gone, so that the next one passes them by; a bitmap does not.
	"enable_bitmapscan": "off",
	"plan_cache_mode":   "force_generic_plan",
	"jit":               "off",
}

// Open connects, checks that the server keeps what it acknowledges, and brings the schema up to date.
func Open(ctx context.Context, o Options) (*sqlstore.Store, error) {
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, errors.New("the store's address is not a PostgreSQL URL: write postgres://user:password@host:port/database")
	}
	version, err := migrate(ctx, config, migrations)
	if err != nil {
		return nil, fmt.Errorf("the store on PostgreSQL: %w", err)
	}
	if o.Connections == 0 {
		o.Connections = 16
	}
	connections := max(o.Connections, 1)
	// Two pools: a read inside a write transaction must not wait for other writers to give up a connection.
	writers, readers := pool(config, connections), pool(config, connections/2)
	return sqlstore.New(sqlstore.Options{
		Dialect: dialect, Version: version, Writer: sqlstore.NewPoolWriter(writers, connections), Reader: readers, Log: o.Log, Retried: o.Retried,
		Close: func() error { return errors.Join(writers.Close(), readers.Close()) },
	}), nil
}

func pool(config *pgx.ConnConfig, size int) *sql.DB {
	db := stdlib.OpenDB(*ours(config), stdlib.OptionAfterConnect(registerArrays))
	db.SetMaxOpenConns(max(size, 1))
	db.SetMaxIdleConns(max(size, 1))
	return db
}

// ours is the configuration with the settings of our sessions.
func ours(config *pgx.ConnConfig) *pgx.ConnConfig {
	for k, v := range session {
		config.RuntimeParams[k] = v
	}
	return config
}

// migrating are the settings of the connection that migrates. It has no time limits of ordinary work, but for this one: who
// waits for the lock of a whole table keeps everybody who comes after from it, traffic too. It is well below the time that a
// session of ours waits, so that no request fails for it.
var migrating = map[string]string{"lock_timeout": "500ms", "application_name": "einmal migrate"}

const (
	// migrateTries is how often a migration is begun that did not get its locks. The transactions in its way last no
	// longer than a few seconds.
	migrateTries = 60
	migrateRest  = time.Second // in which traffic has its turn
)

// migrate runs on a connection of its own.
func migrate(ctx context.Context, config *pgx.ConnConfig, files fs.FS) (version int64, err error) {
	own := config.Copy()
	maps.Copy(own.RuntimeParams, migrating)
	db := stdlib.OpenDB(*own)
	if err = checkDurable(ctx, db); err == nil {
		version, err = migratePatiently(ctx, db, files)
	}
	return version, errors.Join(err, db.Close())
}

// migratePatiently begins again where a lock was not to be had: the migration has rolled back, and nothing is half done.
func migratePatiently(ctx context.Context, db *sql.DB, files fs.FS) (version int64, err error) {
	for range migrateTries {
		version, err = sqlstore.Migrate(ctx, db, sqlstore.Postgres, files)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != lockNotAvailable {
			return version, err
		}
		select {
		case <-time.After(migrateRest):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return 0, fmt.Errorf("a table was in use the whole time: %w", err)
}

// lockNotAvailable is the code of a lock_timeout.
const lockNotAvailable = "55P03"

// checkDurable refuses a server that may lose what it acknowledged.
func checkDurable(ctx context.Context, db *sql.DB) error {
	settings := map[string]string{}
	for _, name := range durable {
		var value string
		if err := db.QueryRowContext(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return err
		}
		settings[name] = value
	}
	return checkSettings(settings)
}

// durable are the settings without which an acknowledged commit may be lost.
var durable = []string{"fsync", "full_page_writes"}

func checkSettings(settings map[string]string) error {
	for _, name := range durable {
		if settings[name] != "on" {
			return fmt.Errorf("the server runs with %s=%s and may lose what it has acknowledged: set %s=on", name, settings[name], name)
		}
	}
	return nil
}
