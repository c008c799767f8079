//go:build services

package postgres_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/storetest"
)

// noMark remembers nothing beyond the process.
type noMark struct{}

func (noMark) Marks() (*store.Mark, []store.Mark, error) { return nil, nil, nil }
func (noMark) Put(store.Mark) error                      { return nil }

// copyOf makes a copy that nobody is connected to.
func copyOf(t *testing.T, u *url.URL) *url.URL {
	t.Helper()
	to := storetest.PostgresDatabase(t)
	s, err := postgres.Open(t.Context(), postgres.Options{URL: to.String()})
	if err != nil {
		t.Fatal(err)
	}
	storetest.PostgresCopy(t, u, to)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

// A server that is put back to an older copy while nodes work on it is held by the first transaction after that, also
// by a node that has nothing to do.
//
// covers: D20, I19
func TestDatabaseThatJumps(t *testing.T) {
	u := storetest.PostgresDatabase(t)
	s := open(t, u)
	if _, err := s.Watch(t.Context(), noMark{}); err != nil {
		t.Fatal(err)
	}
	ensure := func(name string) {
		t.Helper()
		if _, err := s.EnsureMeta(t.Context(), name, "1"); err != nil {
			t.Fatal(err)
		}
	}
	ensure("before")
	backup := copyOf(t, u)
	ensure("after")
	storetest.PostgresRestore(t, u, backup)
	for end := time.Now().Add(30 * time.Second); !s.Held(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the jump is not noticed")
		}
	}
	i, err := open(t, u).Incarnation(t.Context())
	if err != nil || !i.Held() || i.Why == "" {
		t.Errorf("the incarnation is %+v: %v", i, err)
	}
	ensure("evidence") // what need not wait is taken
}

// Transactions that wait for a connection have no writer's number yet: a mark beside the store has room for as many
// writers as there are connections, and not for as many as come at once.
//
// covers: D20
func TestWritersAreNoMoreThanConnections(t *testing.T) {
	const connections, crowd = 3, 100
	u := storetest.PostgresDatabase(t)
	s, err := postgres.Open(t.Context(), postgres.Options{URL: u.String(), Connections: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Watch(t.Context(), noMark{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			if _, err := s.EnsureMeta(t.Context(), fmt.Sprintf("crowd-%d", i), "1"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var writers, transactions int
	if err := db.QueryRow("select count(*), sum(n) from commit_number").Scan(&writers, &transactions); err != nil {
		t.Fatal(err)
	}
	if writers > connections || transactions < crowd {
		t.Errorf("%d writers made %d transactions over %d connections", writers, transactions, connections)
	}
}
