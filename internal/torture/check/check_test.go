package check_test

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/torture/check"
)

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
	"a part's receipt is lost":                {"I13", func(h *check.History) { h.Receipts = append(h.Receipts[:2:2], h.Receipts[3:]...) }},
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
	"a wallet is not its transfers":     {"I10", func(h *check.History) { h.Money = []store.WalletDifference{{Detail: "the wallet's held is off"}} }},
	"paid for and never taken":          {"I10", func(h *check.History) { h.PaidLedger = nil }},
	"taken and given back":              {"I10", func(h *check.History) { h.Paid[0].Charges[1].State = wallet.Released }},
	"paid for twice":                    {"I10", func(h *check.History) { h.Paid[0].Charges[0].State = wallet.Held }},
	"taken and charged to nobody":       {"I10", func(h *check.History) { h.Paid = nil }},
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
	"an unknown before the fault": {"I7", func(h *check.History) {
		h.Messages[2].Destination, h.Faults = "+12025550100", []check.Fault{{From: start + minute, To: start + minute}}
	}},
	"an unknown after the fault": {"I7", func(h *check.History) {
		h.Messages[2].Destination, h.Faults = "+12025550100", []check.Fault{{From: start - minute, To: start - minute}}
	}},
	"an event is missing":        {"I8", func(h *check.History) { h.Messages[0].Events = h.Messages[0].Events[1:] }},
	"a step is not in the table": {"I8", func(h *check.History) { h.Messages[1].Events[1].From = message.Accepted }},
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
	"a refused request has a decision":   {"I11", func(h *check.History) { h.Refused = h.Asks[:1] }},
	"a receipt is lost":                  {"I13", func(h *check.History) { h.Receipts = nil }},
	"a receipt had no effect":            {"I13", func(h *check.History) { h.Messages[0].Attempts[1].Delivery = message.DeliveryNone }},
	"a receipt was applied twice": {"I13", func(h *check.History) {
		h.Messages[0].Events = append(h.Messages[0].Events, h.Messages[0].Events[3])
	}},
	"two receipts were applied": {"I13", func(h *check.History) {
		h.Messages[0].Events = append(h.Messages[0].Events, evidence.Event{
			N: 5, Kind: evidence.EventReceipt, Attempt: 2, Part: 1, Receipt: ident.NewReceipt(tenant), Detail: map[string]string{"state": "delivered"},
		})
	}},
	"a receipt touched another message": {"I13", func(h *check.History) { h.Messages[1].Events[1].Receipt = h.Receipts[0].ID }},
	"a receipt is about nothing":        {"I13", func(h *check.History) { h.Receipts[0].ExternalID = []byte("other") }},
	"a person has to look": {"I13", func(h *check.History) {
		h.Exceptions = []*store.ExceptionView{{Exception: exception.Exception{Kind: exception.Unmatched}}}
	}},
	// What operators do.
	"a policy that was acked is not there":   {"I1", func(h *check.History) { h.Acts.Policies = []string{"p@3"} }},
	"a stop that was acked is not there":     {"I1", func(h *check.History) { h.Stops = nil }},
	"a stop is in force after its end":       {"I1", func(h *check.History) { h.Stops[0].LiftedAt = 0 }},
	"a resolution is lost":                   {"I1", func(h *check.History) { h.Exceptions[0].State = exception.Open }},
	"decided under a version before its day": {"D6", func(h *check.History) { h.Decisions[0].PolicyID = "p@2" }},
	"decided under a version after its end":  {"D6", func(h *check.History) { h.Decisions[0].At = start + 2*minute }},
	"decided under no version":               {"D6", func(h *check.History) { h.Decisions[0].PolicyID = "q@1" }},
	"sent under a stop":                      {"D19", func(h *check.History) { h.Stops[0].LiftedAt += minute }},
	"a later part was sent under a stop": {"D19", func(h *check.History) {
		m := h.Messages[3]
		between := m.Attempts[1].OpenedAt - 5*second
		h.Stops = append(h.Stops, store.Stop{ID: ident.NewStop(tenant), Scope: flow.Scope{Purpose: m.Purpose}, At: between, LiftedAt: start + minute})
	}},
	"sent under a stop of everything": {"D19", func(h *check.History) {
		h.Stops[0].LiftedAt += minute
		h.Stops[0].Scope.Purpose = ""
	}},

	// Requests that name nothing, and modes.
	"a lost answer made a second message":        {"I2", func(h *check.History) { h.Asks[6].Meant = 0 }},
	"let through without a record":               {"I2", func(h *check.History) { h.Decisions[7].Would = 0 }},
	"an unnamed message is about something else": {"I1", func(h *check.History) { h.Messages[6].Purpose = "alert" }},
	"an unnamed message has an event":            {"I1", func(h *check.History) { h.Messages[6].Event.ID = "E-8" }},
	"one decision, two answers":                  {"I11", func(h *check.History) { h.Acks = append(h.Acks, h.Acks[1]) }},
	"a run that counts too few": {"I11", func(h *check.History) {
		h.Decisions[1].Run = &store.Run{Count: 2}
		h.Acks = append(h.Acks, h.Acks[1], h.Acks[1])
	}},

	// Parts.
	"parts do not make the text":     {"I7", func(h *check.History) { h.Ledger[5].ShortMessage[20]++ }},
	"a fence opened a part twice":    {"I9", func(h *check.History) { h.Messages[0].Attempts[1].Fence = 1 }},
	"an attempt of a part is open":   {"I6", func(h *check.History) { h.Messages[3].Attempts[1].Outcome = message.OutcomeOpen }},
	"a receipt waits for its effect": {"I6", func(h *check.History) { h.Work = []store.DueReceipt{{LoggedReceipt: *h.Receipts[0]}} }},
	"two final receipts moved a part": {"I8", func(h *check.History) {
		step(h, h.Messages[3], evidence.EventReceipt, message.Delivered, message.Delivered)
		e := h.Messages[3].Events
		e[len(e)-1].Attempt, e[len(e)-1].Part, e[len(e)-1].Detail = 1, 2, map[string]string{"state": "undelivered"}
	}},

	// Receipts.
	"the second report is not stored":           {"I13", func(h *check.History) { h.Receipts[4].State = "delivered" }},
	"an unreadable receipt is lost":             {"I13", func(h *check.History) { h.Receipts = h.Receipts[:5] }},
	"an unreadable receipt was told of twice":   {"I13", func(h *check.History) { h.Exceptions = append(h.Exceptions, h.Exceptions[1]) }},
	"nobody was told of a contradiction":        {"I13", func(h *check.History) { h.Exceptions = h.Exceptions[1:] }},
	"told twice of a contradiction":             {"I13", func(h *check.History) { h.Exceptions = append(h.Exceptions, h.Exceptions[0]) }},
	"told of a contradiction that there is not": {"I13", func(h *check.History) { h.Exceptions[0].Receipt = h.Receipts[0].ID }},
	"a lost answer where references are echoed": {"I13", func(h *check.History) { h.Exceptions[0].Kind = exception.LostAnswer }},
	"a contradicting answer":                    {"I13", func(h *check.History) { h.Exceptions[0].Receipt = ident.Receipt{} }},

	// Time, and jumps in it.
	"orphaned after two minutes":  {"I16", func(h *check.History) { h.Messages[2].Events[1].At += 2 * minute }},
	"unreported for two minutes":  {"I16", func(h *check.History) { h.Messages[0].Events[3].At += 2 * minute }},
	"a kill looks like a restore": {"I19", func(h *check.History) { h.Incarnation.N = 2 }},
	"a restore looks like a kill": {"I19", func(h *check.History) { h.Restores = []check.Restore{{Copied: start - minute, Back: start - second}} }},
	"traffic waits":               {"I19", func(h *check.History) { h.Incarnation.HeldAt = start }},
	"sent again after a restore": {"I3", func(h *check.History) {
		h.Restores = []check.Restore{{Copied: start + minute, Back: start + 2*minute}}
		again(h)
	}},
}

