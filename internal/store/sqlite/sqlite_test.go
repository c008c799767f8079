package sqlite_test

import (
	"context"
	"database/sql"
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

func TestConformance(t *testing.T) {
	clocks := sync.Map{}
	storetest.Run(t, storetest.Harness{
		Full: os.Getenv("EINMAL_TORTURE") == "full",
		Open: func(t *testing.T) store.Store {
			t.Helper()
			c := &steered{}
			s, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(t.TempDir(), "einmal.db"), Clock: c})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			clocks.Store(store.Store(s), c)
			return s
		},
		Advance: func(t *testing.T, s store.Store, d time.Duration) {
			t.Helper()
			c, ok := clocks.Load(s)
			if !ok {
				t.Fatal("the store has no clock that the test could move")
			}
			c.(*steered).advance(d)
		},
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
