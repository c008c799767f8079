package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testParts are the tests of long messages.
func testParts(t *testing.T, h Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"InOrder": testPartsInOrder, "AfterACrash": testPartsAfterACrash, "FenceAndLease": testPartsFenceAndLease,
		"OneFence": testPartsAtOneFence, "Again": testPartAgain, "Gate": testPartsGate, "Together": testPartsTogether,
		"Failed": testPartsFailed, "LostCommit": testPartsLostCommit, "Rates": testPartsKeepRates, "Receipts": testPartsReceipts,
		"Stopped": testPartsStopped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}

// hold is how long a worker of these tests keeps a message to go on with its rest.
const hold = 2 * time.Second

// heldOutcome is the news of an answer whose worker goes on.
func (w *world) heldOutcome(o store.Opened, kind message.Outcome, externalID string) store.News {
	n := w.outcome(o, kind, externalID)
	n.Hold = hold
	return n
}

// rest is the claim under which the parts that are left are opened.
func rest(o store.Opened, most int) []store.Claimed {
	c := o.Claimed
	c.Most = most
	return []store.Claimed{c}
}

// numbers are the parts that were opened, as "part.attempt".
func numbers(opened []store.Opened) string {
	var all []string
	for _, o := range opened {
		all = append(all, fmt.Sprintf("%d.%d", o.Part, o.Attempt))
	}
	return fmt.Sprint(all)
}

func (w *world) wantOpened(opened []store.Opened, want string) []store.Opened {
	w.t.Helper()
	if got := numbers(opened); got != want {
		w.t.Fatalf("opened %s, want %s", got, want)
	}
	return opened
}

// firstOf takes a message of three parts to its first part's attempt.
func (w *world) firstOf(event string, to int) store.Opened {
	w.t.Helper()
	w.taken(ask{event: event, version: "1", to: to, parts: 3})
	return w.wantOpened(w.open(w.claim(1)), "[1.1]")[0]
}

// C26, run A: the first part gates the rest; each has a row, a reference, an id and a receipt of its own; the message
// is delivered with the last receipt, whichever that is.
//
// covers: D5, R4, R15, I9, C26
func testPartsInOrder(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("PO", 60)
	w.wantOpened(w.open(rest(one, 9)), "[]") // the first part gates the others
	if one.Text != layout(3) {
		t.Errorf("the text is cut as %+v", one.Text)
	}
	out := w.settle(w.heldOutcome(one, message.OutcomeAccepted, "111"))
	if c := out[0].Case; c.State != message.Sending || !c.Leased || len(c.Owed(c.Since, false)) != 2 {
		t.Fatalf("after the first part it is %s, leased %v", c.State, c.Leased)
	}
	more := w.wantOpened(w.open(rest(one, 9)), "[2.1 3.1]")
	if a, b := more[0], more[1]; a.Reference < 0 || a.Reference == b.Reference || a.Fence != one.Fence || string(a.Content) != "sealed" {
		t.Errorf("the other parts are %+v", more)
	}
	w.settle(w.outcome(more[0], message.OutcomeAccepted, "112"), w.outcome(more[1], message.OutcomeAccepted, "113"))
	m := w.state(one.Message, message.Accepted)
	for i, a := range m.Attempts {
		if int(a.Part) != i+1 || string(a.ExternalID) != fmt.Sprint(111+i) || !a.Receipt || a.Fence != one.Fence {
			t.Errorf("part %d is kept as %+v", i+1, a)
		}
	}
	for i, r := range []struct {
		id    string
		state message.State
		shown string
	}{{"112", message.Accepted, "en_route"}, {"111", message.Accepted, "en_route"}, {"113", message.Delivered, "delivered"}} {
		w.settle(w.receipt(r.id, -1, "delivered", 60))
		m = w.state(one.Message, r.state)
		if p := m.Progress(); p.Delivered != i+1 || p.Partial() != (i < 2) || m.Delivery() != r.shown {
			t.Errorf("after receipt %d: %+v, reported %q", i+1, p, m.Delivery())
		}
	}
	if m.Text != layout(3) || m.LastAttempt() != 1 || !m.Final {
		t.Errorf("%+v, %d attempts, final %v", m.Text, m.LastAttempt(), m.Final)
	}
	w.exceptions()
}