// What only a restore explains is no contradiction where there was one.
//
// covers: I19
func TestForgottenHistory(t *testing.T) {
	h := sound()
	h.Restores, h.Incarnation.N = []check.Restore{{Copied: start, Back: start + minute}}, 2
	h.Messages, h.Decisions = h.Messages[1:], h.Decisions[1:] // taken, sent and delivered after the copy
	h.Receipts = h.Receipts[1:]
	for _, v := range check.All(h) {
		if !strings.HasPrefix(v, "I13") { // its receipts are for a person, and the store forgot them too
			t.Error(v)
		}
	}
}

// A person's word lets a message be sent again after a restore, once.
//
// covers: I3, I19
func TestRequeuedHistory(t *testing.T) {
	h := sound()
	h.Restores, h.Incarnation.N = []check.Restore{{Copied: start - minute, Back: start - second}}, 2
	step(h, h.Messages[0], evidence.EventRequeued, message.Delivered, message.Delivered)
	again(h)
	for _, v := range check.I3OneAccept(h) {
		t.Error(v)
	}
	h = sound()
	step(h, h.Messages[0], evidence.EventRequeued, message.Delivered, message.Delivered)
	again(h)
	again(h)
	if len(check.I3OneAccept(h)) == 0 {
		t.Error("two resends are not seen where one was authorised")
	}
}

