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

	"github.com/pressly/goose/v3"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
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
	databases.Store(store.Store(s), u)
	return s
}

// databases says where stores are.
var databases sync.Map

func database(t *testing.T, s store.Store) *url.URL {
	t.Helper()
	u, ok := databases.Load(s)
	if !ok {
		t.Fatal("the store is none of these tests'")
	}
	return u.(*url.URL)
}

// readWhole are the databases that a copy was taken of, which reads every table.
var readWhole sync.Map

// again opens a store's database once more.
func again(t *testing.T, s store.Store) store.Store {
	t.Helper()
	return open(t, database(t, s))
}

// beside opens a store's database past it. It is held to the rule that the store is held to, see noScans.
func beside(t *testing.T, s store.Store) *sql.DB {
	t.Helper()
	u := *database(t, s)
	q := u.Query()
	q.Set("enable_seqscan", "off")
	u.RawQuery = q.Encode()
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// copies takes a copy of a store's database, and opens stores on copies of it.
func copies(t *testing.T, s store.Store) func(t *testing.T) store.Store {
	t.Helper()
	backup, _ := copied(t, database(t, s))
	readWhole.Store(database(t, s).String(), true)
	return func(t *testing.T) store.Store {
		t.Helper()
		_, opened := copied(t, backup)
		return opened
	}
}

func copied(t *testing.T, from *url.URL) (*url.URL, store.Store) {
	t.Helper()
	u := storetest.PostgresDatabase(t)
	s := open(t, u)
	storetest.PostgresCopy(t, from, u)
	return u, s
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
			u := storetest.PostgresDatabase(t)
			t.Cleanup(func() { noScans(t, u) }) // after the store is closed
			return open(t, u)
		},
		Advance:   wait,
		Copy:      copies,
		Database:  beside,
		Again:     again,
		Deadlocks: deadlocks,
		Fragile: func(t *testing.T) storetest.Fragile {
			t.Helper()
			s, c, direct := behindProxy(t)
			return storetest.Fragile{Store: s, Direct: open(t, direct), Arm: c.arm, Cut: c.cut, Hold: c.holdNew}
		},
	})
}

// growing are the tables that grow with the traffic. The outbox is read from its start on, by its index.
const growing = `'register_idempotency', 'register_intent', 'register_event', 'register_other', 'message_state',
	'attempt_part', 'external_id', 'intake', 'feed', 'exception', 'decision_first', 'message_first', 'receipt_first', 'event_first', 'transfer'`

// noScans proves that nothing that a test asked for was found by reading a table from end to end, although tables
// were new and the server knew nothing about them.
func noScans(t *testing.T, u *url.URL) {
	t.Helper()
	if _, whole := readWhole.Load(u.String()); whole {
		return
	}
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var scanned sql.NullString
	err = db.QueryRow(`select string_agg(relname, ', ') from pg_stat_user_tables where seq_tup_read > 0 and relname in (` + growing + `)`).Scan(&scanned)
	if err != nil || scanned.Valid {
		t.Errorf("tables that were read from end to end: %s %v", scanned.String, err)
	}
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
	if changed, err := s.PutPolicy(context.Background(), p, policy.Succeed); err != nil || !changed {
		t.Fatal(changed, err)
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
	if _, err := s.PutPolicy(context.Background(), p, policy.Succeed); err != nil {
		t.Errorf("the policy in force cannot be put beside a decision: %v", err)
	}
}

// behindProxy opens a store on a new database behind a proxy.
func behindProxy(t *testing.T) (store.Store, *cutter, *url.URL) {
	t.Helper()
	direct := storetest.PostgresDatabase(t)
	c := newCutter(t, direct.Host)
	u := *direct
	u.Host = c.addr()
	q := u.Query()
	q.Set("sslmode", "disable") // the proxy has to read what is sent
	u.RawQuery = q.Encode()
	return open(t, &u), c, direct
}

// A server that answers nothing at all, behind a partition or with a stalled disk, keeps nobody: writes and
// questions end as unavailable, and work goes on when it is back.
func TestServerThatHangs(t *testing.T) {
	s, c, _ := behindProxy(t)
	ctx := context.Background()
	thaw := c.freeze()
	var wg sync.WaitGroup
	for name, call := range map[string]func() error{
		"write": func() error { _, err := s.EnsureMeta(ctx, "hang", "1"); return err },
		"read":  func() error { _, err := s.Meta(ctx, "hang"); return err },
		"ping":  func() error { return s.Ping(ctx) },
	} {
		wg.Go(func() {
			if err := call(); fault.CodeOf(err) != fault.Unavailable || err == nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait() // each ends by itself, or this test does not
	thaw()
	if _, err := s.EnsureMeta(ctx, "hang", "1"); err != nil {
		t.Errorf("after the line is back: %v", err)
	}
	if err := s.Ping(ctx); err != nil {
		t.Errorf("after the line is back it is not ready: %v", err)
	}
}

// A server that has become a standby answers questions and takes nothing: that is no defect, and not ready.
func TestServerThatIsReadOnly(t *testing.T) {
	u := storetest.PostgresDatabase(t)
	ctx := context.Background()
	s := open(t, u)
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	setReadOnly := func(value string) {
		t.Helper()
		name := strings.TrimPrefix(u.Path, "/")
		for _, q := range []string{
			"alter database " + name + " set default_transaction_read_only = " + value,
			"select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + name + "' and pid <> pg_backend_pid()",
		} {
			if _, err := db.ExecContext(ctx, "begin read write; "+q+"; commit"); err != nil {
				t.Fatal(err)
			}
		}
	}
	setReadOnly("on")
	if _, err := s.EnsureMeta(ctx, "standby", "1"); fault.CodeOf(err) != fault.Unavailable || err == nil {
		t.Errorf("a write on a standby: %v", err)
	}
	if err := s.Ping(ctx); err == nil {
		t.Error("a standby is called ready")
	}
	setReadOnly("off")
	if _, err := s.EnsureMeta(ctx, "standby", "1"); err != nil {
		t.Errorf("after it is the primary again: %v", err)
	}
	if err := s.Ping(ctx); err != nil {
		t.Errorf("after it is the primary again it is not ready: %v", err)
	}
}

func TestFlowsMove(t *testing.T) {
	db, err := sql.Open("pgx", storetest.PostgresDatabase(t).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	p, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("migrations"), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	storetest.FlowsMove(t, db, p)
}
