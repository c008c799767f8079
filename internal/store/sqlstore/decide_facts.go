package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var sharePolicy = define(`select name, version from policy_head where id = 1 {share}`)

// sharePolicy holds the policy in force until the commit, so that no decision is made under one that has been
// replaced.
func (t *tx) sharePolicy(ctx context.Context, batch []store.Submission) error {
	var p store.PolicyVersion
	if err := t.row(ctx, sharePolicy, nil, scan1(&p.Name, &p.Version)); err != nil {
		return err
	}
	inForce := p.ID()
	for _, s := range batch {
		if s.PolicyID != inForce {
			return store.ErrPolicyChanged
		}
	}
	return nil
}

var lookKeys = define(`select register.space, register.key, register.owner, register.ends, register.repeats
	from {rows space int, key bytes} cross join register where register.space = r.space and register.key = r.key`)

// look reads keys without locking them.
func (t *tx) look(ctx context.Context, keys []slot) (map[slot]held, error) {
	r := &rows{}
	for _, k := range keys {
		r.add(k.Space, k.Key)
	}
	found := map[slot]held{}
	err := t.query(ctx, lookKeys, r, func(res *sql.Rows) error {
		k, h, err := scanHeld(res)
		found[k] = h
		return err
	})
	return found, err
}

// facts reads what the holders of the keys stand for.
func (t *tx) facts(ctx context.Context, found map[slot]held, now clock.Micros) (*intent.Facts, error) {
	f := &intent.Facts{Now: now, Answered: map[intent.Key]*intent.Answered{}, Holders: map[intent.Key]*intent.Holder{}, Repeats: map[intent.Key]*intent.Repeats{}}
	messages, decisions := &rows{}, &rows{}
	seen := map[[16]byte]bool{}
	for k, h := range found {
		if h.Fresh || seen[h.Owner] {
			continue
		}
		seen[h.Owner] = true
		if k.Space == intent.SpaceIdempotency {
			decisions.add(h.Owner)
		} else {
			messages.add(h.Owner)
		}
	}
	known, err := t.messageFacts(ctx, messages)
	if err != nil {
		return nil, err
	}
	answered, err := t.answered(ctx, decisions)
	if err != nil {
		return nil, err
	}
	for k, h := range found {
		if m := known[h.Owner]; !h.Fresh && k.Space == intent.SpaceIntent && m != nil {
			f.Holders[k.Key] = &intent.Holder{Message: *m, Ends: h.Ends}
			if h.Repeats != nil {
				f.Repeats[k.Key] = h.Repeats
			}
		}
		if a := answered[h.Owner]; !h.Fresh && k.Space == intent.SpaceIdempotency && a != nil {
			one := *a
			one.Ends = h.Ends
			f.Answered[k.Key] = &one
		}
	}
	return f, nil
}

var (
	readMessageFacts = define(`select m.id, m.connection, s.state, s.since, s.final, m.text_key, m.event_bound, m.parts
		from {rows id bytes} cross join message m cross join message_state s where m.id = r.id and s.message_id = m.id`)
	readAttemptFacts = define(`select a.message_id, a.attempt, a.part, a.outcome, a.delivery, a.receipt_requested
		from {rows id bytes} cross join attempt_part a where a.message_id = r.id order by a.message_id, a.attempt, a.part`)
)

func (t *tx) messageFacts(ctx context.Context, ids *rows) (map[[16]byte]*intent.MessageFacts, error) {
	known, total := map[[16]byte]*intent.MessageFacts{}, map[[16]byte]int{}
	err := t.query(ctx, readMessageFacts, ids, func(res *sql.Rows) error {
		var (
			id, text            []byte
			m                   intent.MessageFacts
			final, bound, parts int
		)
		if err := res.Scan(&id, &m.Connection, &m.State, &m.Since, &final, &text, &bound, &parts); err != nil {
			return err
		}
		m.ID, m.TextKey, m.Final, m.EventBound = ident.Message(keyFrom(id)), keyFrom(text), final == 1, bound == 1
		known[m.ID], total[m.ID] = &m, parts
		return nil
	})
	if err != nil {
		return nil, err
	}
	parts := map[[16]byte][]message.Part{}
	err = t.query(ctx, readAttemptFacts, ids, func(res *sql.Rows) error {
		var (
			id      []byte
			p       message.Part
			receipt int
		)
		if err := res.Scan(&id, &p.Attempt, &p.Part, &p.Outcome, &p.Delivery, &receipt); err != nil {
			return err
		}
		p.NoReceipt = receipt == askedNot
		m := known[[16]byte(id)]
		m.Attempts = int(p.Attempt)
		m.AttemptOpen = m.AttemptOpen || p.Outcome == message.OutcomeOpen
		parts[m.ID] = append(parts[m.ID], p)
		return nil
	})
	for id, all := range parts {
		known[id].Delivery = store.ReportedDelivery(known[id].State, total[id], all)
	}
	return known, err
}

var readAnswered = define(`select ` + decisionColumns + `, d.fingerprint, d.fingerprint_fields, coalesce(s.final, 1)
	from {rows id bytes} cross join decision d left join message_state s on s.message_id = d.message_id where d.id = r.id`)

func (t *tx) answered(ctx context.Context, ids *rows) (map[[16]byte]*intent.Answered, error) {
	all := map[[16]byte]*intent.Answered{}
	err := t.query(ctx, readAnswered, ids, func(res *sql.Rows) error {
		var (
			a             intent.Answered
			whole, fields []byte
			final         int
		)
		d, err := scanDecision(res, &whole, &fields, &final)
		if err != nil {
			return err
		}
		a.Decision, a.MessageFinal = d.Decision, final == 1
		a.Fingerprint = intent.Fingerprint{Whole: keyFrom(whole), Fields: fields}
		all[d.ID] = &a
		return nil
	})
	return all, err
}

var readOwnDecisions = define(`select ` + decisionColumns + ` from {rows id bytes} cross join decision d where d.id = r.id`)

// ownDecisions finds decisions of this very batch that an earlier try has committed. It runs after the keys
// are locked: a try that was still committing held them, and is over now.
func (t *tx) ownDecisions(ctx context.Context, batch []store.Submission) (map[ident.Decision]intent.Decision, error) {
	r := &rows{}
	for _, s := range batch {
		r.add(s.Decision)
	}
	own := map[ident.Decision]intent.Decision{}
	err := t.query(ctx, readOwnDecisions, r, func(res *sql.Rows) error {
		d, err := scanDecision(res)
		if err == nil {
			own[d.ID] = d.Decision
		}
		return err
	})
	return own, err
}
