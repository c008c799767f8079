package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	readClaims = define(`select m.id, m.tenant, m.sender, m.destination, m.content, m.valid_until, k.wrapped, m.parts, m.data_coding, m.joined_by,
		(select coalesce(max(a.attempt), 0) from attempt_part a where a.message_id = m.id)
		from {rows id bytes} cross join message m left join own_key k on k.message_id = m.id where m.id = r.id`)
	readAttemptsOf = define(`select a.message_id, a.attempt, a.part, a.outcome, a.delivery, a.reference, a.receipt_requested, a.fence, a.opened_at
		from {rows id bytes} cross join attempt_part a where a.message_id = r.id order by a.message_id, a.attempt, a.part`)
)

// storedAttempt is a part of an attempt as far as another one depends on it.
type storedAttempt struct {
	evidence.Attempt
	openedAt clock.Micros
}

// attemptsOf reads the attempts of messages.
func (t *tx) attemptsOf(ctx context.Context, ids *rows) (map[ident.Message][]storedAttempt, error) {
	all := map[ident.Message][]storedAttempt{}
	err := t.query(ctx, readAttemptsOf, ids, func(res *sql.Rows) error {
		var (
			id      []byte
			a       storedAttempt
			receipt int
		)
		err := res.Scan(&id, &a.Attempt.Attempt, &a.Part, &a.Outcome, &a.Delivery, &a.Reference, &receipt, &a.Fence, &a.openedAt)
		a.NoReceipt = receipt == askedNot
		m := ident.Message(keyFrom(id))
		all[m] = append(all[m], a)
		return err
	})
	return all, err
}

// caseOf is the claimed message as the domain sees it, to say which of its parts are owed.
func caseOf(o store.Opened, attempts []storedAttempt) *evidence.Case {
	c := &evidence.Case{
		Message: o.Message, Parts: o.Text.Parts, ValidUntil: o.ValidUntil, State: message.Sending, Leased: true, Fence: o.Fence,
	}
	for _, a := range attempts {
		c.Attempts = append(c.Attempts, a.Attempt)
	}
	return c
}

// draftAttempts reads what the attempts need, without a lock: message rows never change, and which parts are owed is
// looked at again under it. Of a message of one part only its owner makes attempts, so their number is enough; of
// the parts of a long one some may have an answer by now, and others not.
func (t *tx) draftAttempts(ctx context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error) {
	ids, byID := &rows{}, make(map[ident.Message]store.Claimed, len(claims))
	for _, c := range claims {
		if _, twice := byID[c.Message]; !twice {
			ids.add(c.Message)
		}
		byID[c.Message] = c
	}
	var drafts, long []store.Opened
	err := t.query(ctx, readClaims, ids, func(res *sql.Rows) error {
		var (
			id   []byte
			last uint16
			o    = store.Opened{Part: 1, Reference: -1}
		)
		if err := res.Scan(&id, &o.Tenant, &o.Sender, &o.Destination, &o.Content, &o.ValidUntil, &o.OwnKey,
			&o.Text.Parts, &o.Text.DataCoding, &o.Text.JoinedBy, &last); err != nil {
			return err
		}
		o.Claimed, o.Attempt = byID[ident.Message(keyFrom(id))], last+1
		if o.Text.Parts > 1 {
			long = append(long, o)
		} else {
			drafts = append(drafts, o)
		}
		return nil
	})
	if err != nil || len(long) == 0 {
		return drafts, err
	}
	return t.draftParts(ctx, spec, drafts, long)
}

// draftParts adds an attempt for each part of the long messages that is owed, and for no more than each claim wants.
func (t *tx) draftParts(ctx context.Context, spec store.OpenSpec, drafts, long []store.Opened) ([]store.Opened, error) {
	attempts, err := t.attemptsOf(ctx, openedIDs(long))
	for _, o := range long {
		k := caseOf(o, attempts[o.Message])
		owed := k.Owed(0, spec.Together)
		for _, part := range owed[:min(len(owed), max(o.Most, 1))] {
			o.Part, o.Attempt = part, k.NextAttempt(part)
			o.NoReceipt = spec.OneReceipt && part > 1
			drafts = append(drafts, o)
		}
	}
	return drafts, err
}

// payForParts takes the credit of the parts that their claim has not paid for, and leaves out what is not covered.
func (t *tx) payForParts(ctx context.Context, spec store.OpenSpec, opened []store.Opened, lost *rows) ([]store.Opened, error) {
	var found []flow.Waiting
	for _, o := range opened {
		if o.Most > 0 {
			found = append(found, flow.Waiting{ID: o.Flow, Sender: o.Sender})
		}
	}
	senders := limited(spec.Rates, found)
	if len(senders) == 0 {
		return opened, nil
	}
	of := store.ClaimSpec{Connection: spec.Connection, Rates: spec.Rates}
	purse, err := t.lockedPurse(ctx, of, senders)
	if err != nil {
		return nil, err
	}
	now, err := t.now(ctx)
	if err != nil {
		return nil, err
	}
	covered := opened[:0]
	for _, o := range opened {
		if o.Most == 0 || purse.Spend(now, flow.PlaceOf(o.Flow).Lane, o.Sender) {
			covered = append(covered, o)
		} else if o.Reference >= 0 {
			lost.add(referenceID(uint16(o.Reference)))
		}
	}
	return covered, t.writePurse(ctx, of, purse)
}