// A worker dies between the parts: what it had opened is unknown, the rest is sent by another one before whatever
// waits behind it, and nothing is sent again.
//
// covers: D9, O6, I3, I5, I9
func testPartsAfterACrash(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("PC", 61)
	other := w.taken(ask{event: "PC", version: "2", to: 61})
	w.settle(w.heldOutcome(one, message.OutcomeAccepted, "pc-1"))
	w.advance(hold + time.Second)
	ended := store.News{Evidence: evidence.Evidence{Kind: evidence.LeaseEnded, Message: one.Message}, Reference: -1}
	due, err := w.Due(context.Background(), evidence.QueueLease, 10)
	must(t, err)
	if len(due) != 1 || due[0] != one.Message {
		t.Fatalf("due are %v", due)
	}
	must(t, w.settle(ended)[0].Err)
	w.state(one.Message, message.Pending)
	if out := w.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.Cancel, Message: one.Message}, Reference: -1}); fault.CodeOf(out[0].Err) != fault.State {
		t.Errorf("it was cancelled although a part has left: %v", out[0].Err)
	}
	again := w.claim(1)
	if again[0].Message != one.Message {
		t.Fatalf("%s was claimed before the rest of a message that has left in part", other)
	}
	two := w.wantOpened(w.open(again), "[2.1]")[0]
	w.wantOpened(w.open(rest(one, 9)), "[]") // the dead worker's claim
	w.advance(11 * time.Second)
	must(t, w.settle(ended)[0].Err)
	m := w.state(one.Message, message.Pending)
	if m.Attempts[1].Outcome != message.OutcomeUnknown {
		t.Errorf("part 2 is %s", m.Attempts[1].Outcome)
	}
	three := w.wantOpened(w.open(w.claim(1)), "[3.1]")[0]
	w.settle(w.outcome(three, message.OutcomeAccepted, "pc-3"))
	w.state(one.Message, message.Unknown)
	late := w.outcome(two, message.OutcomeAccepted, "pc-2")
	late.Late = true
	w.settle(late)
	w.state(one.Message, message.Accepted)
}

// covers: I9
func testPartsFenceAndLease(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("PF", 62)
	w.settle(w.heldOutcome(one, message.OutcomeAccepted, "pf-1"))
	foreign := w.openSpec()
	foreign.Node = ident.NewNode()
	if opened, _ := w.OpenAttempts(context.Background(), foreign, rest(one, 9)); len(opened) != 0 {
		t.Error("another node opened parts")
	}
	stale := rest(one, 9)
	stale[0].Fence--
	w.wantOpened(w.open(stale), "[]")
	w.wantOpened(w.open(rest(one, 1)), "[2.1]")
	w.wantOpened(w.open(append(rest(one, 9), rest(one, 9)...)), "[3.1]")
	w.advance(11 * time.Second)
	w.wantOpened(w.open(rest(one, 9)), "[]")
}

// A fence opens each part once: one that was throttled waits for another claim, and for its pause.
//
// covers: I3, I9
func testPartsAtOneFence(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("PG", 63)
	w.settle(w.heldOutcome(one, message.OutcomeAccepted, "pg-1"))
	more := w.wantOpened(w.open(rest(one, 9)), "[2.1 3.1]")
	w.settle(w.heldOutcome(more[0], message.OutcomeThrottled, ""))
	w.state(one.Message, message.Sending)
	w.wantOpened(w.open(rest(one, 9)), "[]")
	w.settle(w.heldOutcome(more[1], message.OutcomeAccepted, "pg-3"))
	w.state(one.Message, message.Pending)
	w.wantOpened(w.open(rest(one, 9)), "[]")
	if claims := w.claim(1); len(claims) != 0 {
		t.Error("it was claimed during its pause")
	}
}

// covers: D5, I3
func testPartAgain(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("PA", 64)
	w.settle(w.heldOutcome(one, message.OutcomeAccepted, "pa-1"))
	more := w.open(rest(one, 9))
	w.settle(w.outcome(more[0], message.OutcomeThrottled, ""), w.outcome(more[1], message.OutcomeAccepted, "pa-3"))
	w.advance(1100 * time.Millisecond)
	two := w.wantOpened(w.open(w.claim(1)), "[2.2]")[0]
	w.settle(w.outcome(two, message.OutcomeAccepted, "pa-2"))
	m := w.state(one.Message, message.Accepted)
	if len(m.Attempts) != 4 || m.LastAttempt() != 2 {
		t.Errorf("%d rows, %d attempts", len(m.Attempts), m.LastAttempt())
	}
	w.settle(w.receipt("pa-1", -1, "delivered", 64), w.receipt("pa-2", -1, "delivered", 64), w.receipt("pa-3", -1, "delivered", 64))
	w.state(one.Message, message.Delivered)
}

