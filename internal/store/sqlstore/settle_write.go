package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/intent"
)

// Whether a receipt was asked for with an attempt (receipt_requested). The last is of one for which none was, as far as
// is known, and yet its own counts: a person let one stand, or a restore has left the attempt.
const (
	askedNot          = 0
	asked             = 1
	askedNotButCounts = 2
)

var (
	updateParts = define(`update attempt_part set outcome = r.outcome, delivery = r.delivery, external_id = r.external_id, code = r.code,
		code_name = r.code_name, answered_at = r.answered_at, status_raw = r.status_raw, error_code = r.error_code, delivered_at = r.delivered_at,
		receipt_requested = case when receipt_requested = {1} and r.speaks = 1 then {2} else receipt_requested end
		from {rows message_id bytes, attempt int, part int, prior int, outcome int, delivery int, external_id bytes, code text,
		code_name text, answered_at int, status_raw text, error_code text, delivered_at int, speaks int}
		where attempt_part.message_id = r.message_id and attempt_part.attempt = r.attempt and attempt_part.part = r.part
		and (attempt_part.outcome = r.prior) is true`)
	// Attempts that the store does not remember, see evidence.Restored. Nobody knows when and by whom they were made.
	insertLost = define(`insert into attempt_part (message_id, attempt, part, connection, node, outcome, delivery, external_id, reference, code,
		code_name, opened_at, answered_at, source_sent, destination_sent, receipt_requested, status_raw, error_code, delivered_at)
		select message_id, attempt, part, connection, {1}, outcome, delivery, external_id, reference, code, code_name, {2}, answered_at, {3}, {3}, {4},
		status_raw, error_code, delivered_at from {rows message_id bytes, attempt int, part int, connection int, outcome int, delivery int,
		external_id bytes, reference int, code text, code_name text, answered_at int, status_raw text, error_code text, delivered_at int}`)
	updateStates = define(`update message_state set state = r.state, since = r.since, final = r.final, last_event = r.last_event,
		queue = r.queue, ready_at = r.ready_at
		from {rows message_id bytes, prior int, state int, since int, final int, last_event int, queue int, ready_at int}
		where message_state.message_id = r.message_id and (message_state.state = r.prior) is true`)
)

// write stores what the fold changed. Everything that is written here is locked already.
func (z *settling) write(ctx context.Context) error {
	parts, lost, states, closed := &rows{}, &rows{}, &rows{}, &rows{}
	var opened []*caseRow
	var events []ownedEvent
	for _, c := range z.cases {
		if !c.locked {
			continue
		}
		z.exceptions = append(z.exceptions, c.Exceptions...)
		c.attemptRows(parts, lost)
		if len(c.Events) == 0 && c.State == c.before {
			continue
		}
		c.noteCost()
		queue, ready := c.Schedule(z.now)
		states.add(c.Message, c.before, c.State, c.Since, c.Final, c.LastN, queue, ready)
		for _, e := range c.Events {
			events = append(events, ownedEvent{c.Message, c.Tenant, e})
		}
		if c.CloseKey {
			for _, k := range c.Keys {
				closed.add(intent.SpaceIntent, k, c.Message, z.now)
			}
		}
		if c.OpenKey {
			opened = append(opened, c)
		}
	}
	for _, step := range []struct {
		q    *template
		r    *rows
		args []any
	}{
		{closeKeys, closed, nil}, {updateParts, parts, []any{askedNot, askedNotButCounts}}, {updateStates, states, nil},
		{insertLost, lost, []any{[]byte{}, z.now, "", askedNotButCounts}},
	} {
		if _, err := z.t.exec(ctx, step.q, step.r, step.args...); err != nil {
			return err
		}
	}
	if err := z.t.insertEvents(ctx, events); err != nil {
		return err
	}
	if err := z.openKeys(ctx, opened); err != nil {
		return err
	}
	return z.writeRest(ctx)
}

// attemptRows gathers the attempts that changed, and those that the store does not have yet.
func (c *caseRow) attemptRows(parts, lost *rows) {
	for i, a := range c.Attempts {
		switch {
		case a.New:
			lost.add(c.Message, a.Attempt, a.Part, c.Connection, a.Outcome, a.Delivery, some(a.ExternalID), a.Reference, a.Code,
				a.CodeName, a.AnsweredAt, a.StatusRaw, a.ErrorCode, a.DeliveredAt)
		case a.Changed:
			parts.add(c.Message, a.Attempt, a.Part, c.outcomes[i], a.Outcome, a.Delivery, some(a.ExternalID), a.Code,
				a.CodeName, a.AnsweredAt, a.StatusRaw, a.ErrorCode, a.DeliveredAt, !a.NoReceipt)
		}
	}
}

func (z *settling) writeRest(ctx context.Context) error {
	for _, step := range []func(context.Context) error{z.writeRecords, z.writeIntake, z.writeExceptions, z.writeRedactions, z.settleCharges} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

var (
	readForRedaction = define(`select ` + receiptColumns + ` from {rows id bytes} cross join receipt p where p.id = r.id`)
	redactReceipts   = define(`update receipt set payload = r.payload from {rows id bytes, payload bytes} where receipt.id = r.id`)
)

// writeRedactions replaces payloads that quote a secret, now that it is known that they do. It is the one
// change to a receipt that the log permits.
func (z *settling) writeRedactions(ctx context.Context) error {
	if len(z.redact) == 0 || z.rules.Redact == nil {
		return nil
	}
	ids, redacted := &rows{}, &rows{}
	for _, id := range z.redact {
		ids.add(id)
	}
	err := z.t.query(ctx, readForRedaction, ids, func(res *sql.Rows) error {
		r, err := scanReceipt(res)
		if err != nil {
			return err
		}
		payload, err := z.rules.Redact(r)
		if err == nil && payload != nil {
			redacted.add(r.ID, payload)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = z.t.exec(ctx, redactReceipts, redacted)
	return err
}
