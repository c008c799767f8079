package bench

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
)

// tableOf is a table whose rows are copied, in an order near to that in which they were written: by ids, which
// begin with the time. allBut is a column that the database fills by itself; only is a condition.
type tableOf struct{ name, order, allBut, only string }

// decisionTables are what a decision writes.
var decisionTables = []tableOf{
	{name: "register", order: "owner"}, {name: "decision", order: "id"}, {name: "message", order: "id"},
	{name: "message_state", order: "message_id"}, {name: "event", order: "message_id, n"},
	{name: "outbox", order: "message_id, n"}, {name: "feed", order: "message_id, n"},
}

// copied are the rows of some tables.
type copied struct {
	tables []copiedTable
	bytes  int64 // that the store grew by, indexes included
}

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

// leftSince is what is in whole tables, and by how much the store has grown.
func (s *scratch) leftSince(ctx context.Context, before size, tables []tableOf) (*copied, error) {
	after, err := s.size(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.copyOf(ctx, tables)
	if err == nil {
		c.bytes = after.bytes - before.bytes
	}
	return c, err
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
	only := cmp.Or(from.only, "true")
	res, err := db.QueryContext(ctx, "select * from "+from.name+" where "+only+" order by "+from.order)
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
