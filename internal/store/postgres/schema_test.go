//go:build services

package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/storetest"
)

// schema is a database that releases take over from each other.
func schema(t *testing.T, u *url.URL) storetest.Schema {
	t.Helper()
	return storetest.Schema{
		Files: os.DirFS("."),
		Open: func() (store.Store, error) {
			return postgres.Open(context.Background(), postgres.Options{URL: u.String()})
		},
		Migrate: func(files fs.FS) (int64, error) { return postgres.MigrateWith(context.Background(), u.String(), files) },
	}
}

func TestSchemaAhead(t *testing.T) {
	storetest.SchemaAhead(t, storetest.Harness{}, schema(t, storetest.PostgresDatabase(t)))
}

func TestOldReaders(t *testing.T) {
	storetest.OldReaders(t, schema(t, storetest.PostgresDatabase(t)))
}

// sessions opens connections whose settings are those of a gateway's.
func sessions(t *testing.T, u *url.URL) *sql.DB {
	t.Helper()
	db, err := postgres.Sessions(u.String())
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// took checks that something took as long as a time limit, as far as a busy machine allows.
func took(t *testing.T, what string, since time.Time, limit time.Duration) {
	t.Helper()
	if d := time.Since(since); d < limit || d > limit+2*time.Second {
		t.Errorf("%s took %s, want %s", what, d, limit)
	}
}

// A session that hangs holds up others for a bounded time: each of the three limits ends one that breaks it.
//
// covers: I16
func TestASessionThatHangsIsEnded(t *testing.T) {
	u := storetest.PostgresDatabase(t)
	s := open(t, u)
	ctx := context.Background()
	db := sessions(t, u)
	begin := func() *sql.Tx {
		t.Helper()
		tx, err := db.BeginTx(ctx, nil)
		must(t, err)
		t.Cleanup(func() { _ = tx.Rollback() }) // most have ended
		return tx
	}
	must(t, s.SetMeta(ctx, "held", "1"))

	at := time.Now()
	if _, err := begin().ExecContext(ctx, "select pg_sleep(10)"); code(err) != "57014" {
		t.Errorf("a statement that does not end: %v", err)
	}
	took(t, "a statement", at, 5*time.Second)

	holder := begin()
	_, err := holder.ExecContext(ctx, "update meta set value = '2' where name = 'held'")
	must(t, err)
	at = time.Now()
	if err := s.SetMeta(ctx, "held", "3"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a write that waits for a lock: %v", err)
	}
	took(t, "waiting for a lock", at, time.Second)

	for s.SetMeta(ctx, "held", "4") != nil && time.Since(at) < 10*time.Second { // each try waits for a second
	}
	if d := time.Since(at); d > 4*time.Second {
		t.Errorf("a session that is idle in its transaction held its lock for another %s", d)
	}
	if _, err := holder.ExecContext(ctx, "select 1"); err == nil {
		t.Error("a session that was idle in its transaction for three seconds goes on")
	}
	if got, err := s.Meta(ctx, "held"); err != nil || got != "4" {
		t.Errorf("the value is %q, %v", got, err)
	}
}

// A migration that wants a table which is in use gives way again and again, so that traffic waits for it no longer than half a
// second at a time, and comes to its end when it can.
func TestAMigrationGivesWay(t *testing.T) {
	u := storetest.PostgresDatabase(t)
	s := open(t, u)
	ctx := context.Background()
	plain, err := sql.Open("pgx", u.String())
	must(t, err)
	t.Cleanup(func() { _ = plain.Close() })
	report, err := plain.BeginTx(ctx, nil) // another program's, without limits
	must(t, err)
	_, err = report.ExecContext(ctx, "lock table meta in access share mode")
	must(t, err)
	migrated := make(chan error, 1)
	go func() {
		_, err := postgres.MigrateWith(ctx, u.String(), overlay(t, "alter table meta add column note text"))
		migrated <- err
	}()
	longest := time.Duration(0)
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		at := time.Now()
		if _, err := s.Meta(ctx, "identity_check"); err != nil {
			t.Errorf("a reader of the table: %v", err)
		}
		longest = max(longest, time.Since(at))
	}
	if longest < 100*time.Millisecond || longest > 2*time.Second {
		t.Errorf("readers waited for the migration %s at most, want about its lock_timeout of half a second", longest)
	}
	if len(migrated) > 0 {
		t.Errorf("the migration did not wait for the table: %v", <-migrated)
	}
	must(t, report.Rollback())
	if err := <-migrated; err != nil {
		t.Errorf("after the table was free: %v", err)
	}
}

// overlay has this release's migrations and one more.
func overlay(t *testing.T, statement string) fs.FS {
	t.Helper()
	all := fstest.MapFS{"migrations/09001_next.sql": &fstest.MapFile{Data: []byte("-- +goose Up\n" + statement + ";\n")}}
	entries, err := fs.ReadDir(postgres.Migrations, "migrations")
	must(t, err)
	for _, e := range entries {
		text, err := fs.ReadFile(postgres.Migrations, "migrations/"+e.Name())
		must(t, err)
		all["migrations/"+e.Name()] = &fstest.MapFile{Data: text}
	}
	return all
}
