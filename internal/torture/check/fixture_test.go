package check_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/torture/check"
)

const (
	tenant = ident.Partition(0)
	start  = clock.Micros(1_900_000_000_000_000)
	second = clock.Micros(1_000_000)
	minute = 60 * second
)

func keyer(form []byte) intent.Key {
	sum := sha256.Sum256(form)
	return intent.Key(sum[:16])
}

// sound is a history without a fault, with one message of each kind, in this order:
//
//	0 delivered at its second attempt, after a throttle
//	1 rejected
//	2 unknown, since the message centre neither took nor answered it
//	3 delivered, in two parts
//	4 delivered, with a contradiction that was dismissed, and a campaign that a stop has held
//	5 accepted, with a receipt that nobody can read
//	6 of a request that named nothing
//	7 of the same request, which was meant again
func sound() *check.History {
	h := &check.History{
		Tenant: tenant, Keyer: keyer, Echo: true, Lease: 2 * time.Second, FaultsOver: start, Stopped: start + minute, Feed: map[check.FeedEvent]int{},
		Acts:     check.Acts{Policies: []string{"p@1"}, Resolved: map[ident.Exception]exception.State{}},
		Policies: []store.PolicyVersion{{Name: "p", Version: 2, At: start + minute}, {Name: "p", Version: 1, At: start}},
	}
	h.Incarnation.N = 1
	// Of a prepaid tenant: taken at its second attempt.
	h.Paid = []check.Paid{{Event: "E-paid-1", ChargedMessage: store.ChargedMessage{Charges: []store.ChargeRow{{State: wallet.Released}, {State: wallet.Settled}}}}}
	h.PaidLedger = []simulator.Entry{
		{Outcome: simulator.Throttled, ShortMessage: []byte(check.Mark("E-paid-1"))}, {Outcome: simulator.Accepted, ShortMessage: []byte(check.Mark("E-paid-1"))},
	}
	a := taken(h, "E-1", "+12025550103", "key-1")
	attempt(h, a, 1, message.OutcomeThrottled, simulator.Throttled)
	attempt(h, a, 2, message.OutcomeAccepted, simulator.Accepted)
	delivered(h, a)
	b := taken(h, "E-2", "+12025550102", "")
	attempt(h, b, 1, message.OutcomeRejected, simulator.Rejected)
	step(h, b, evidence.EventOutcome, message.Sending, message.Rejected)
	c := taken(h, "E-3", "+12025550105", "")
	attempt(h, c, 1, message.OutcomeUnknown, simulator.Ignored)
	step(h, c, evidence.EventOutcome, message.Sending, message.Unknown)
	inTwoParts(h)
	contradicted(h)
	unreadable(h)
	unnamed(h)
	return h
}

// inTwoParts adds a message of two parts that was delivered.
func inTwoParts(h *check.History) {
	m := taken(h, "E-4", "+12025550100", "")
	text := strings.Repeat("Hello "+check.Mark("E-4")+". ", 20)
	h.Asks[3].Text, m.Text = text, message.Layout{Parts: 2, JoinedBy: "udh8"}
	h.Decisions[3].TextKey = keyer(intent.TextForm(&intent.Request{Tenant: tenant}, text))
	cut, _ := gsm.Split(text, gsm.Reference8)
	for i, p := range cut.Parts {
		attempt(h, m, uint16(1+10*i), message.OutcomeAccepted, simulator.Accepted) // ten seconds apart
		a, e := &m.Attempts[i], &h.Ledger[len(h.Ledger)-1]
		a.Attempt.Attempt, a.Part = 1, uint16(i+1)
		c := gsm.Concat{Reference: 7, Total: 2, Sequence: uint8(i + 1)}
		e.ShortMessage, e.Segment = append(c.Header(), p.Octets...), &simulator.Segment{Reference: 7, Number: c.Sequence, Total: 2}
	}
	step(h, m, evidence.EventOutcome, message.Sending, message.Sending)
	step(h, m, evidence.EventOutcome, message.Sending, message.Accepted)
	reported(h, m, 0, message.Accepted)
	reported(h, m, 1, message.Delivered)
}

