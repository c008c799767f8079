package sqlstore

import (
	"context"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/store"
)

// SettleLogged implements store.ReceiptLog. Nothing is halved here: where one of the batch breaks it, nothing is done,
// and the receipts are stored by themselves. Those that a held wallet puts aside are on the list of work.
func (s *Store) SettleLogged(ctx context.Context, logged []*store.LoggedReceipt, news []store.News, rules store.Rules) ([]store.Settled, error) {
	a := s.newApart(news, rules)
	err := s.once(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		return a.run(t, 0, len(news), func(z *settling) (err error) {
			if z.fresh, err = t.appendReceipts(t.ctx, logged, now); err == nil {
				chaos.At(chaos.ReceiptWritten)
			}
			return err
		})
	})
	return a.out, err
}

var (
	deleteIntake = define(`delete from intake where receipt_id in (select r.id from {rows id bytes})`)
	updateIntake = define(`update intake set due_at = {1}, waited = 1 from {rows id bytes} where intake.receipt_id = r.id`)
)

// writeIntake takes what is finished off the list of work, and notes what waits. What is new is put on it only if it
// waits, or was not settled.
func (z *settling) writeIntake(ctx context.Context) error {
	finished, waiting, waits := &rows{}, &rows{}, &rows{}
	for _, id := range z.finished {
		if !z.fresh[id] {
			finished.add(id)
		}
	}
	for _, id := range z.waiting {
		switch {
		case slices.Contains(z.finished, id): // the answer came in this very batch
		case z.fresh[id]:
			waits.add(id)
		default:
			waiting.add(id)
		}
	}
	until := z.now.Add(z.rules.Grace)
	for _, step := range []struct {
		q       *template
		r       *rows
		scalars []any
	}{
		{deleteIntake, finished, nil}, {updateIntake, waiting, []any{until}}, {insertIntake, waits, []any{until, 1}},
		{insertIntake, z.unsettled(), []any{z.now, 0}},
	} {
		if _, err := z.t.exec(ctx, step.q, step.r, step.scalars...); err != nil {
			return err
		}
	}
	return nil
}

// unsettled are the new receipts that got an error instead of an effect, or were put aside.
func (z *settling) unsettled() *rows {
	r := &rows{}
	for i, n := range z.news[:z.given] {
		if n.Kind == evidence.Receipt && z.fresh[n.Receipt.ID] && z.out[i].Err != nil {
			r.add(n.Receipt.ID)
		}
	}
	for _, n := range z.later {
		if n.Kind == evidence.Receipt && z.fresh[n.Receipt.ID] {
			r.add(n.Receipt.ID)
		}
	}
	return r
}
