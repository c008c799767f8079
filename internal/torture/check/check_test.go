package check_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
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
)

func keyer(form []byte) intent.Key {
	sum := sha256.Sum256(form)
	return intent.Key(sum[:16])
}

// sound is a history without a fault: the first message was delivered at its second attempt, after a throttle; the
// second was rejected; the third is unknown, since the message centre neither took nor answered it.
func sound() *check.History {
	h := &check.History{Tenant: tenant, Keyer: keyer, Feed: map[check.FeedEvent]int{}}
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
	return h
}

// inTwoParts adds a message of two parts that was delivered.
func inTwoParts(h *check.History) {
	m := taken(h, "E-4", "+12025550100", "")
	text := strings.Repeat("Hello E-4. ", 20)
	h.Asks[3].Text, m.Text = text, message.Layout{Parts: 2, JoinedBy: "udh8"}
	h.Decisions[3].TextKey = keyer(intent.TextForm(&intent.Request{Tenant: tenant}, text))
	cut, _ := gsm.Split(text, gsm.Reference8)
	for i, p := range cut.Parts {
		attempt(h, m, uint16(1+10*i), message.OutcomeAccepted, simulator.Accepted) // a second apart
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

// reported adds the receipt of an attempt, which says delivered.
func reported(h *check.History, m *check.Message, attempt int, to message.State) {
	id := fmt.Sprintf("id-%s-%d", m.Event.ID, attempt)
	r := &store.LoggedReceipt{ID: ident.NewReceipt(tenant), ExternalID: []byte(id)}
	a := &m.Attempts[attempt]
	step(h, m, evidence.EventReceipt, message.Accepted, to)
	e := &m.Events[len(m.Events)-1]
	e.Receipt, e.Attempt, e.Part = r.ID, a.Attempt.Attempt, a.Part
	a.Delivery = message.DeliveryDelivered
	for i := range h.Ledger {
		if l := &h.Ledger[i]; l.Reference != nil && int32(*l.Reference) == a.Reference && l.Destination == m.Destination[1:] {
			l.MessageID = id
		}
	}
	h.Receipts = append(h.Receipts, r)
}

// taken adds an intent, its answer, its decision and its message.
func taken(h *check.History, event, to, key string) *check.Message {
	ask := &check.Ask{Event: event, Purpose: "alert", To: to, Text: "Hello " + event}
	m := &check.Message{Message: &store.Message{
		ID: ident.NewMessage(tenant), Tenant: tenant, Decision: ident.NewDecision(tenant), Purpose: "alert",
		Destination: to, Event: intent.Event{ID: event}, IntentKey: keyer([]byte(event)),
	}}
	d := &store.Decision{Tenant: tenant, TextKey: keyer(intent.TextForm(&intent.Request{Tenant: tenant}, ask.Text))}
	d.ID, d.Action, d.Message = m.Decision, intent.Allow, intent.Snapshot{ID: m.ID}
	if key != "" {
		d.IdempotencyKey = keyer(intent.IdempotencyForm(uint64(tenant), "messages.send", key))
	}
	h.Asks, h.Messages, h.Decisions = append(h.Asks, ask), append(h.Messages, m), append(h.Decisions, d)
	h.Acks = append(h.Acks, check.Ack{Ask: ask, Key: key, Status: 201, Message: m.ID, Decision: m.Decision})
	step(h, m, evidence.EventTaken, 0, message.Pending)
	return m
}

func step(h *check.History, m *check.Message, kind evidence.EventKind, from, to message.State) {
	n := uint32(len(m.Events) + 1)
	m.Events, m.State = append(m.Events, evidence.Event{N: n, Kind: kind, From: from, To: to}), to
	h.Feed[check.FeedEvent{Message: m.ID, N: n}] = 1
}

// attempt adds an attempt, answered half a second after it was opened, and its line in the ledger.
func attempt(h *check.History, m *check.Message, n uint16, o message.Outcome, did simulator.Outcome) {
	opened := start + clock.Micros(n)*second
	m.Attempts = append(m.Attempts, store.Attempt{
		Attempt:  evidence.Attempt{Attempt: n, Part: 1, Outcome: o, Reference: int32(n), AnsweredAt: opened + second/2},
		OpenedAt: opened,
	})
	ref := n
	h.Ledger = append(h.Ledger, simulator.Entry{
		At: (opened + second/4).Time(), Reference: &ref, Destination: m.Destination[1:], Outcome: did,
		ShortMessage: []byte("Hello " + m.Event.ID),
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

func TestSoundHistory(t *testing.T) {
	for _, v := range check.All(sound()) {
		t.Error(v)
	}
}

// again repeats the last line of the ledger about the first message.
func again(h *check.History) { h.Ledger = append(h.Ledger, h.Ledger[1]) }

// broken is what each check must see: a history in which one thing is wrong.
var broken = map[string]struct {
	invariant string
	spoil     func(h *check.History)
}{
	"a segment was accepted twice": {"I3", func(h *check.History) { h.Ledger = append(h.Ledger, h.Ledger[5]) }},
	"a segment has another total":  {"I4", func(h *check.History) { h.Ledger[4].Segment.Total = 3 }},
	"a segment is of no message":   {"I4", func(h *check.History) { h.Ledger[5].Segment.Number = 1 }},
	"segments are not joined":      {"I4", func(h *check.History) { h.Ledger[5].Segment.Reference++ }},
	"a part did not wait for the first": {"I5", func(h *check.History) {
		h.Messages[3].Attempts[1].OpenedAt = h.Messages[3].Attempts[0].AnsweredAt - 1
	}},
	"a part left after the first was refused": {"I5", func(h *check.History) { h.Messages[3].Attempts[0].Outcome = message.OutcomeRejected }},
	"delivered, and a part was not accepted":  {"I7", func(h *check.History) { h.Ledger[5].Outcome = simulator.Ignored }},
	"failed, and all of it was accepted":      {"I7", func(h *check.History) { h.Messages[3].State = message.Failed }},
	"delivered, and a part is not":            {"I8", func(h *check.History) { h.Messages[3].Attempts[1].Delivery = message.DeliveryNone }},
	"a part's outcome is not the ledger's":    {"I9", func(h *check.History) { h.Messages[3].Attempts[1].Outcome = message.OutcomeThrottled }},
	"a part's receipt is lost":                {"I13", func(h *check.History) { h.Receipts = h.Receipts[:2] }},
	"a part's receipt had no effect":          {"I13", func(h *check.History) { h.Messages[3].Attempts[1].Delivery = message.DeliveryNone }},
	"an acked message is gone":                {"I1", func(h *check.History) { h.Messages = h.Messages[1:] }},
	"it went to another number":               {"I1", func(h *check.History) { h.Messages[0].Destination = "+12025550199" }},
	"it has another text":                     {"I1", func(h *check.History) { h.Decisions[0].TextKey[0]++ }},
	"it has another idempotency key":          {"I1", func(h *check.History) { h.Decisions[0].IdempotencyKey[0]++ }},
	"its decision is gone":                    {"I1", func(h *check.History) { h.Decisions = h.Decisions[1:] }},
	"a cancelled message was sent":            {"I1", func(h *check.History) { h.Cancelled = []ident.Message{h.Messages[0].ID} }},
	"an intent has two messages":              {"I2", func(h *check.History) { h.Messages[1].Event.ID = "E-1" }},
	"an intent key has two messages":          {"I2", func(h *check.History) { h.Messages[1].IntentKey = h.Messages[0].IntentKey }},
	"an answer names another message":         {"I2", func(h *check.History) { h.Acks = append(h.Acks, check.Ack{Ask: h.Asks[0], Message: h.Messages[1].ID}) }},
	"a key was decided twice":                 {"I2", func(h *check.History) { h.Decisions[1].IdempotencyKey = h.Decisions[0].IdempotencyKey }},
	"a key has two messages": {"I2", func(h *check.History) {
		h.Acks = append(h.Acks, check.Ack{Ask: h.Asks[1], Key: "key-1", Message: h.Messages[1].ID})
	}},
	"a message was accepted twice":      {"I3", again},
	"an unknown text was sent":          {"I4", func(h *check.History) { h.Ledger[0].ShortMessage = []byte("Hello you") }},
	"a reference belongs to nobody":     {"I4", func(h *check.History) { *h.Ledger[0].Reference = 99 }},
	"bytes left before the attempt was": {"I4", func(h *check.History) { h.Ledger[0].At = start.Time() }},
	"a line went to another number":     {"I4", func(h *check.History) { h.Ledger[0].Destination = "12025550199" }},
	"sent again after unknown":          {"I5", func(h *check.History) { h.Messages[0].Attempts[0].Outcome = message.OutcomeUnknown }},
	"sent again after accepted":         {"I5", func(h *check.History) { h.Messages[0].Attempts[0].Outcome = message.OutcomeAccepted }},
	"sent again before the answer":      {"I5", func(h *check.History) { h.Messages[0].Attempts[0].AnsweredAt += second }},
	"a message is pending":              {"I6", func(h *check.History) { h.Messages[1].State = message.Pending }},
	"an attempt is open":                {"I6", func(h *check.History) { h.Messages[2].Attempts[0].Outcome = message.OutcomeOpen }},
	"a rejected message was accepted":   {"I7", func(h *check.History) { h.Ledger[2].Outcome = simulator.Accepted }},
	"a delivered one was not":           {"I7", func(h *check.History) { h.Ledger[1].Outcome = simulator.Ignored }},
	"an unknown without a fault":        {"I7", func(h *check.History) { h.Messages[2].Destination = "+12025550100" }},
	"an event is missing":               {"I8", func(h *check.History) { h.Messages[0].Events = h.Messages[0].Events[1:] }},
	"a step is not in the table":        {"I8", func(h *check.History) { h.Messages[1].Events[1].From = message.Accepted }},
	"a forbidden step": {"I8", func(h *check.History) {
		step(h, h.Messages[1], evidence.EventOutcome, message.Rejected, message.Pending)
	}},
	"the state is not the events'":       {"I8", func(h *check.History) { h.Messages[1].State = message.Unknown }},
	"the state is not the attempts'":     {"I8", func(h *check.History) { h.Messages[1].Attempts[0].Outcome = message.OutcomeUnknown }},
	"an attempt was accepted twice":      {"I9", again},
	"an outcome is not the ledger's":     {"I9", func(h *check.History) { h.Messages[1].Attempts[0].Outcome = message.OutcomeThrottled }},
	"what was not sent is in the ledger": {"I9", func(h *check.History) { h.Messages[0].Attempts[0].Outcome = message.OutcomeNotSent }},
	"a decision without its message":     {"I11", func(h *check.History) { h.Messages = h.Messages[:2] }},
	"a message without its decision":     {"I11", func(h *check.History) { h.Decisions[1].Action = intent.Suppress }},
	"a message without a first event":    {"I11", func(h *check.History) { h.Messages[0].Events = nil }},
	"an event that the feed lacks":       {"I11", func(h *check.History) { delete(h.Feed, check.FeedEvent{Message: h.Messages[0].ID, N: 1}) }},
	"an event twice in the feed":         {"I11", func(h *check.History) { h.Feed[check.FeedEvent{Message: h.Messages[0].ID, N: 1}]++ }},
	"a refused request has a message":    {"I11", func(h *check.History) { h.Refused = []string{"E-1"} }},
	"a receipt is lost":                  {"I13", func(h *check.History) { h.Receipts = nil }},
	"a receipt had no effect":            {"I13", func(h *check.History) { h.Messages[0].Attempts[1].Delivery = message.DeliveryNone }},
	"a receipt was applied twice": {"I13", func(h *check.History) {
		h.Messages[0].Events = append(h.Messages[0].Events, h.Messages[0].Events[3])
	}},
	"two receipts were applied": {"I13", func(h *check.History) {
		h.Messages[0].Events = append(h.Messages[0].Events, evidence.Event{N: 5, Kind: evidence.EventReceipt, Part: 1, Receipt: ident.NewReceipt(tenant)})
	}},
	"a receipt touched another message": {"I13", func(h *check.History) { h.Messages[1].Events[1].Receipt = h.Receipts[0].ID }},
	"a receipt is about nothing":        {"I13", func(h *check.History) { h.Receipts[0].ExternalID = []byte("other") }},
	"a person has to look": {"I13", func(h *check.History) {
		h.Exceptions = []*store.ExceptionView{{Exception: exception.Exception{Kind: exception.Unmatched}}}
	}},
}

// A check that cannot fail is no check: each thing that is wrong is found, under its invariant.
//
// covers: I1, I2, I3, I4, I5, I6, I7, I8, I9, I11, I13
func TestBrokenHistories(t *testing.T) {
	seen := map[string]bool{}
	for name, c := range broken {
		h := sound()
		c.spoil(h)
		seen[c.invariant] = true
		all := strings.Join(check.All(h), "\n")
		if !strings.Contains("\n"+all, "\n"+c.invariant+": ") {
			t.Errorf("%s: %s does not see it; found:\n%s", name, c.invariant, all)
		}
	}
	for _, i := range check.Invariants() {
		if !seen[i.ID] {
			t.Errorf("%s was never seen to fail", i.ID)
		}
	}
}
