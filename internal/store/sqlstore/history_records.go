package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

var (
	oldestMessage = define(`select message_id from message_state where message_id > {1} order by message_id limit 1`)
	oldestIntake  = define(`select receipt_id from intake where receipt_id > {1} order by receipt_id limit 1`)

	forgetDecisions  = define(`delete from decision where id in (select d.id from decision d where d.id < {1} order by d.id limit {2})`)
	forgetReceipts   = define(`delete from receipt where id in (select p.id from receipt p where p.id < {1} order by p.id limit {2})`)
	forgetRuns       = define(`delete from run where decision_id in (select u.decision_id from run u where u.decision_id < {1} order by u.decision_id limit {2})`)
	forgetExceptions = define(`delete from exception where id in (select x.id from exception x where x.id < {1} order by x.id limit {2})`)
	forgetReadings   = define(`delete from receipt_reading where receipt_id in
		(select g.receipt_id from receipt_reading g where g.receipt_id < {1} order by g.receipt_id limit {2})`)
)

// ForgetRecords implements store.Histories.
func (s *Store) ForgetRecords(ctx context.Context, before clock.Micros, limit int) (gone int, err error) {
	err = s.historian(ctx, func(t *tx) error {
		gone, err = t.forgetRecords(t.ctx, before, limit)
		return err
	})
	return gone, err
}

func (t *tx) forgetRecords(ctx context.Context, before clock.Micros, limit int) (gone int, err error) {
	bound, err := t.oldest(ctx, oldestMessage, ident.Floor[[16]byte](millis(before)))
	if err != nil {
		return 0, err
	}
	receipts, err := t.oldest(ctx, oldestIntake, bound)
	if err != nil {
		return 0, err
	}
	steps := []struct {
		q     *template
		bound [16]byte
	}{{forgetRuns, bound}, {forgetExceptions, bound}, {forgetReadings, receipts}}
	if t.s.d.Partitions {
		if gone, err = t.dropPartitions(ctx, receipts, limit); err != nil {
			return gone, err
		}
	} else {
		steps = append(steps, struct {
			q     *template
			bound [16]byte
		}{forgetDecisions, bound}, struct {
			q     *template
			bound [16]byte
		}{forgetReceipts, receipts})
	}
	for _, step := range steps {
		n, err := t.exec(ctx, step.q, nil, step.bound[:], limit)
		if err != nil {
			return gone, err
		}
		gone += int(n)
	}
	return gone, nil
}

// oldest is the first id of a table, or the bound where that is lower.
func (t *tx) oldest(ctx context.Context, q *template, bound [16]byte) ([16]byte, error) {
	var id []byte
	err := t.row(ctx, q, nil, scan1(&id), []byte{})
	if errors.Is(err, sql.ErrNoRows) {
		return bound, nil
	}
	if first := keyFrom(id); err == nil && string(first[:]) < string(bound[:]) {
		return first, nil
	}
	return bound, err
}
