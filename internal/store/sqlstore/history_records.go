package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// sparedSteps is how many steps' worth of messages are kept one by one while all around them goes: each step passes
// over them. Of more than that, history waits for the oldest of the rest: there is something wrong then, and it is seen.
const sparedSteps = 50

// What is kept of what is old, by the table: the record of a message that is there, and a receipt that has had no effect
// yet, is a message's evidence, or waits for a person.
const (
	spareMessage = `(select 1 from message_state s where s.message_id = k.id) is null`
	spareEvent   = `(select 1 from message_state s where s.message_id = k.message_id) is null`
	spareReceipt = `(select 1 from intake i where i.receipt_id = k.id) is null
		and (select 1 from exception x where length(x.receipt_id) > 0 and x.receipt_id = k.id and x.state = 1 limit 1) is null
		and (select 1 from event e cross join message_state s where length(e.receipt_id) > 0 and e.receipt_id = k.id and s.message_id = e.message_id limit 1) is null`
)

var (
	messageAfter = define(`select message_id from message_state where message_id < {1} order by message_id limit 1 offset {2}`)
	intakeAfter  = define(`select receipt_id from intake where receipt_id < {1} order by receipt_id limit 1 offset {2}`)

	forgetDecisions = define(`delete from decision where id in (select k.id from decision k where k.id < {1} and ` + spareEvent + ` order by k.id limit {2})`)
	forgetReceipts  = define(`delete from receipt where id in (select k.id from receipt k where k.id < {1} and ` + spareReceipt + ` order by k.id limit {2})`)
	forgetRuns      = define(`delete from run where decision_id in (select u.decision_id from run u where u.decision_id < {1}
		and (select 1 from decision d where d.id = u.decision_id) is null order by u.decision_id limit {2})`)
	forgetReadings = define(`delete from receipt_reading where receipt_id in (select g.receipt_id from receipt_reading g where g.receipt_id < {1}
		and (select 1 from receipt p where p.id = g.receipt_id) is null order by g.receipt_id limit {2})`)
	// A person's word is kept as long as a message, from when it was said.
	forgetExceptions = define(`delete from exception where id in (select k.id from exception k where k.state > 1 and k.id < {1} and k.resolved_at < {3}
		and ` + spareEvent + ` order by k.id limit {2})`)
	forgetGroups = define(`delete from exception_group where (tenant, connection, kind, hour) in (select g.tenant, g.connection, g.kind, g.hour
		from exception_group g where g.open = 0 and g.hour < {1} and (select 1 from exception x where x.state > 1
		and x.tenant = g.tenant and x.connection = g.connection and x.kind = g.kind and x.hour = g.hour limit 1) is null order by g.hour limit {2})`)
)

// ForgetRecords implements store.Histories.
func (s *Store) ForgetRecords(ctx context.Context, before clock.Micros, limit int) (f store.Forgotten, err error) {
	err = s.historian(ctx, func(t *tx) error {
		f, err = t.forgetRecords(t.ctx, before, limit)
		return err
	})
	return f, err
}

func (t *tx) forgetRecords(ctx context.Context, before clock.Micros, limit int) (f store.Forgotten, err error) {
	wanted := ident.Floor[[16]byte](millis(before))
	bound, err := t.after(ctx, messageAfter, wanted, sparedSteps*limit)
	if err != nil {
		return f, err
	}
	receipts, err := t.after(ctx, intakeAfter, bound, sparedSteps*limit)
	if err != nil {
		return f, err
	}
	if receipts != wanted {
		f.HeldBack = before.Sub(idTime(receipts[:]))
	}
	if f.Gone, err = t.forgetWaiting(ctx, receipts, limit); err != nil {
		return f, err
	}
	n, err := t.forgetRows(ctx, bound, receipts, before, limit)
	f.Gone += n
	return f, err
}

// forgetRows removes what hangs on other things after them.
func (t *tx) forgetRows(ctx context.Context, bound, receipts [16]byte, before clock.Micros, limit int) (gone int, err error) {
	steps := []struct {
		q    *template
		args []any
	}{
		{forgetExceptions, []any{bound[:], limit, before}}, {forgetGroups, []any{idTime(bound[:]).Add(-time.Hour), limit}},
		{forgetDecisions, []any{bound[:], limit}}, {forgetReceipts, []any{receipts[:], limit}},
		{forgetRuns, []any{bound[:], limit}}, {forgetReadings, []any{receipts[:], limit}},
	}
	for _, step := range steps {
		if t.s.d.Partitions && step.q == forgetDecisions {
			n, err := t.dropPartitions(ctx, receipts, limit)
			if err != nil {
				return gone, err
			}
			gone += n
		}
		if t.s.d.Partitions && (step.q == forgetDecisions || step.q == forgetReceipts) {
			continue
		}
		n, err := t.exec(ctx, step.q, nil, step.args...)
		if err != nil {
			return gone, err
		}
		gone += int(n)
	}
	return gone, nil
}

// after is the id in a table that so many come before, or the bound where there are no more than that below it.
func (t *tx) after(ctx context.Context, q *template, bound [16]byte, most int) ([16]byte, error) {
	var id []byte
	err := t.row(ctx, q, nil, scan1(&id), bound[:], most)
	if errors.Is(err, sql.ErrNoRows) {
		return bound, nil
	}
	return keyFrom(id), err
}
