package sqlstore

import (
	"bytes"
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const exceptionColumns = `x.id, x.tenant, x.connection, x.kind, x.at, x.message_id, x.attempt, x.part, x.receipt_id, x.detail, x.state, x.event, x.candidates,
	x.resolved_at, x.resolved_by, x.resolved_reason, x.to_message, x.to_attempt, x.to_part, x.resolved_state`

func scanException(res *sql.Rows, more ...any) (*exception.Exception, error) {
	var (
		x                        exception.Exception
		id, msg, receipt, to, cs []byte
	)
	dest := append([]any{&id, &x.Tenant, &x.Connection, &x.Kind, &x.At, &msg, &x.Attempt, &x.Part, &receipt, &x.Detail, &x.State, &x.Event, &cs,
		&x.Resolution.At, &x.Resolution.By, &x.Resolution.Reason, &to, &x.Resolution.To.Attempt, &x.Resolution.To.Part, &x.Resolution.State}, more...)
	err := res.Scan(dest...)
	x.ID, x.Message, x.Receipt = ident.Exception(keyFrom(id)), ident.Message(keyFrom(msg)), ident.Receipt(keyFrom(receipt))
	x.Resolution.To.Message = ident.Message(keyFrom(to))
	for _, k := range partKeys(cs) {
		x.Candidates = append(x.Candidates, exception.Part(k))
	}
	return &x, err
}

// candidateBytes is the stored form of candidates.
func candidateBytes(all []exception.Part) []byte {
	var b bytes.Buffer
	for _, c := range all {
		b.Write(partKey(c).bytes())
	}
	return some(b.Bytes())
}

// Exception implements store.Exceptions.
func (s *Store) Exception(ctx context.Context, tenant ident.Partition, id ident.Exception) (*store.ExceptionView, error) {
	all, err := s.exceptions(ctx, []clause{{"x.id = %s and x.tenant = %s", []any{id, tenant}}}, 1)
	if err == nil && len(all) == 0 {
		return nil, notFound("exception")
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Exceptions implements store.Exceptions.
func (s *Store) Exceptions(ctx context.Context, tenant ident.Partition, f store.ExceptionFilter, p store.Page) ([]*store.ExceptionView, error) {
	return s.exceptions(ctx, exceptionClauses(tenant, f, p), p.Limit)
}

func exceptionClauses(tenant ident.Partition, f store.ExceptionFilter, p store.Page) []clause {
	clauses := ownOrAbout("x", tenant, f.About)
	if f.AllTenants {
		clauses, f.State = nil, exception.Open
		if !f.About.IsZero() {
			clauses = []clause{{"x.message_id = %s", []any{f.About}}}
		}
	}
	switch f.State {
	case 0:
	case exception.Open:
		clauses = append(clauses, clause{sql: "x.state = 1"}) // to the letter, as the index of open ones has it
	default:
		clauses = append(clauses, clause{"x.state = %s", []any{int64(f.State)}})
	}
	for _, c := range []struct {
		given bool
		clause
	}{
		{f.Kind != "", clause{"x.kind = %s", []any{f.Kind}}},
		{f.Connection != 0, clause{"x.connection = %s", []any{f.Connection}}},
		{f.Hour != 0, clause{"x.hour = %s", []any{f.Hour}}},
	} {
		if c.given {
			clauses = append(clauses, c.clause)
		}
	}
	return append(clauses, after(p, "x.at", "x.id")...)
}

func exceptionList(clauses []clause, limit int) (*template, []any) {
	group := clause{sql: "g.tenant = x.tenant and g.connection = x.connection and g.kind = x.kind and g.hour = x.hour"}
	return list(`select `+exceptionColumns+`, g.count from exception x cross join exception_group g`, "x.at desc, x.id desc", append(clauses, group), limit)
}

func (s *Store) exceptions(ctx context.Context, clauses []clause, limit int) ([]*store.ExceptionView, error) {
	q, args := exceptionList(clauses, limit)
	var all []*store.ExceptionView
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		var count int64
		x, err := scanException(res, &count)
		all = append(all, &store.ExceptionView{Exception: *x, GroupCount: count})
		return err
	}, args...)
	return all, unavailable(err)
}

// ExceptionGroups implements store.Exceptions.
func (s *Store) ExceptionGroups(ctx context.Context, tenant ident.Partition, open bool, last store.GroupKey, limit int) ([]store.ExceptionGroup, error) {
	q, args := groupList(tenant, open, last, limit)
	var all []store.ExceptionGroup
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		var g store.ExceptionGroup
		err := res.Scan(&g.Hour, &g.Connection, &g.Kind, &g.Count, &g.Open)
		all = append(all, g)
		return err
	}, args...)
	return all, unavailable(err)
}

func groupList(tenant ident.Partition, open bool, last store.GroupKey, limit int) (*template, []any) {
	clauses := []clause{{"g.tenant = %s", []any{tenant}}}
	if open {
		clauses = append(clauses, clause{sql: "g.open > 0"})
	}
	if last != (store.GroupKey{}) {
		clauses = append(clauses, clause{"(g.hour, g.connection, g.kind) < (%s, %s, %s)", []any{last.Hour, last.Connection, last.Kind}})
	}
	return list(`select g.hour, g.connection, g.kind, g.count, g.open from exception_group g`, "g.hour desc, g.connection desc, g.kind desc", clauses, limit)
}
