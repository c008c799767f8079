package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

var insertDecisions = define(`insert into decision (id, tenant, at, action, class, reason, rule, policy_id, explanation,
	window_ends, same_text, previous_state, message_id, shown_state, shown_delivery, shown_attempts,
	purpose, destination, sender, event_type, event_id, event_version, template_id, template_version,
	correlation_id, intent_key, idempotency_key, text_key, fingerprint_version, fingerprint, fingerprint_fields, caller,
	mode, would, mapped_by, compared_id, matched_key, parts, data_coding, guards)
	select * from {rows id bytes, tenant int, at int, action int, class int, reason text, rule text, policy_id text, explanation text,
	window_ends int, same_text int, previous_state int, message_id bytes, shown_state int, shown_delivery text, shown_attempts int,
	purpose text, destination text, sender text, event_type text, event_id text, event_version text, template_id text, template_version text,
	correlation_id text, intent_key bytes, idempotency_key bytes, text_key bytes, fingerprint_version int, fingerprint bytes, fingerprint_fields bytes, caller text,
	mode int, would int, mapped_by text, compared_id bytes, matched_key bytes, parts int, data_coding int, guards text}`)

func (d *deciding) writeDecisions(ctx context.Context) error {
	r := &rows{}
	for i, o := range d.out {
		if !d.fresh(i) {
			continue
		}
		s, c := d.batch[i], o.Decision
		guards, err := guardsText(c.Guards)
		if err != nil {
			return err
		}
		r.add(c.ID, s.Tenant, c.At, c.Action, c.Class, c.Reason, c.Rule, c.PolicyID, c.Explanation,
			c.WindowEnds, sameTextNumber(c), c.PreviousState, c.Message.ID, c.Message.State, c.Message.Delivery, c.Message.Attempts,
			s.Purpose.Name, s.To.E164(), s.Sender, s.Event.Type, s.Event.ID, s.Event.Version, s.Template.ID, s.Template.Version,
			s.CorrelationID, s.Keys.Intent, s.Idempotency.Key, s.TextKey,
			intent.FingerprintVersion, s.Idempotency.Fingerprint.Whole, some(s.Idempotency.Fingerprint.Fields), s.Caller,
			modeNumber(c.Mode), c.Would, c.MappedBy, c.Compared, c.MatchedKey, c.Text.Parts, c.Text.DataCoding, guards)
	}
	_, err := d.t.exec(ctx, insertDecisions, r)
	return err
}

var (
	insertMessages = define(`insert into message (id, tenant, created_at, decision_id, purpose, kind, policy_id, destination, sender,
		event_type, event_id, event_version, template_id, template_version, correlation_id, connection, flow,
		intent_key, variant_key, text_key, event_bound, while_states, content, metadata, valid_until, receipt_until,
		parts, data_coding, joined_by, price)
		select * from {rows id bytes, tenant int, created_at int, decision_id bytes, purpose text, kind text, policy_id text, destination text, sender text,
		event_type text, event_id text, event_version text, template_id text, template_version text, correlation_id text, connection int, flow int,
		intent_key bytes, variant_key bytes, text_key bytes, event_bound int, while_states int, content bytes, metadata bytes, valid_until int, receipt_until int,
		parts int, data_coding int, joined_by text, price int}`)
	insertStates = define(`insert into message_state (message_id, state, since, final, last_event, queue, ready_at, fence, node, valid_until)
		select * from {rows message_id bytes, state int, since int, final int, last_event int, queue int, ready_at int, fence int, node bytes, valid_until int}`)
	insertOwnKeys = define(`insert into own_key (message_id, wrapped, ends) select * from {rows message_id bytes, wrapped bytes, ends int}`)
)

// writeMessages makes message, state, first event and its outbox row for what was allowed: all or none (I11).
func (d *deciding) writeMessages(ctx context.Context) error {
	messages, states, keys := &rows{}, &rows{}, &rows{}
	var events []ownedEvent
	for i, o := range d.out {
		if !d.fresh(i) || o.Decision.Action != intent.Allow {
			continue
		}
		s, now := d.batch[i], o.Decision.At
		valid := now.Add(s.ValidFor)
		w := s.Purpose.Window
		messages.add(s.Message, s.Tenant, now, s.Decision, s.Purpose.Name, string(s.Purpose.Kind), s.PolicyID, s.To.E164(), s.Sender,
			s.Event.Type, s.Event.ID, s.Event.Version, s.Template.ID, s.Template.Version, s.CorrelationID, s.Connection, s.Flow,
			s.Keys.Intent, s.Keys.Variant, s.TextKey, w.EventBound(), stateSet(w.While), some(s.Content), some(s.Metadata), valid, valid.Add(cmp.Or(s.ReceiptTime, evidence.ReceiptTime)),
			s.Text.Parts, s.Text.DataCoding, s.Text.JoinedBy, o.Price)
		states.add(s.Message, message.Pending, now, false, 1, s.Flow, now, 0, []byte{}, valid)
		if s.OwnKey != nil {
			keys.add(s.Message, s.OwnKey, now.Add(s.OwnKeyFor))
		}
		events = append(events, ownedEvent{s.Message, s.Tenant, evidence.Event{
			N: 1, At: now, Kind: evidence.EventTaken, To: message.Pending, Detail: costOf(o.Price, s.Text.Parts),
		}})
	}
	for _, step := range []struct {
		q *template
		r *rows
	}{{insertMessages, messages}, {insertStates, states}, {insertOwnKeys, keys}} {
		if _, err := d.t.exec(ctx, step.q, step.r); err != nil {
			return err
		}
	}
	return d.t.insertEvents(ctx, events)
}

// stateSet packs states into bits, by their stored numbers.
func stateSet(states []message.State) int64 {
	var set int64
	for _, s := range states {
		set |= 1 << s
	}
	return set
}

func statesIn(set int64) []message.State {
	var states []message.State
	for _, s := range message.States() {
		if set&(1<<s) != 0 {
			states = append(states, s)
		}
	}
	return states
}

// ownedEvent is an event with its message and tenant.
type ownedEvent struct {
	Message ident.Message
	Tenant  ident.Partition
	evidence.Event
}

var insertEvents = define(`insert into event (message_id, n, tenant, at, kind, from_state, to_state, attempt, part, receipt_id, detail)
	select * from {rows message_id bytes, n int, tenant int, at int, kind text, from_state int, to_state int, attempt int, part int, receipt_id bytes, detail text}`)

// insertEvents writes events and lets them leave.
func (t *tx) insertEvents(ctx context.Context, events []ownedEvent) error {
	e, all := &rows{}, make([]leaving, 0, len(events))
	for _, ev := range events {
		detail := ""
		if len(ev.Detail) > 0 {
			b, err := json.Marshal(ev.Detail)
			if err != nil {
				return err
			}
			detail = string(b)
		}
		e.add(ev.Message, ev.N, ev.Tenant, ev.At, ev.Kind, ev.From, ev.To, ev.Attempt, ev.Part, ev.Receipt, detail)
		all = append(all, leaving{message: bytesOf(ev.Message), n: int64(ev.N), tenant: ev.Tenant, at: int64(ev.At)})
	}
	if _, err := t.exec(ctx, insertEvents, e); err != nil {
		return err
	}
	return t.leave(ctx, all)
}
