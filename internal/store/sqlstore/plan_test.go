package sqlstore

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// small are the tables that stay small whatever the traffic is, with their aliases: names, and the keys of the
// codes of ten minutes. The outbox is read from its start on.
var small = []string{"tenant", "connection", "flow", "f", "feed_head", "api_key", "k", "outbox"}

// free reports a step that reads no table of any size from one end to the other.
func free(step string) bool {
	words := strings.Fields(step)
	return len(words) < 2 || words[0] != "SCAN" || slices.Contains(small, words[1]) || strings.Contains(step, "ROW VALUES CLAUSE") || step == "SCAN CONSTANT ROW"
}

// The embedded engine has no statistics and orders a join as it likes. No statement may read a table from one
// end to the other: its cost would grow with the data.
func TestNoStatementScans(t *testing.T) {
	db := emptySchema(t)
	d := &Dialect{Name: "sqlite"}
	for _, q := range defined {
		if strings.Contains(q.text, "clock_timestamp") {
			continue // PostgreSQL's alone
		}
		for _, step := range plan(t, db, q, d) {
			if !free(step) {
				t.Errorf("%s\n\t%s", strings.Join(strings.Fields(q.text), " "), step)
			}
			if strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%s\n\tbuilds an index each time: %s", strings.Join(strings.Fields(q.text), " "), step)
			}
		}
	}
}

func emptySchema(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "plan.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := Migrate(context.Background(), db, SQLite, os.DirFS("../sqlite")); err != nil {
		t.Fatal(err)
	}
	return db
}

func plan(t *testing.T, db *sql.DB, q *template, d *Dialect) []string {
	t.Helper()
	const batch = 64
	args := make([]any, strings.Count(q.sql(d, batch), "?"))
	res, err := db.Query("explain query plan "+q.sql(d, batch), args...)
	if err != nil {
		t.Fatalf("%s: %v", q.text, err)
	}
	defer func() { _ = res.Close() }()
	var steps []string
	for res.Next() {
		var id, parent, unused int
		var step string
		if err := res.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}