// An unknown first part keeps the rest back, until a receipt says that it was taken; a refused one for good.
//
// covers: D9, I5, I7
func testPartsGate(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("PU", 65)
	w.settle(w.heldOutcome(one, message.OutcomeUnknown, ""))
	w.state(one.Message, message.Unknown)
	if claims := w.claim(9); len(claims) != 0 {
		t.Fatal("the rest of a message was claimed whose first part is unknown")
	}
	w.settle(w.receipt("pu-1", one.Reference, "delivered", 65))
	w.state(one.Message, message.Pending)
	w.wantOpened(w.open(w.claim(1)), "[2.1]")

	refused := w.firstOf("PR", 66)
	w.settle(w.heldOutcome(refused, message.OutcomeRejected, ""))
	if m := w.state(refused.Message, message.Rejected); !m.Final || m.Progress().Partial() {
		t.Errorf("final %v, %+v", m.Final, m.Progress())
	}

	lost := w.firstOf("PD", 73) // C26, run D
	w.settle(w.heldOutcome(lost, message.OutcomeAccepted, "pd-1"), w.receipt("pd-1", -1, "undelivered", 73))
	w.state(lost.Message, message.Undelivered)
	w.wantOpened(w.open(rest(lost, 9)), "[]")
}

// C26, run C: all parts leave at once where that is wanted, and one receipt is asked for where the connection sends no more.
//
// covers: R14, R15, C26
func testPartsTogether(t *testing.T, h Harness) {
	w := newWorld(t, h)
	id := w.taken(ask{event: "PT", version: "1", to: 67, parts: 3})
	spec := w.openSpec()
	spec.Together, spec.OneReceipt = true, true
	claims := w.claim(1)
	claims[0].Most = 9
	opened, err := w.OpenAttempts(context.Background(), spec, claims)
	must(t, err)
	w.wantOpened(opened, "[1.1 2.1 3.1]")
	for i, o := range opened {
		if o.NoReceipt != (i > 0) || o.Text.DataCoding != gsm.CodingUCS2 {
			t.Errorf("part %d is opened as %+v", i+1, o)
		}
		w.settle(w.outcome(o, message.OutcomeAccepted, fmt.Sprintf("pt-%d", i+1)))
	}
	w.state(id, message.Accepted)
	w.settle(w.receipt("pt-1", -1, "delivered", 67))
	m := w.state(id, message.Delivered)
	if !m.Final || m.Delivery() != "delivered" || m.Attempts[1].Receipt || !m.Attempts[0].Receipt {
		t.Errorf("final %v, reported %q, %+v", m.Final, m.Delivery(), m.Attempts)
	}
}

// C26, run B, and what is refused or over after a part has left.
//
// covers: D5, D16, I7, C26
func testPartsFailed(t *testing.T, h Harness) {
	w := newWorld(t, h)
	sent := func(event string, to int, second message.Outcome) store.Opened {
		one := w.firstOf(event, to)
		w.settle(w.heldOutcome(one, message.OutcomeAccepted, event+"-1"))
		more := w.open(rest(one, 9))
		w.settle(w.outcome(more[0], second, event+"-2"), w.outcome(more[1], message.OutcomeAccepted, event+"-3"))
		return one
	}
	lost := sent("PL", 68, message.OutcomeAccepted)
	w.settle(w.receipt("PL-1", -1, "delivered", 68), w.receipt("PL-2", -1, "undelivered", 68), w.receipt("PL-3", -1, "delivered", 68))
	if m := w.state(lost.Message, message.Undelivered); !m.Final || m.Delivery() != "undelivered" || m.Progress().Delivered != 2 {
		t.Errorf("final %v, reported %q, %+v", m.Final, m.Delivery(), m.Progress())
	}
	refused := sent("PX", 69, message.OutcomeRejected)
	if m := w.state(refused.Message, message.Failed); m.Final || !m.Progress().Partial() {
		t.Errorf("final %v, %+v", m.Final, m.Progress())
	}
	w.settle(w.receipt("PX-1", -1, "delivered", 69), w.receipt("PX-3", -1, "delivered", 69))
	if m := w.state(refused.Message, message.Failed); !m.Final || m.Delivery() != "" {
		t.Errorf("final %v, reported %q", m.Final, m.Delivery())
	}
	w.exceptions()
}
