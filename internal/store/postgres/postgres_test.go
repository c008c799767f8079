//go:build services

package postgres_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/sqlstore"
	"github.com/einmal/einmal/internal/store/storetest"
)

// retries counts, by store, the transactions that were made again after a deadlock.
var retries sync.Map

func open(t *testing.T, u *url.URL) store.Store {
	t.Helper()
	again := &atomic.Int64{}
	s, err := postgres.Open(context.Background(), postgres.Options{URL: u.String(), Retried: func(c sqlstore.Class) {
		if c == sqlstore.Again {
			again.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	retries.Store(store.Store(s), again)
	return s
}

func deadlocks(s store.Store) int {
	n, ok := retries.Load(s)
	if !ok {
		return -1
	}
	return int(n.(*atomic.Int64).Load())
}

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Full: os.Getenv("EINMAL_TORTURE") == "full",
		Open: func(t *testing.T) store.Store {
			t.Helper()
			return open(t, storetest.PostgresDatabase(t))
		},
		Advance:   wait,
		Deadlocks: deadlocks,
		Fragile: func(t *testing.T) storetest.Fragile {
			t.Helper()
			u := storetest.PostgresDatabase(t)
			direct := open(t, u)
			c := newCutter(t, u.Host)
			u.Host = c.addr()
			q := u.Query()
			q.Set("sslmode", "disable") // the proxy has to read what is sent
			u.RawQuery = q.Encode()
			return storetest.Fragile{Store: open(t, u), Direct: direct, Arm: c.arm, Cut: c.cut, Hold: c.holdNew}
		},
	})
}

// wait lets the time pass on the server's own clock, which nobody can move.
func wait(t *testing.T, s store.Store, d time.Duration) {
	t.Helper()
	start, err := s.Now(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for now := start; now < start.Add(d); {
		<-time.After(start.Add(d).Sub(now))
		if now, err = s.Now(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that may lose what it acknowledged is refused. The setting is the database's own, so that the
// server that others use stays as it is; fsync itself can only be set for a whole server.
func TestRefusesUnsafeServer(t *testing.T) {
	u := storetest.PostgresDatabase(t)
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var value string
	if err := db.QueryRow("show fsync").Scan(&value); err != nil || value != "on" {
		t.Fatalf("the tests' server runs with fsync=%s: %v", value, err)
	}
	if err := postgres.CheckSettings(map[string]string{"fsync": "off", "full_page_writes": "on"}); err == nil || !strings.Contains(err.Error(), "fsync=on") {
		t.Errorf("fsync=off was taken: %v", err)
	}
	if err := postgres.CheckSettings(map[string]string{"fsync": "on", "full_page_writes": "off"}); err == nil {
		t.Error("full_page_writes=off was taken")
	}
}

// The session's settings hold whatever the server's defaults are.
func TestSessionSettings(t *testing.T) {
	u := storetest.PostgresDatabase(t)
	q := u.Query()
	q.Set("synchronous_commit", "off")
	u.RawQuery = q.Encode()
	settings, err := postgres.SessionSettings(context.Background(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"synchronous_commit": "on", "lock_timeout": "1s", "statement_timeout": "5s", "idle_in_transaction_session_timeout": "3s"} {
		if settings[name] != want {
			t.Errorf("%s is %q, want %q", name, settings[name], want)
		}
	}
}

func TestAddressThatIsNone(t *testing.T) {
	_, err := postgres.Open(context.Background(), postgres.Options{URL: "postgres://user:secret@host:notaport/db"})
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "postgres://user:password@host:port/database") {
		t.Errorf("the error is %v", err)
	}
}

// A node that starts puts the policy that is in force already. It must not wait for decisions under way, since one
// of them may be that of a node that hangs.
func TestStartsBesideDecisions(t *testing.T) {
	u := storetest.PostgresDatabase(t)
	s := open(t, u)
	p := store.PolicyVersion{Name: "test", Version: 1, Source: []byte("v1")}
	if err := s.PutPolicy(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	decision, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = decision.Rollback() }()
	if _, err := decision.Exec("select 1 from policy_head for share"); err != nil {
		t.Fatal(err)
	}
	if err := s.PutPolicy(context.Background(), p); err != nil {
		t.Errorf("the policy in force cannot be put beside a decision: %v", err)
	}
}
