package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// history is a message's, with the receipts that it names as they are read now.
type history struct {
	past []evidence.Past
	told map[ident.Receipt]bool
}

var (
	readHistory = define(`select e.message_id, e.n, e.at, e.kind, e.from_state, e.to_state, e.attempt, e.part, e.receipt_id, e.detail
		from {rows id bytes} cross join event e where e.message_id = r.id order by e.message_id, e.n`)
	readTalked = define(`select x.message_id, x.receipt_id from {rows id bytes} cross join exception x where x.message_id = r.id`)
)

// readHistories reads those of the messages that the receipts had an effect on, under the messages' locks.
func (z *settling) readHistories(ctx context.Context) error {
	z.histories = map[ident.Message]*history{}
	messages := &rows{}
	for _, id := range z.also {
		if c := z.cases[id]; c != nil && c.locked && z.histories[id] == nil {
			z.histories[id] = &history{told: map[ident.Receipt]bool{}}
			messages.add(id)
		}
	}
	named := &rows{}
	err := z.t.query(ctx, readHistory, messages, func(res *sql.Rows) error {
		var id []byte
		e, err := scanEvent(res, &id)
		h := z.histories[ident.Message(keyFrom(id))]
		h.past = append(h.past, evidence.Past{Event: e})
		named.add(e.Receipt)
		return err
	})
	if err != nil {
		return err
	}
	readings := map[ident.Receipt]*evidence.ReceiptFacts{}
	err = z.t.query(ctx, readEarly, named, func(res *sql.Rows) error {
		r, err := scanReceipt(res)
		if err == nil {
			readings[r.ID] = store.NewsOf(r).Receipt
			z.declare(readings[r.ID], r.Connection)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, r := range z.rereads {
		if r.old != nil && readings[r.now.ID] != nil {
			readings[r.now.ID] = z.news[i].Receipt
		}
	}
	for _, h := range z.histories {
		for i := range h.past {
			h.past[i].Now = readings[h.past[i].Receipt]
		}
	}
	return z.t.query(ctx, readTalked, messages, func(res *sql.Rows) error {
		var id, receipt []byte
		err := res.Scan(&id, &receipt)
		z.histories[ident.Message(keyFrom(id))].told[ident.Receipt(keyFrom(receipt))] = true
		return err
	})
}
