package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

// A person lets a receipt stand for a part for which none was asked for: it counts, in whatever is read and settled
// after it, and that none was asked for stays true.
//
// covers: R6, R14, I7
func testResolveSilentPart(t *testing.T, h Harness) {
	w := newWorld(t, h)
	id := w.taken(ask{event: "SP", to: 68, parts: 2})
	spec, claims := w.openSpec(), w.claim(1)
	spec.Together, spec.OneReceipt, claims[0].Most = true, true, 2
	opened, err := w.OpenAttempts(context.Background(), spec, claims)
	must(t, err)
	for i, o := range w.wantOpened(opened, "[1.1 2.1]") {
		w.settle(w.outcome(o, message.OutcomeAccepted, fmt.Sprint("sp-", i+1)))
	}
	w.settle(w.receipt("sp-2", -1, "undelivered", 68), w.receipt("sp-1", -1, "delivered", 68))
	w.state(id, message.Delivered) // of part 2 nobody has asked
	w.over("another-2", "undelivered", 68)
	to := exception.Part{Message: id, Attempt: 1, Part: 2}
	if out := w.resolve(w.exceptions("unmatched")[0], exception.Attach, to); out.Err != nil || out.Case.State != message.Undelivered {
		t.Fatalf("attaching gave %+v", out)
	}
	m := w.state(id, message.Undelivered)
	if a := m.Attempts[1]; a.NoReceipt || a.Receipt || a.Delivery != message.DeliveryUndelivered || m.Delivery() != "undelivered" || m.Progress().Delivered != 1 {
		t.Errorf("reported %q, %+v, the part is %+v", m.Delivery(), m.Progress(), a)
	}
	if again := w.decide(ask{event: "SP", to: 68, parts: 2})[0].Decision; again.Message.Delivery != "undelivered" {
		t.Errorf("who asks again is told %q", again.Message.Delivery)
	}
	w.settle(w.receipt("sp-1", 7, "delivered", 68)) // settled again, from what is stored
	w.state(id, message.Undelivered)
	w.over("third-2", "delivered", 68)
	if out := w.resolve(w.exceptions("unmatched", "unmatched")[0], exception.Attach, to); out.Err != nil {
		t.Fatal(out.Err)
	}
	w.state(id, message.Delivered)
}

// A receipt counts for an attempt that a restore left, of which nobody knows whether one was asked for.
//
// covers: D20, R6, I7
func testReceiptOfTheRestored(t *testing.T, h Harness) {
	w := newWorld(t, h)
	id := w.taken(ask{event: "RR", to: 69})
	must(t, w.settle(restored(id))[0].Err)
	late := w.outcome(store.Opened{Claimed: store.Claimed{Message: id}, Attempt: 1, Part: 1, Reference: -1}, message.OutcomeAccepted, "of-the-gap")
	w.settle(late)
	if m := w.state(id, message.Accepted); m.Final {
		t.Error("no receipt is awaited")
	}
	w.settle(w.receipt("of-the-gap", -1, "undelivered", 69))
	if m := w.state(id, message.Undelivered); !m.Final || m.Attempts[0].Receipt || m.Delivery() != "undelivered" {
		t.Errorf("final %v, reported %q, the attempt is %+v", m.Final, m.Delivery(), m.Attempts[0])
	}
}
