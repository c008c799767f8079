package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// caseRow is a message under its lock, with what the store needs beside the case.
type caseRow struct {
	evidence.Case
	Destination string
	Secret      bool // of kind authentication: receipts quote what must not stay
	Keys        []intent.Key
	before      message.State // as it was locked
	outcomes    []message.Outcome
	locked      bool
	price       wallet.MicroUSD              // of a part; 0: it costs nothing
	charged     map[wallet.Part]wallet.State // where its charges are as it was locked
}

var readCases = define(`select m.id, m.tenant, m.connection, m.created_at, m.valid_until, m.receipt_until, m.event_bound, m.while_states,
	m.flow, m.destination, m.kind, m.intent_key, m.variant_key, m.parts, m.price from {rows id bytes} cross join message m where m.id = r.id`)

// readMessages reads what never changes of every message that is named or may be meant. No lock is needed.
func (z *settling) readMessages(ctx context.Context) error {
	ids := map[ident.Message]bool{}
	for _, n := range z.news {
		if !n.Message.IsZero() {
			ids[n.Message] = true
		}
	}
	for _, r := range z.records {
		for _, c := range r.candidates {
			ids[c.Message] = true
		}
	}
	for _, id := range z.also {
		ids[id] = true
	}
	wanted := &rows{}
	for id := range ids {
		wanted.add(id)
	}
	return z.t.query(ctx, readCases, wanted, func(res *sql.Rows) error {
		var (
			id, key, variant []byte
			c                = caseRow{}
			bound            int
			while            int64
			kind             string
		)
		err := res.Scan(&id, &c.Tenant, &c.Connection, &c.CreatedAt, &c.ValidUntil, &c.ReceiptUntil, &bound, &while,
			&c.Flow, &c.Destination, &kind, &key, &variant, &c.Parts, &c.price)
		c.Message, c.EventBound, c.While = ident.Message(keyFrom(id)), bound == 1, statesIn(while)
		c.Secret = kind == string(policy.KindAuthentication)
		c.Keys = []intent.Key{keyFrom(key)}
		if v := keyFrom(variant); !v.IsZero() {
			c.Keys = append(c.Keys, v)
		}
		z.cases[c.Message] = &c
		return err
	})
}

// lockRegisters locks the messages' keys, then registers the receipts' logical events.
func (z *settling) lockRegisters(ctx context.Context) error {
	keys := map[slot]bool{}
	for _, c := range z.cases {
		for _, k := range c.Keys {
			keys[slot{intent.SpaceIntent, k}] = true
		}
	}
	r := &rows{}
	for k := range keys {
		r.add(k.Space, k.Key)
	}
	if err := z.t.lockKeys(ctx, r); err != nil {
		return err
	}
	guess, err := z.t.now(ctx)
	if err != nil {
		return err
	}
	z.eventsAsked = z.eventKeys(guess)
	z.eventsFound, err = z.t.take(ctx, z.eventsAsked)
	return err
}

// takeOverEvents gives logical events whose first receipt is long ago to the receipt of now: providers use ids
// again.
func (z *settling) takeOverEvents(ctx context.Context) error {
	var over []taking
	for _, ask := range z.eventsAsked {
		h := z.eventsFound[ask.slot]
		if !h.Fresh && h.Ends <= z.now {
			h.Owner = ask.Owner
			over = append(over, ask)
		}
		z.owners[ask.Key] = h.Owner
	}
	return z.t.assign(ctx, over)
}

// eventKeys are the logical events of the receipts, each once: the first receipt of the batch asks.
func (z *settling) eventKeys(now clock.Micros) []taking {
	var want []taking
	asked := map[intent.Key]bool{}
	for i, n := range z.news {
		if n.Kind != evidence.Receipt || i < z.given && z.out[i].Known || asked[n.EventKey] {
			continue
		}
		asked[n.EventKey] = true
		want = append(want, taking{slot{intent.SpaceEvent, n.EventKey}, n.Receipt.ID, now.Add(evidence.EventLife)})
	}
	return want
}

var (
	lockStates = define(`select s.message_id, s.state, s.since, s.final, s.last_event, s.queue, s.ready_at, s.fence
		from {rows id bytes} cross join message_state s where s.message_id = r.id order by s.message_id {update}`)
	readParts = define(`select a.message_id, a.attempt, a.part, a.outcome, a.delivery, a.external_id, a.reference, a.code, a.code_name,
		a.answered_at, a.status_raw, a.error_code, a.delivered_at, a.receipt_requested, a.fence from {rows id bytes} cross join attempt_part a where a.message_id = r.id
		order by a.message_id, a.attempt, a.part`)
)

// lockCases locks the messages in the order of their ids. Attempts are changed under their message's lock alone.
func (z *settling) lockCases(ctx context.Context) error {
	ids := &rows{}
	for id := range z.cases {
		ids.add(id)
	}
	err := z.t.query(ctx, lockStates, ids, func(res *sql.Rows) error {
		var (
			id    []byte
			final int
			c     evidence.Case
			q     evidence.Queue
		)
		if err := res.Scan(&id, &c.State, &c.Since, &final, &c.LastN, &q, &c.ReadyAt, &c.Fence); err != nil {
			return err
		}
		have := z.cases[ident.Message(keyFrom(id))]
		have.State, have.Since, have.Final, have.LastN = c.State, c.Since, final == 1, c.LastN
		have.ReadyAt, have.Fence, have.Leased = c.ReadyAt, c.Fence, q == evidence.QueueLease
		have.before, have.locked = c.State, true
		return nil
	})
	if err != nil {
		return err
	}
	err = z.t.query(ctx, readParts, ids, func(res *sql.Rows) error {
		var (
			id, external []byte
			a            evidence.Attempt
			receipt      int
		)
		if err := res.Scan(&id, &a.Attempt, &a.Part, &a.Outcome, &a.Delivery, &external, &a.Reference, &a.Code, &a.CodeName,
			&a.AnsweredAt, &a.StatusRaw, &a.ErrorCode, &a.DeliveredAt, &receipt, &a.Fence); err != nil {
			return err
		}
		a.ExternalID, a.NoReceipt = orNil(external), receipt == askedNot
		c := z.cases[ident.Message(keyFrom(id))]
		c.Attempts, c.outcomes = append(c.Attempts, a), append(c.outcomes, a.Outcome)
		return nil
	})
	for _, c := range z.cases {
		if c.locked && c.price > 0 {
			c.charged = c.Charges()
		}
	}
	return err
}