// What mode monitor lets through has a record, and only that makes a second message of an intent (X3).
//
// covers: X3, I2
func TestLetThrough(t *testing.T) {
	for would, want := range map[intent.Action]int{intent.Suppress: 0, 0: 3} { // the messages, their key, and the answers
		h := sound()
		taken(h, "E-1", "+12025550103", "")
		h.Asks = h.Asks[:len(h.Asks)-1]
		h.Acks[len(h.Acks)-1].Ask = h.Asks[0]
		h.Decisions[len(h.Decisions)-1].Would = would
		if found := check.I2OneMessage(h); len(found) != want {
			t.Errorf("with the record %q: %q, want %d", would, found, want)
		}
	}
}

// Two requests that name nothing and are far apart are no repeat (D18).
//
// covers: D18, I2
func TestUnnamedFarApart(t *testing.T) {
	h := sound()
	h.Asks[6].Meant, h.Decisions[7].Would = 0, 0
	h.Messages[7].CreatedAt = h.Messages[6].CreatedAt + 2*minute
	for _, v := range check.I2OneMessage(h) {
		t.Error(v)
	}
}

// A check that cannot fail is no check: each thing that is wrong is found, under its invariant.
//
// covers: I1, I2, I3, I4, I5, I6, I7, I8, I9, I11, I13, I16, I19
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

// What was under way at a kill, in a pause or at a cut may be unknown for good.
//
// covers: I7
func TestUnknownByAFault(t *testing.T) {
	for name, fault := range map[string]func(h *check.History, m *check.Message){
		"a kill": func(h *check.History, m *check.Message) {
			h.Faults = []check.Fault{{From: m.Events[1].At, To: m.Events[1].At}}
		},
		"a pause": func(h *check.History, _ *check.Message) { h.Faults = []check.Fault{{From: start, To: start + minute}} },
		"a cut": func(h *check.History, m *check.Message) {
			h.Ledger = append(h.Ledger, simulator.Entry{At: m.Attempts[0].OpenedAt.Time(), Destination: "12025550112"})
		},
	} {
		h := sound()
		m := h.Messages[2]
		m.Destination = "+12025550100"
		m.Events[1].Attempt, m.Events[1].Part = 1, 1
		if found := check.I7UnknownHasAReason(h); len(found) != 1 {
			t.Errorf("%s: without it, found %q", name, found)
		}
		fault(h, m)
		if found := check.I7UnknownHasAReason(h); len(found) > 0 {
			t.Errorf("%s: %q", name, found)
		}
	}
}
