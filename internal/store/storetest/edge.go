package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

// testLostSlot loses the transaction that takes a slot, and lets another node take it meanwhile: one holds it.
func testLostSlot(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	f := h.Fragile(t)
	w := worldOn(t, h, f)
	ctx, other := context.Background(), ident.NewNode()
	f.Arm(false)
	release := f.Hold()
	mine := make(chan bool, 1)
	go func() {
		got, err := f.KeepSlots(ctx, w.wants(1, w.node))
		if err != nil {
			t.Error(err)
		}
		mine <- len(got.Held) == 1
	}()
	for f.Cut() == 0 { // the other node comes after our try was lost
		<-time.After(time.Millisecond)
	}
	got, err := f.Direct.KeepSlots(ctx, w.wants(1, other))
	must(t, err)
	release()
	if ours, theirs := <-mine, len(got.Held) == 1; ours == theirs {
		t.Errorf("we hold the slot: %v, the other node holds it: %v", ours, theirs)
	}
}

// testClockStepsBack takes a slot, and steps the clock back by an hour: no lease is that long.
func testClockStepsBack(t *testing.T, h Harness) {
	if h.Deadlocks != nil {
		return // a server's clock cannot be moved
	}
	w := newWorld(t, h)
	w.expectSlots("before", w.keep(1, w.node), 1, 1, 0)
	w.advance(-time.Hour)
	w.expectSlots("a lease from the future", w.keep(1, ident.NewNode()), 1, 1, 0)
}

// testOpenAfterValidity claims a message in time and comes to open it too late: an expired code is not sent.
func testOpenAfterValidity(t *testing.T, h Harness) {
	w := newWorld(t, h)
	id := w.taken(ask{event: "V", version: "1", to: 50, validFor: time.Second})
	claims := w.claim(1)
	if len(claims) != 1 {
		t.Fatalf("%d messages were claimed", len(claims))
	}
	w.advance(1200 * time.Millisecond)
	if opened := w.open(claims); len(opened) != 0 {
		t.Errorf("%s was opened after its validity", id)
	}
}

// testEarlyOnce brings two answers with the id of a receipt that waits, in one batch: it has its effect once.
//
// covers: R10, I13
func testEarlyOnce(t *testing.T, h Harness) {
	w := newWorld(t, h)
	a, b := w.attempt(ask{event: "EO", version: "1", to: 51}), w.attempt(ask{event: "EO", version: "2", to: 51})
	w.settle(w.receipt("eo", -1, "delivered", 51))
	w.settle(w.outcome(a, message.OutcomeAccepted, "eo"), w.outcome(b, message.OutcomeAccepted, "eo"))
	w.exceptions("ambiguous")
	same := w.attempt(ask{event: "EO", version: "3", to: 51})
	w.settle(w.receipt("once", -1, "delivered", 51))
	w.settle(w.outcome(same, message.OutcomeAccepted, "once"), w.outcome(same, message.OutcomeAccepted, "once"))
	events, err := w.Events(context.Background(), w.tenant, same.Message, 0, 10)
	must(t, err)
	if len(events) != 3 {
		t.Errorf("the history has %d lines, want 3: %+v", len(events), events)
	}
}

// testLongExternalID puts an id that an engine may not be able to index among others: they are not lost with it.
func testLongExternalID(t *testing.T, h Harness) {
	w := newWorld(t, h)
	long, other := w.attempt(ask{event: "LI", version: "1", to: 52}), w.attempt(ask{event: "LI", version: "2", to: 52})
	var id strings.Builder
	for i := range 400 {
		fmt.Fprintf(&id, "%08x", i*2654435761) // so that it cannot be compressed away
	}
	out := w.settle(w.outcome(long, message.OutcomeAccepted, id.String()), w.outcome(other, message.OutcomeAccepted, "short"))
	if out[1].Err != nil {
		t.Errorf("the neighbour of a long id got %v", out[1].Err)
	}
	w.state(other.Message, message.Accepted)
}
