package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
	"github.com/einmal/einmal/internal/store/storetest"
)

// steered is the system's clock, moved forward by the test.
type steered struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *steered) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *steered) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// file is where a store is, and what time it is there.
type file struct {
	*steered
	path string
}

// files are the stores of the suite.
type files struct{ sync.Map }

func (f *files) open(t *testing.T, path string, c *steered) store.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	f.Store(store.Store(s), file{c, path})
	return s
}

func (f *files) of(t *testing.T, s store.Store) file {
	t.Helper()
	found, ok := f.Load(s)
	if !ok {
		t.Fatal("the store is none of this suite's")
	}
	return found.(file)
}

// copies takes an online copy, as a backup does, and opens copies of it.
func (f *files) copies(t *testing.T, s store.Store) func(t *testing.T) store.Store {
	t.Helper()
	from, backup := f.of(t, s), filepath.Join(t.TempDir(), "backup.db")
	db, err := sql.Open("sqlite", from.path)
	if err == nil {
		_, err = db.Exec("vacuum into ?", backup)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) store.Store {
		t.Helper()
		b, err := os.ReadFile(backup)
		path := filepath.Join(t.TempDir(), "einmal.db")
		if err == nil {
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f.open(t, path, from.steered)
	}
}

// database opens a store's file beside it.
func (f *files) database(t *testing.T, s store.Store) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", f.of(t, s).path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestConformance(t *testing.T) {
	f := &files{}
	storetest.Run(t, storetest.Harness{
		Full: os.Getenv("EINMAL_TORTURE") == "full",
		Open: func(t *testing.T) store.Store {
			t.Helper()
			return f.open(t, filepath.Join(t.TempDir(), "einmal.db"), &steered{})
		},
		Advance: func(t *testing.T, s store.Store, d time.Duration) {
			t.Helper()
			f.of(t, s).advance(d)
		},
		Copy:     f.copies,
		Database: f.database,
	})
}

func TestFlowsMove(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "einmal.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	p, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("migrations"), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	storetest.FlowsMove(t, db, p)
}
