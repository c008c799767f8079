package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// about is news about a message that concerns no attempt.
func about(m ident.Message, e evidence.Evidence) store.News {
	e.Message = m
	return store.News{Evidence: e, Reference: -1}
}

func restored(m ident.Message) store.News {
	return about(m, evidence.Evidence{Kind: evidence.Restored})
}

// What a restore leaves in doubt is unknown, with an attempt of which nothing is known; nobody claims it. A receipt
// without a match is paired with it, evidence settles it, and a person's word makes it wait again.
//
// covers: D20, I19
func testRestoredInDoubt(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	open := w.attempt(ask{event: "open"})
	waits, other := w.taken(ask{event: "waits", to: 7}), w.taken(ask{event: "other"})
	for _, s := range w.settle(restored(waits), restored(open.Message), restored(other)) {
		must(t, s.Err)
	}
	for _, m := range []ident.Message{waits, open.Message, other} {
		if s := w.state(m, message.Unknown); len(s.Attempts) != 1 || s.Attempts[0].Outcome != message.OutcomeUnknown {
			t.Errorf("its attempts are %+v", s.Attempts)
		}
	}
	lost := w.state(waits, message.Unknown).Attempts[0]
	if lost.Code != evidence.CodeRestored || lost.Reference != -1 || !lost.Node.IsZero() || lost.Connection != w.conn {
		t.Errorf("the attempt that nobody remembers is %+v", lost)
	}
	if again := w.settle(restored(waits))[0]; fault.CodeOf(again.Err) != fault.State {
		t.Errorf("a second time: %v", again.Err)
	}
	if claims := w.claim(10); len(claims) != 0 {
		t.Fatalf("%d messages in doubt were claimed", len(claims))
	}

	n := w.receipt("id-of-the-gap", -1, "delivered", 7)
	n.GraceOver = true
	w.settle(n)
	if x := w.exceptions("lost_answer")[0]; x.Message != waits || x.Attempt != 1 {
		t.Errorf("the receipt was paired with %s, attempt %d", x.Message, x.Attempt)
	}

	w.settle(w.outcome(open, message.OutcomeAccepted, "late"))
	w.state(open.Message, message.Accepted)
	must(t, w.settle(about(other, evidence.Evidence{Kind: evidence.Requeued, Person: "ann", Reason: "not in their list"}))[0].Err)
	w.state(other, message.Pending)
	w.advance(300 * time.Millisecond) // the pause after an attempt that was not sent
	opened := w.open(w.claim(10))
	if len(opened) != 1 || opened[0].Message != other || opened[0].Attempt != 2 {
		t.Errorf("after a person's word these are sent: %+v", opened)
	}
	events, err := w.Events(ctx, w.tenant, other, 1, 10)
	must(t, err)
	if len(events) != 2 || events[0].Kind != evidence.EventRestored || events[1].Kind != evidence.EventRequeued {
		t.Errorf("the history says %+v", events)
	}
}
