package check_test

import (
	"slices"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/torture/check"
)

// putBack is a history with a restore that is as it should be. What was over before the copy, and what began after
// the restore, is sound; of the copy one message waited, and left in the gap; of the gap one intent is forgotten, and
// was asked for again.
func putBack() *check.History {
	h := sound()
	h.Restores, h.Incarnation.N = []check.Restore{{Copied: start + 100*second, Back: start + 200*second}}, 2
	h.Policies = h.Policies[1:]
	for _, m := range h.Messages { // over before the copy
		m.Final = true
	}
	waited := taken(h, "E-10", "+12025550100", "")
	waited.CreatedAt = start + 50*second
	step(h, waited, evidence.EventRestored, message.Pending, message.Unknown)
	waited.Attempts = append(waited.Attempts, store.Attempt{
		Attempt: evidence.Attempt{Attempt: 1, Part: 1, Outcome: message.OutcomeUnknown, Reference: -1, Code: evidence.CodeRestored},
	})
	waited.Events[1].At = start + 210*second
	left(h, waited, 150)
	again := taken(h, "E-11", "+12025550100", "")
	again.CreatedAt = start + 220*second
	attempt(h, again, 221, message.OutcomeAccepted, simulator.Accepted)
	delivered(h, again)
	left(h, again, 150)
	first := h.Acks[len(h.Acks)-1]
	first.Message, first.Decision, first.At = ident.NewMessage(tenant), ident.NewDecision(tenant), (start + 160*second).Time()
	h.Acks = append(h.Acks, first) // acked in the gap, and nowhere
	return h
}

// left adds a line of the ledger about a message that nobody remembers.
func left(h *check.History, m *check.Message, seconds int) {
	ref := uint16(1000 + seconds)
	h.Ledger = append(h.Ledger, simulator.Entry{
		At: (start + clock.Micros(seconds)*second).Time(), Reference: &ref, Destination: m.Destination[1:], Outcome: simulator.Accepted,
		MessageID: "gone-" + m.Event.ID, ShortMessage: []byte("Hello " + check.Mark(m.Event.ID)),
	})
}

func violations(h *check.History) []string {
	return append(check.I19NothingAgain(h), check.All(h.Rest())...)
}

// covers: I19
func TestHistoryOfARestore(t *testing.T) {
	h := putBack()
	for _, v := range violations(h) {
		t.Error(v)
	}
	if all, sent := h.Doubted(); all != 1 || sent != 1 {
		t.Errorf("%d messages are in doubt, %d of them were sent", all, sent)
	}
}

// A message was over before the copy, and a second receipt about it, which contradicted the first, came in the gap: it
// is gone with the gap. One that had come long before the copy is not.
//
// covers: I13, I19
func TestReceiptOfTheGap(t *testing.T) {
	for copied, lost := range map[clock.Micros]bool{20: false, 100: true} {
		h := putBack()
		h.Restores[0].Copied = start + copied*second
		conflict := slices.IndexFunc(h.Exceptions, func(x *store.ExceptionView) bool { return x.Kind == exception.Conflicting })
		x := h.Exceptions[conflict]
		h.Exceptions = slices.Delete(h.Exceptions, conflict, conflict+1)
		delete(h.Acts.Resolved, x.ID)
		h.Receipts = slices.DeleteFunc(h.Receipts, func(r *store.LoggedReceipt) bool { return r.ID == x.Receipt })
		m := h.Messages[4]
		m.Events = m.Events[:len(m.Events)-1]
		if found := violations(h); (len(found) > 0) != lost {
			t.Errorf("copied after %d s: %q", copied, found)
		}
	}
}

// covers: I19
func TestWhatARestoreDoesNotExplain(t *testing.T) {
	acked := func(h *check.History, seconds int) {
		h.Acks[len(h.Acks)-1].At = (start + clock.Micros(seconds)*second).Time()
	}
	for name, spoil := range map[string]func(h *check.History, waited, again *check.Message){
		"sent in the gap and again":         func(h *check.History, waited, _ *check.Message) { left(h, waited, 170) },
		"sent after the restore":            func(h *check.History, waited, _ *check.Message) { left(h, waited, 230) },
		"sent, and called expired":          func(_ *check.History, waited, _ *check.Message) { waited.State = message.Expired },
		"it still waits":                    func(_ *check.History, waited, _ *check.Message) { waited.State, waited.Attempts = message.Pending, nil },
		"asked for again, and sent twice":   func(h *check.History, _, again *check.Message) { left(h, again, 230) },
		"over before, and sent again":       func(h *check.History, _, _ *check.Message) { left(h, h.Messages[0], 150) },
		"acked before the copy, and gone":   func(h *check.History, _, _ *check.Message) { acked(h, 90) },
		"acked after the restore, and gone": func(h *check.History, _, _ *check.Message) { acked(h, 230) },
		"of after the restore, and lost":    func(h *check.History, _, _ *check.Message) { h.Messages = h.Messages[:len(h.Messages)-1] },
	} {
		h := putBack()
		n := len(h.Messages)
		spoil(h, h.Messages[n-2], h.Messages[n-1])
		if len(violations(h)) == 0 {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// What was sent in the gap, and is nowhere in the store, is nobody's to pay; before and after it is. What the store remembers
// of the gap is held, and was sent no second time.
//
// covers: I10, I19
func TestMoneyOfARestore(t *testing.T) {
	line := func(event string, at clock.Micros) simulator.Entry {
		return simulator.Entry{At: (start + at*second).Time(), Outcome: simulator.Accepted, ShortMessage: []byte("Hello " + check.Mark(event))}
	}
	held := check.Paid{Event: "E-paid-20", ChargedMessage: store.ChargedMessage{Charges: []store.ChargeRow{{State: wallet.Held}}}}
	for name, c := range map[string]struct {
		lines []simulator.Entry
		want  int
	}{
		"in the gap":        {[]simulator.Entry{line("E-paid-21", 150)}, 0},
		"held":              {[]simulator.Entry{line("E-paid-20", 150)}, 0},
		"before the copy":   {[]simulator.Entry{line("E-paid-21", 99)}, 1},
		"after the release": {[]simulator.Entry{line("E-paid-21", 201)}, 1},
		"in it and after":   {[]simulator.Entry{line("E-paid-20", 150), line("E-paid-20", 250)}, 1},
	} {
		h := putBack()
		h.Paid, h.PaidLedger = []check.Paid{held}, c.lines
		if got := check.I10MoneyFits(h.Rest()); len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
