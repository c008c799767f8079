package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	readWaiting = define(`select i.receipt_id from {rows id bytes} cross join intake i where i.receipt_id = r.id order by i.receipt_id {skip}`)
	// Receipts that a person was told of, or that repeated one of these, and that had no effect since.
	readExcepted = define(`select r.id, coalesce(x.id, {1}), coalesce(x.state, 0) from {rows id bytes}
		left join exception x on length(x.receipt_id) > 0 and x.receipt_id = r.id
		where not exists (select 1 from intake i where i.receipt_id = r.id)
		and not exists (select 1 from event e where length(e.receipt_id) > 0 and e.receipt_id = r.id)`)
	readEarly = define(`select ` + receiptColumns + ` from {rows id bytes} cross join receipt p where p.id = r.id order by p.seq`)
)

// gatherEarly finds receipts that came before the id that this batch brings: with an answer, or with a person's word.
// They wait on the list of work, or a person was told of them when their grace was over. One whose row is locked is
// being settled by somebody who waits for our record and will find the candidate there.
func (z *settling) gatherEarly(ctx context.Context) error {
	wanted := z.early()
	free := &rows{}
	err := z.t.query(ctx, readWaiting, wanted, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		free.add(id)
		return err
	})
	if err == nil {
		err = z.gatherExcepted(ctx, wanted, free)
	}
	if err != nil {
		return err
	}
	return z.t.query(ctx, readEarly, free, func(res *sql.Rows) error {
		r, err := scanReceipt(res)
		if err == nil {
			z.news = append(z.news, store.NewsOf(r))
		}
		return err
	})
}

// early are the receipts that the records of this batch's new ids name.
func (z *settling) early() *rows {
	wanted, seen := &rows{}, map[ident.Receipt]bool{}
	for i := range z.news[:z.given] {
		n := &z.news[i]
		answered := n.Kind == evidence.Outcome && n.Outcome == message.OutcomeAccepted
		if !answered && (n.Kind != evidence.Resolved || n.Action != exception.Attach) {
			continue
		}
		z.identified(n).each(func(r *record) {
			for _, id := range r.waiting {
				if !seen[id] && !z.has(id) {
					seen[id] = true
					wanted.add(id)
				}
			}
		})
	}
	return wanted
}

// gatherExcepted adds receipts of which a person was told and that nobody has resolved. Who resolves one at this
// moment is found out when their exceptions are locked.
func (z *settling) gatherExcepted(ctx context.Context, wanted, free *rows) error {
	resolved := map[ident.Receipt]bool{}
	err := z.t.query(ctx, readExcepted, wanted, func(res *sql.Rows) error {
		var (
			id, x []byte
			state exception.State
		)
		err := res.Scan(&id, &x, &state)
		r := ident.Receipt(keyFrom(id))
		if state == 0 || state == exception.Open {
			z.excepted[r] = ident.Exception(keyFrom(x))
		} else {
			resolved[r] = true
		}
		return err
	}, []byte{})
	for r := range z.excepted {
		if resolved[r] {
			delete(z.excepted, r) // a person has said what it is worth
			continue
		}
		free.add(r)
	}
	return err
}

// has reports whether the batch brings the receipt itself.
func (z *settling) has(id ident.Receipt) bool {
	return slices.ContainsFunc(z.news, func(n store.News) bool { return n.Kind == evidence.Receipt && n.Receipt.ID == id })
}
