package sqlstore

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// small are the tables that stay small whatever the traffic is, with their aliases: names, and the keys of the
// codes of ten minutes; stops, a person's each; tenants' people and senders, which nodes keep a copy of. The outbox is read from its start on; waiting, or w, is a statement's own result.
var small = []string{"tenant", "connection", "flow", "feed_head", "api_key", "k", "outbox", "goose_db_version", "waiting", "w", "stop", "price", "tenant_user", "guest", "sender"}

// free reports a step that reads no table of any size from one end to the other.
func free(step string) bool {
	words := strings.Fields(step)
	return len(words) < 2 || words[0] != "SCAN" || slices.Contains(small, words[1]) || strings.Contains(step, "ROW VALUES CLAUSE") || strings.Contains(step, " CONSTANT ROW")
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
		checkPlan(t, db, q, d)
		if q.writesRows() {
			checkSteps(t, q, explain(t, db, q.byRow().sql))
		}
	}
}

func checkPlan(t *testing.T, db *sql.DB, q *template, d *Dialect, forbidden ...string) {
	t.Helper()
	checkSteps(t, q, plan(t, db, q, d), forbidden...)
}

func checkSteps(t *testing.T, q *template, steps []string, forbidden ...string) {
	t.Helper()
	for _, step := range steps {
		bad := !free(step) || strings.Contains(step, "AUTOMATIC")
		for _, index := range forbidden {
			bad = bad || strings.Contains(step, index+" ")
		}
		if bad {
			t.Errorf("%s\n\t%s", strings.Join(strings.Fields(q.text), " "), step)
		}
	}
}

// The queue's partial index is used where its condition, queue > 0, is repeated. The embedded engine begins to read at
// the first lower bound that a statement has: with that condition in front it would read everything that waits.
func TestTheQueueIsEnteredAtItsBound(t *testing.T) {
	wrong := regexp.MustCompile(`queue > 0\s+and\s+(\w+\.)?(queue >|\((\w+\.)?queue,)`)
	if !wrong.MatchString("where s.queue > 0 and s.queue >= {1}") || !wrong.MatchString("where queue > 0 and (queue, ready_at) > ({1}, {2})") {
		t.Error("the form that is wrong is not found")
	}
	for _, q := range defined {
		if wrong.MatchString(q.text) {
			t.Errorf("put queue > 0 behind the other bound:\n%s", q.text)
		}
	}
}

// A list that names one thing finds it by that thing's index, and does not walk through all that the tenant has.
func TestListsAreLedByWhatIsNamed(t *testing.T) {
	db, d := emptySchema(t), &Dialect{Name: "sqlite"}
	id, page := ident.NewMessage(1), store.Page{Limit: 10, At: 1, ID: [16]byte{1}}
	for name, f := range map[string]store.MessageFilter{
		"destination": {Destination: "+1"}, "event": {EventID: "e"}, "correlation": {CorrelationID: "c"}, "key": {IntentKey: intent.Key{1}},
		"several": {Destination: "+1", EventID: "e", States: []message.State{message.Pending}, Purpose: "p", From: 1, Until: 2},
	} {
		t.Run(name, func(t *testing.T) {
			q, _ := messageList(1, f, nil, page)
			checkPlan(t, db, q, d, "message_by_time")
		})
	}
	q, _ := messageList(1, store.MessageFilter{}, &clause{"m.id in (%s, %s)", []any{id, id}}, page)
	checkPlan(t, db, q, d, "message_by_time")
	q, _ = messageList(1, store.MessageFilter{States: []message.State{message.Pending, message.Unknown}}, nil, page)
	checkPlan(t, db, q, d)
	q, _ = decisionList(1, id, page)
	checkPlan(t, db, q, d, "decision_by_time")
	q, _ = exceptionList(exceptionClauses(1, store.ExceptionFilter{About: id}, page), page.Limit)
	checkPlan(t, db, q, d, "exception_by_time")
	q, _ = exceptionList(exceptionClauses(1, store.ExceptionFilter{AllTenants: true}, store.Page{Limit: 10}), 10)
	for _, step := range plan(t, db, q, d) { // the newest of those that are open, as far as the page goes
		if strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN x") && !strings.Contains(step, "exception_open_by_time") {
			t.Errorf("open exceptions of all tenants: %s", step)
		}
	}
	q, _ = receiptsAbout(2, id, page)
	checkPlan(t, db, q, d, "receipt_by_time")
	q, _ = list(`select p.id from receipt p`, "p.received_at desc, p.id desc", append(ownReceipt(2), after(page, "p.received_at", "p.id")...), 10)
	for _, step := range plan(t, db, q, d) { // by time, each receipt looked up by its own index
		if strings.Contains(step, "AUTOMATIC") || strings.HasPrefix(step, "SCAN e") {
			t.Errorf("receipts of a tenant: %s", step)
		}
	}
}

// sqliteFiles hold the embedded engine's migrations.
var sqliteFiles = os.DirFS("../sqlite")

func emptySchema(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "plan.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := Migrate(context.Background(), db, SQLite, sqliteFiles); err != nil {
		t.Fatal(err)
	}
	return db
}

func plan(t *testing.T, db *sql.DB, q *template, d *Dialect) []string {
	t.Helper()
	const batch = 64
	return explain(t, db, q.sql(d, batch))
}

func explain(t *testing.T, db *sql.DB, statement string) []string {
	t.Helper()
	res, err := db.Query("explain query plan "+statement, make([]any, strings.Count(statement, "?"))...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
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

// PostgreSQL may answer an "exists" that is a value, and not a condition, by reading all rows that the other conditions
// leave, once it has statistics: a claim read the whole queue. A subquery with a limit is looked up.
func TestNoExistsIsAValue(t *testing.T) {
	for _, q := range defined {
		for _, value := range []string{"when exists", "select exists", ", exists"} {
			if strings.Contains(q.text, value) {
				t.Errorf("write (select 1 … limit 1) is null instead of exists: %s", q.text)
			}
		}
	}
}
