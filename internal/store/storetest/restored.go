package storetest

import (
	"context"
	"reflect"
	"strings"
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

func requeued(m ident.Message) store.News {
	return about(m, evidence.Evidence{Kind: evidence.Requeued, Person: "ann", Reason: "not in their list"})
}

// A long message whose first part was open in the copy leaves again by a person's word, all of it: the first part gates
// the rest as ever. An answer to an attempt of before is for a person then.
//
// covers: D20, I3, I5, I19
func testRequeuedParts(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("RQ", 8)
	must(t, w.settle(restored(one.Message))[0].Err)
	if m := w.state(one.Message, message.Unknown); len(m.Attempts) != 3 || m.Attempts[0].Code != evidence.CodeInCopy {
		t.Fatalf("its attempts are %+v", m.Attempts)
	}
	must(t, w.settle(requeued(one.Message))[0].Err)
	w.state(one.Message, message.Pending)
	if again := w.settle(requeued(one.Message))[0]; fault.CodeOf(again.Err) != fault.State || again.Err == nil {
		t.Errorf("a second time: %v", again.Err)
	}
	w.advance(300 * time.Millisecond) // the pause after an attempt that was not sent
	next := w.wantOpened(w.open(w.claim(1)), "[1.2]")[0]
	w.settle(w.heldOutcome(next, message.OutcomeAccepted, "rq-1"))
	more := w.wantOpened(w.open(rest(next, 9)), "[2.2 3.2]")
	w.settle(w.outcome(more[0], message.OutcomeAccepted, "rq-2"), w.outcome(more[1], message.OutcomeAccepted, "rq-3"))
	w.state(one.Message, message.Accepted)
	w.exceptions()
	w.settle(w.outcome(one, message.OutcomeAccepted, "of-the-gap"))
	w.exceptions("conflicting")
	w.state(one.Message, message.Accepted)
}

// Of a message whose first part had lost its answer before the copy was taken nothing would leave: a person is told so,
// and what to do. Once that part is settled, the word counts.
//
// covers: D20, I5, I19
func testRequeuedInVain(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	id := w.taken(ask{event: "RV", to: 9, parts: 3})
	spec, claims := w.openSpec(), w.claim(1)
	spec.Together, claims[0].Most = true, 2
	opened, err := w.OpenAttempts(ctx, spec, claims)
	must(t, err)
	w.wantOpened(opened, "[1.1 2.1]")
	w.settle(w.outcome(opened[0], message.OutcomeUnknown, ""))
	must(t, w.settle(restored(id))[0].Err)
	before := w.state(id, message.Unknown)
	vain := w.settle(requeued(id))[0]
	if fault.CodeOf(vain.Err) != fault.State || vain.Err == nil || !strings.Contains(vain.Err.Error(), "attach that part's receipt first") {
		t.Fatalf("a word that would change nothing: %v", vain.Err)
	}
	if m := w.state(id, message.Unknown); !reflect.DeepEqual(m, before) || w.kinds(id) != "taken outcome restored" {
		t.Errorf("and yet it is %+v, with the history %s", m, w.kinds(id))
	}
	w.settle(w.receipt("rv-1", opened[0].Reference, "delivered", 9))
	must(t, w.settle(requeued(id))[0].Err)
	w.advance(300 * time.Millisecond)
	w.wantOpened(w.open(w.claim(1)), "[2.2]")
}
