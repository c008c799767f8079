package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var readDecision = define(`select ` + decisionColumns + ` from decision d where d.id = {1} and d.tenant = {2}`)

// Decision implements store.Reader.
func (s *Store) Decision(ctx context.Context, tenant ident.Partition, id ident.Decision) (d *store.Decision, err error) {
	err = s.read().query(ctx, readDecision, nil, func(res *sql.Rows) (err error) {
		d, err = scanDecision(res)
		return err
	}, id, tenant)
	if err == nil && d == nil {
		return nil, notFound("decision")
	}
	if err == nil {
		err = s.addStateSource(ctx, d)
	}
	return d, unavailable(err)
}

// A decision and the news of the message that it was compared with take the same key of the register, and read the
// clock under it: what had moved the message then has happened by then.
var readStateSource = define(`select n, at, kind, from_state, to_state, attempt, part, receipt_id, detail from event
	where message_id = {1} and at <= {2} and to_state = {3} and from_state <> to_state order by n desc limit 1`)

func (s *Store) addStateSource(ctx context.Context, d *store.Decision) error {
	if d.Compared.IsZero() {
		return nil
	}
	return s.read().query(ctx, readStateSource, nil, func(res *sql.Rows) error {
		e, err := scanEvent(res)
		d.StateSource = &e
		return err
	}, d.Compared, int64(d.At), int64(d.PreviousState))
}

// Decisions implements store.Reader.
func (s *Store) Decisions(ctx context.Context, tenant ident.Partition, about ident.Message, p store.Page) ([]*store.Decision, error) {
	q, args := decisionList(tenant, about, p)
	var all []*store.Decision
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		d, err := scanDecision(res)
		all = append(all, d)
		return err
	}, args...)
	return all, unavailable(err)
}

func decisionList(tenant ident.Partition, about ident.Message, p store.Page) (*template, []any) {
	clauses := ownOrAbout("d", tenant, about)
	return list(`select `+decisionColumns+` from decision d`, "d.at desc, d.id desc", append(clauses, after(p, "d.at", "d.id")...), p.Limit)
}

// ownOrAbout narrows a list to a tenant's rows, or to those about one message that are the tenant's.
func ownOrAbout(alias string, tenant ident.Partition, about ident.Message) []clause {
	if about.IsZero() {
		return []clause{{alias + ".tenant = %s", []any{tenant}}}
	}
	return []clause{{alias + ".message_id = %s", []any{about}}, {"+" + alias + ".tenant = %s", []any{tenant}}}
}

// ownReceipt is the condition for a receipt to be shown to a tenant: it had an effect on one of its messages. The
// installation's own tenant sees those that had none, too.
func ownReceipt(tenant ident.Partition) []clause {
	event := "exists (select 1 from event e where length(e.receipt_id) > 0 and e.receipt_id = p.id and +e.tenant %s %%s)"
	if tenant == installation {
		return []clause{{"not " + fmt.Sprintf(event, "<>"), []any{tenant}}}
	}
	return []clause{{fmt.Sprintf(event, "="), []any{tenant}}}
}

// toldReceipt lets a tenant also see a receipt that one of its exceptions is about: it has to judge it.
func toldReceipt(tenant ident.Partition) []clause {
	own := ownReceipt(tenant)
	if tenant == installation {
		return own
	}
	return []clause{{"(" + own[0].sql + " or exists (select 1 from exception x where length(x.receipt_id) > 0 and x.receipt_id = p.id and +x.tenant = %s))",
		append(own[0].args, tenant)}}
}

// Receipt implements store.Reader.
func (s *Store) Receipt(ctx context.Context, tenant ident.Partition, id ident.Receipt) (*store.LoggedReceipt, error) {
	all, err := s.receipts(ctx, append(toldReceipt(tenant), clause{"p.id = %s", []any{id}}), 1)
	if err == nil && len(all) == 0 {
		return nil, notFound("receipt")
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Receipts implements store.Reader.
func (s *Store) Receipts(ctx context.Context, tenant ident.Partition, about ident.Message, p store.Page) ([]*store.LoggedReceipt, error) {
	if about.IsZero() {
		return s.receipts(ctx, append(ownReceipt(tenant), after(p, "p.received_at", "p.id")...), p.Limit)
	}
	q, args := receiptsAbout(tenant, about, p)
	return s.queryReceipts(ctx, q, args)
}

// receiptsAbout lists the receipts that the history of a message names.
func receiptsAbout(tenant ident.Partition, about ident.Message, p store.Page) (*template, []any) {
	clauses := []clause{
		{"e.message_id = %s and e.tenant = %s and length(e.receipt_id) > 0", []any{about, tenant}}, {sql: "p.id = e.receipt_id"},
	}
	return list(`select distinct `+receiptColumns+` from event e cross join receipt p`, "p.received_at desc, p.id desc",
		append(clauses, after(p, "p.received_at", "p.id")...), p.Limit)
}

func (s *Store) receipts(ctx context.Context, clauses []clause, limit int) ([]*store.LoggedReceipt, error) {
	q, args := list(`select `+receiptColumns+` from receipt p`, "p.received_at desc, p.id desc", clauses, limit)
	return s.queryReceipts(ctx, q, args)
}

func (s *Store) queryReceipts(ctx context.Context, q *template, args []any) ([]*store.LoggedReceipt, error) {
	var all []*store.LoggedReceipt
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		r, err := scanReceipt(res)
		all = append(all, r)
		return err
	}, args...)
	return all, unavailable(err)
}