// contradicted adds a campaign's message that was reported delivered and then undelivered. It waited for a stop's end.
func contradicted(h *check.History) {
	m := taken(h, "E-5", "+12025550108", "")
	m.Purpose, h.Asks[4].Purpose = "sale", "sale"
	attempt(h, m, 1, message.OutcomeAccepted, simulator.Accepted)
	delivered(h, m)
	first := h.Receipts[len(h.Receipts)-1]
	r := &store.LoggedReceipt{ID: ident.NewReceipt(tenant), ExternalID: first.ExternalID, State: "undelivered"}
	h.Receipts = append(h.Receipts, r)
	step(h, m, evidence.EventConflict, message.Delivered, message.Delivered)
	e := &m.Events[len(m.Events)-1]
	e.Receipt, e.Attempt, e.Part, e.Detail = r.ID, 1, 1, map[string]string{"state": "undelivered"}
	x := &store.ExceptionView{Exception: exception.Exception{
		ID: ident.NewException(tenant), Kind: exception.Conflicting, Message: m.ID, Attempt: 1, Part: 1, Receipt: r.ID, State: exception.Dismissed,
	}}
	h.Exceptions = append(h.Exceptions, x)
	h.Acts.Resolved[x.ID] = exception.Dismissed
	s := store.Stop{ID: ident.NewStop(tenant), Scope: flow.Scope{Purpose: "sale"}, At: m.Attempts[0].OpenedAt - 10*second, LiftedAt: m.Attempts[0].OpenedAt - second}
	h.Stops = append(h.Stops, s)
	h.Acts.Stopped, h.Acts.Lifted = append(h.Acts.Stopped, s.ID), append(h.Acts.Lifted, s.ID)
}

// unreadable adds a message whose receipt cannot be read.
func unreadable(h *check.History) {
	m := taken(h, "E-6", "+12025550111", "")
	attempt(h, m, 1, message.OutcomeAccepted, simulator.Accepted)
	h.Ledger[len(h.Ledger)-1].MessageID = "id-odd"
	step(h, m, evidence.EventOutcome, message.Sending, message.Accepted)
	r := &store.LoggedReceipt{ID: ident.NewReceipt(tenant), EventKey: [16]byte{6}}
	h.Receipts = append(h.Receipts, r)
	h.Exceptions = append(h.Exceptions, &store.ExceptionView{Exception: exception.Exception{Kind: exception.Unreadable, Receipt: r.ID, State: exception.Open}})
}

// unnamed adds a request that names neither purpose nor event, and its like that was meant as well.
func unnamed(h *check.History) {
	first := taken(h, "E-7", "+12025550114", "")
	again := taken(h, "E-7", "+12025550114", "")
	h.Asks = h.Asks[:len(h.Asks)-1]
	ask := h.Asks[len(h.Asks)-1]
	ask.Purpose, ask.Meant = "", 1
	for i, m := range []*check.Message{first, again} {
		m.Purpose, m.Event, m.CreatedAt = policy.UnnamedPurpose, intent.Event{}, start+clock.Micros(i)*second
		n := len(h.Acks) - 2 + i
		h.Acks[n].Ask = ask
		attempt(h, m, uint16(i+1), message.OutcomeAccepted, simulator.Accepted)
		m.Attempts[0].Attempt.Attempt = 1
		h.Ledger[len(h.Ledger)-1].MessageID = fmt.Sprint("id-unnamed-", i)
		h.Ledger[len(h.Ledger)-1].ShortMessage = []byte(ask.Text)
		step(h, m, evidence.EventOutcome, message.Sending, message.Accepted)
	}
	h.Decisions[len(h.Decisions)-1].Would = intent.Suppress
}

