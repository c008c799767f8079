package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// statements keeps prepared statements of one connection. It is used by one goroutine.
type statements struct {
	conn *sql.Conn
	all  map[string]*sql.Stmt
	// rows are those that run for one row after another. They are the driver's own: what database/sql does for each
	// call takes a third of the time that a row needs.
	rows map[*rowForm]driver.StmtExecContext
}

func newStatements(c *sql.Conn) *statements {
	return &statements{c, map[string]*sql.Stmt{}, map[*rowForm]driver.StmtExecContext{}}
}

func (p *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	if st := p.all[query]; st != nil {
		return st, nil
	}
	st, err := p.conn.PrepareContext(ctx, query)
	if err == nil {
		p.all[query] = st
	}
	return st, err
}

// QueryContext runs a prepared query.
func (p *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := p.get(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// ExecContext runs a prepared statement.
func (p *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	st, err := p.get(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

// each runs a statement for each row of a batch and returns how many rows it changed.
func (p *statements) each(ctx context.Context, f *rowForm, r *rows, scalars []any) (changed int64, err error) {
	err = p.conn.Raw(func(conn any) error {
		st, err := p.prepared(ctx, conn.(driver.ConnPrepareContext), f)
		if err != nil {
			return err
		}
		args := make([]driver.NamedValue, len(f.args))
		for i := range r.len() {
			f.fill(r, i, scalars, func(k int, v any) { args[k] = driver.NamedValue{Ordinal: k + 1, Value: v} })
			res, err := st.ExecContext(ctx, args)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			changed += n
		}
		return nil
	})
	return changed, err
}

func (p *statements) prepared(ctx context.Context, conn driver.ConnPrepareContext, f *rowForm) (driver.StmtExecContext, error) {
	if st := p.rows[f]; st != nil {
		return st, nil
	}
	st, err := conn.PrepareContext(ctx, f.sql)
	if err != nil {
		return nil, err
	}
	p.rows[f] = st.(driver.StmtExecContext) // every driver of these years has it
	return p.rows[f], nil
}

func (p *statements) close() error {
	var errs []error
	for _, st := range p.rows {
		errs = append(errs, st.(driver.Stmt).Close())
	}
	for _, st := range p.all {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}
