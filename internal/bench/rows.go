package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// tableOf is a table whose rows are copied, in an order near to that in which they were written: by ids, which
// begin with the time. All but are the columns that the database fills by itself.
type tableOf struct{ name, order, allBut string }

// decisionTables are what a decision writes.
var decisionTables = []tableOf{
	{"register", "owner", ""}, {"decision", "id", ""}, {"message", "id", ""}, {"message_state", "message_id", ""},
	{"event", "message_id, n", ""}, {"outbox", "message_id, n", ""},
}

// copied are the rows of some tables.
type copied struct{ tables []copiedTable }

type copiedTable struct {
	name    string
	columns []string
	kinds   []string // of each column: bigint, text or bytea
	rows    [][]any
}

// perItem is how many rows there are for each of so many items.
func (c *copied) perItem(items int) float64 {
	n := 0
	for _, t := range c.tables {
		n += len(t.rows)
	}
	return float64(n) / float64(items)
}

// copyOf reads whole tables.
func (s *scratch) copyOf(ctx context.Context, tables []tableOf) (c *copied, err error) {
	db, err := s.bare(1)
	if err != nil {
		return nil, err
	}
	defer closing(&err, db)
	c = &copied{}
	for _, t := range tables {
		got, err := copyTable(ctx, db, t)
		if err != nil {
			return nil, fmt.Errorf("the table %s: %w", t.name, err)
		}
		c.tables = append(c.tables, got)
	}
	return c, nil
}

func copyTable(ctx context.Context, db *sql.DB, from tableOf) (t copiedTable, err error) {
	res, err := db.QueryContext(ctx, "select * from "+from.name+" order by "+from.order)
	if err != nil {
		return t, err
	}
	defer closing(&err, res)
	all, err := res.Columns()
	if err != nil {
		return t, err
	}
	t.name = from.name
	var kept []int
	for i, name := range all {
		if name != from.allBut {
			t.columns, kept = append(t.columns, name), append(kept, i)
		}
	}
	for res.Next() {
		row, err := scanAny(res, len(all))
		if err != nil {
			return t, err
		}
		few := make([]any, len(kept))
		for i, k := range kept {
			few[i] = row[k]
			if b, ok := few[i].([]byte); few[i] == nil || ok && b == nil {
				few[i] = []byte{} // an empty byte string, as the driver gives it: the schema has no nulls
			}
		}
		t.rows = append(t.rows, few)
	}
	if len(t.rows) > 0 {
		t.kinds = kindsOf(t.rows[0])
	}
	return t, res.Err()
}

func scanAny(res *sql.Rows, n int) ([]any, error) {
	row, into := make([]any, n), make([]any, n)
	for i := range row {
		into[i] = &row[i]
	}
	return row, res.Scan(into...)
}

// kindsOf tells the columns' types by a row: the schema has no others, and no nulls.
func kindsOf(row []any) []string {
	kinds := make([]string, len(row))
	for i, v := range row {
		switch v.(type) {
		case int64:
			kinds[i] = "bigint"
		case string:
			kinds[i] = "text"
		default:
			kinds[i] = "bytea"
		}
	}
	return kinds
}

// batchSize is how many items a bare insert has in a transaction, as our own batches have at most.
const batchSize = 256

// writers is how many transactions run at the same time: as many as of our own batches.
func (b *bench) writers() int {
	if b.Store == sqliteStore {
		return 1
	}
	return 4
}

// insertBare writes rows by batched inserts in the fastest known form: arrays and unnest on PostgreSQL, lists of
// VALUES in a prepared statement on SQLite. The first items are no part of the measurement.
func (b *bench) insertBare(ctx context.Context, rows *copied) (got sample, err error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return got, err
	}
	defer closing(&err, s)
	st, err := s.open(ctx) // it makes the schema
	if err != nil {
		return got, err
	}
	if err := st.Close(); err != nil {
		return got, err
	}
	db, err := s.bare(b.writers())
	if err != nil {
		return got, err
	}
	defer closing(&err, db)
	in := &inserter{db: db, arrays: b.Store != sqliteStore, rows: rows, items: b.Count + warmUp}
	if _, err := inParallel(ctx, b.writers(), warmUp/batchSize, func(i int) error { return in.batch(ctx, i*batchSize) }); err != nil {
		return got, err
	}
	batches := (b.Count + batchSize - 1) / batchSize
	m := b.meter()
	_, err = inParallel(ctx, b.writers(), batches, func(i int) error { return in.batch(ctx, warmUp+i*batchSize) })
	return m.stop(b.Count, nil), err
}

// inserter writes the rows of some items in one transaction.
type inserter struct {
	db     *sql.DB
	arrays bool
	rows   *copied
	items  int
}

func (in *inserter) batch(ctx context.Context, from int) error {
	to := min(from+batchSize, in.items)
	t, err := in.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, table := range in.rows.tables {
		each := len(table.rows) / in.items
		if err := in.insert(ctx, t, table, table.rows[from*each:to*each]); err != nil {
			return errors.Join(fmt.Errorf("the table %s: %w", table.name, err), t.Rollback())
		}
	}
	return t.Commit()
}

func (in *inserter) insert(ctx context.Context, t *sql.Tx, table copiedTable, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	into := "insert into " + table.name + " (" + strings.Join(table.columns, ", ") + ") "
	if in.arrays {
		_, err := t.ExecContext(ctx, into+"select * from "+unnest(table.kinds), columnsOf(table.kinds, rows)...)
		return err
	}
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", len(table.columns)), ",") + ")"
	args := make([]any, 0, len(rows)*len(table.columns))
	for _, r := range rows {
		args = append(args, r...)
	}
	_, err := t.ExecContext(ctx, into+"values "+strings.TrimSuffix(strings.Repeat(row+",", len(rows)), ","), args...)
	return err
}

func unnest(kinds []string) string {
	arrays := make([]string, len(kinds))
	for i, k := range kinds {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, k)
	}
	return "unnest(" + strings.Join(arrays, ",") + ")"
}

func columnsOf(kinds []string, rows [][]any) []any {
	args := make([]any, len(kinds))
	for i, k := range kinds {
		switch k {
		case "bigint":
			args[i] = columnOf[int64](rows, i)
		case "text":
			args[i] = columnOf[string](rows, i)
		default:
			args[i] = columnOf[[]byte](rows, i)
		}
	}
	return args
}

func columnOf[T any](rows [][]any, i int) []T {
	out := make([]T, len(rows))
	for k, r := range rows {
		out[k] = r[i].(T) // kindsOf looked at the first of them
	}
	return out
}