// taken adds an intent, its answer, its decision and its message.
func taken(h *check.History, event, to, key string) *check.Message {
	ask := &check.Ask{Event: event, Purpose: "alert", To: to, Text: "Hello " + check.Mark(event)}
	m := &check.Message{Message: &store.Message{
		ID: ident.NewMessage(tenant), Tenant: tenant, Decision: ident.NewDecision(tenant), Purpose: "alert", CreatedAt: start,
		Destination: to, Event: intent.Event{ID: event}, IntentKey: keyer([]byte(event)),
	}}
	d := &store.Decision{Tenant: tenant, TextKey: keyer(intent.TextForm(&intent.Request{Tenant: tenant}, ask.Text))}
	d.ID, d.Action, d.Message, d.At, d.PolicyID = m.Decision, intent.Allow, intent.Snapshot{ID: m.ID}, start, "p@1"
	if key != "" {
		d.IdempotencyKey = keyer(intent.IdempotencyForm(uint64(tenant), "messages.send", key))
	}
	h.Asks, h.Messages, h.Decisions = append(h.Asks, ask), append(h.Messages, m), append(h.Decisions, d)
	h.Acks = append(h.Acks, check.Ack{Ask: ask, Key: key, Status: 201, Message: m.ID, Decision: m.Decision, At: start.Time()})
	step(h, m, evidence.EventTaken, 0, message.Pending)
	return m
}

func step(h *check.History, m *check.Message, kind evidence.EventKind, from, to message.State) {
	n := uint32(len(m.Events) + 1)
	m.Events, m.State = append(m.Events, evidence.Event{N: n, At: start + clock.Micros(n)*second, Kind: kind, From: from, To: to}), to
	h.Feed[check.FeedEvent{Message: m.ID, N: n}] = 1
}

// attempt adds an attempt, answered half a second after it was opened, and its line in the ledger.
func attempt(h *check.History, m *check.Message, n uint16, o message.Outcome, did simulator.Outcome) {
	opened := start + clock.Micros(n)*second
	m.Attempts = append(m.Attempts, store.Attempt{
		Attempt:  evidence.Attempt{Attempt: n, Part: 1, Outcome: o, Reference: int32(n), AnsweredAt: opened + second/2, Fence: int64(n)},
		OpenedAt: opened,
	})
	ref := n
	h.Ledger = append(h.Ledger, simulator.Entry{
		At: (opened + second/4).Time(), Reference: &ref, Destination: m.Destination[1:], Outcome: did,
		ShortMessage: []byte("Hello " + check.Mark(m.Event.ID)),
	})
	if did == simulator.Throttled {
		step(h, m, evidence.EventOutcome, message.Sending, message.Pending)
	}
}

// delivered adds the answer, and a receipt that says so.
func delivered(h *check.History, m *check.Message) {
	step(h, m, evidence.EventOutcome, message.Sending, message.Accepted)
	reported(h, m, len(m.Attempts)-1, message.Delivered)
}

// reported adds the receipt of an attempt, which says delivered.
func reported(h *check.History, m *check.Message, attempt int, to message.State) {
	id := fmt.Sprintf("id-%s-%d", m.Event.ID, attempt)
	r := &store.LoggedReceipt{ID: ident.NewReceipt(tenant), ExternalID: []byte(id), State: "delivered"}
	a := &m.Attempts[attempt]
	step(h, m, evidence.EventReceipt, message.Accepted, to)
	e := &m.Events[len(m.Events)-1]
	e.Receipt, e.Attempt, e.Part, e.Detail = r.ID, a.Attempt.Attempt, a.Part, map[string]string{"state": "delivered"}
	a.Delivery, a.ExternalID = message.DeliveryDelivered, []byte(id)
	for i := range h.Ledger {
		if l := &h.Ledger[i]; l.Reference != nil && int32(*l.Reference) == a.Reference && l.Destination == m.Destination[1:] {
			l.MessageID = id
		}
	}
	h.Receipts = append(h.Receipts, r)
}
