package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// batchSize is how many items a bare insert has in a transaction, as our own batches have at most.
const batchSize = 256

// writers is how many transactions run at the same time: as many as of our own batches.
func (b *bench) writers() int {
	if b.Store == sqliteStore {
		return 1
	}
	return 4
}

// insertBare writes rows by batched inserts in the fastest known form: arrays and unnest on PostgreSQL, prepared
// statements of the driver, row by row, on SQLite. The first items are no part of the measurement.
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
	in := &inserter{db: db, rows: rows, items: b.Count + warmUp}
	insert := in.arrays
	if b.Store == sqliteStore {
		conn, err := db.Conn(ctx)
		if err != nil {
			return got, err
		}
		defer closing(&err, conn)
		insert = in.rowByRow(conn)
	}
	if _, err := inParallel(ctx, b.writers(), warmUp/batchSize, func(i int) error { return insert(ctx, i*batchSize) }); err != nil {
		return got, err
	}
	batches := (b.Count + batchSize - 1) / batchSize
	m := b.meter()
	_, err = inParallel(ctx, b.writers(), batches, func(i int) error { return insert(ctx, warmUp+i*batchSize) })
	return m.stop(b.Count, nil), err
}

// inserter writes the rows of some items in one transaction.
type inserter struct {
	db    *sql.DB
	rows  *copied
	items int
}

// part is a table's rows of a batch that begins at an item.
func (in *inserter) part(table copiedTable, from int) [][]any {
	each := len(table.rows) / in.items
	return table.rows[from*each : min(from+batchSize, in.items)*each]
}

// arrays writes a batch that begins at an item, by one statement a table.
func (in *inserter) arrays(ctx context.Context, from int) error {
	t, err := in.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, table := range in.rows.tables {
		rows := in.part(table, from)
		if len(rows) == 0 {
			continue
		}
		if _, err := t.ExecContext(ctx, table.into()+"select * from "+unnest(table.kinds), columnsOf(table.kinds, rows)...); err != nil {
			return errors.Join(fmt.Errorf("the table %s: %w", table.name, err), t.Rollback())
		}
	}
	return t.Commit()
}

func (t *copiedTable) into() string {
	return "insert into " + t.name + " (" + strings.Join(t.columns, ", ") + ") "
}

// rowByRow writes a batch that begins at an item, by one statement a row, on a connection of its own.
func (in *inserter) rowByRow(conn *sql.Conn) func(ctx context.Context, from int) error {
	statements := map[string]driver.StmtExecContext{}
	exec := func(ctx context.Context, c any, text string, args []driver.NamedValue) error {
		if statements[text] == nil {
			st, err := c.(driver.ConnPrepareContext).PrepareContext(ctx, text)
			if err != nil {
				return err
			}
			statements[text] = st.(driver.StmtExecContext) // the driver has it
		}
		_, err := statements[text].ExecContext(ctx, args)
		return err
	}
	return func(ctx context.Context, from int) error {
		return conn.Raw(func(c any) error {
			if err := exec(ctx, c, "begin immediate", nil); err != nil {
				return err
			}
			for _, table := range in.rows.tables {
				text := table.into() + "values (" + strings.TrimSuffix(strings.Repeat("?,", len(table.columns)), ",") + ")"
				args := make([]driver.NamedValue, len(table.columns))
				for _, row := range in.part(table, from) {
					for i, v := range row {
						args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
					}
					if err := exec(ctx, c, text, args); err != nil {
						return errors.Join(fmt.Errorf("the table %s: %w", table.name, err), exec(ctx, c, "rollback", nil))
					}
				}
			}
			return exec(ctx, c, "commit", nil)
		})
	}
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
