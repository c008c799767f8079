package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/sqlite"
	"github.com/einmal/einmal/internal/store/sqlstore"
)

// StoreFile is the embedded store in the data folder.
const StoreFile = "einmal.db"

// OpenStore opens the configured store and brings its schema up to date.
func OpenStore(ctx context.Context, c Config, log *slog.Logger, retried func(sqlstore.Class)) (store.Store, error) {
	if c.Store == storeSQLite {
		s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(c.Data, StoreFile), Clock: clock.System{}, Log: log, Retried: retried})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := postgres.Open(ctx, postgres.Options{URL: c.Store, Log: log, Retried: retried})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Migrate brings the store's schema up to date and does nothing else. The data folder must be free.
func Migrate(ctx context.Context, c Config, log *slog.Logger) error {
	lock, err := lockFolder(c.Data)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the process ends soon, and with it the lock
	s, err := OpenStore(ctx, c, log, nil)
	if err != nil {
		return err
	}
	return s.Close()
}

// Backup copies the embedded store to a file, also while a gateway works on it.
func (c Config) Backup(ctx context.Context, to string) error {
	if c.Store != storeSQLite {
		return errors.New("the store is on PostgreSQL, whose own tools copy it: pg_dump --format=custom, or pg_basebackup (docs/restore.md)")
	}
	return sqlite.Backup(ctx, filepath.Join(c.Data, StoreFile), to)
}

// GCPercent lets a gateway's heap grow to four times what lives before it is collected, where Go's default is twice.
// What lives in it is small, and much passes through: a quarter of the CPU time went into collecting.
const GCPercent = 300

// Batching is how decisions are gathered: one writer on the embedded store, several on a server.
func Batching(c Config) batch.Config {
	if c.Store == storeSQLite {
		return batch.Config{Max: 256, Writers: 1, Depth: 4096}
	}
	return batch.Config{Max: 256, Writers: 4, Depth: 4096}
}

// nodeClock is the node's wall clock: for logs, and on the embedded store for everything.
func nodeClock() clock.Clock { return clock.System{Offset: chaos.NodeClockOffset()} }

// StoreName is the engine's name.
func (c Config) StoreName() string {
	if c.Store == storeSQLite {
		return "sqlite"
	}
	return "postgres"
}
