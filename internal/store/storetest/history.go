package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// historyTests are those of what is forgotten.
var historyTests = map[string]func(*testing.T, Harness){
	"ForgetMessages":     testForgetMessages,
	"ForgetKeys":         testForgetKeys,
	"ForgetRecords":      testForgetRecords,
	"ForgetPartitions":   testForgetPartitions,
	"ForgetUnderLoad":    testForgetUnderLoad,
	"ForgetNothingHeld":  testForgetNothingWhileHeld,
	"ForgetSharedRecord": testForgetSharedRecord,
	"ForgetNeeded":       testForgetNeeded,
	"ForgetHeldBack":     testForgetHeldBack,
}

// forget gives events their places and forgets messages made before, and returns how many went.
func (w *world) forget(before clock.Micros) (gone int) {
	w.t.Helper()
	w.placed()
	return w.forgetNow(before)
}

// forgetNow does so two at a time, wherever their events are.
func (w *world) forgetNow(before clock.Micros) (gone int) {
	w.t.Helper()
	var from ident.Message
	for {
		n, next, err := w.ForgetMessages(context.Background(), before, from, 2, w.rules)
		must(w.t, err)
		gone += n
		if from = next; from.IsZero() {
			return gone
		}
	}
}

// forgetKeys forgets keys two at a time.
func (w *world) forgetKeys(before clock.Micros) (gone int) {
	w.t.Helper()
	var from store.KeyCursor
	for {
		n, next, err := w.ForgetKeys(context.Background(), before, from, 2)
		must(w.t, err)
		gone += n
		if from = next; from == (store.KeyCursor{}) {
			return gone
		}
	}
}

// in is the store's time, moved.
func (w *world) in(d time.Duration) clock.Micros {
	w.t.Helper()
	now, err := w.Now(context.Background())
	must(w.t, err)
	return now.Add(d)
}

// done takes a message to its end.
func (w *world) done(a ask, externalID string) ident.Message {
	w.t.Helper()
	o := w.attempt(a)
	w.settle(w.outcome(o, message.OutcomeAccepted, externalID))
	w.settle(w.receipt(externalID, -1, "delivered", a.to))
	return o.Message
}

func (w *world) isThere(what string, err error, want bool) {
	w.t.Helper()
	if err != nil && fault.CodeOf(err) != fault.NotFound || (err == nil) != want {
		w.t.Errorf("%s: %v, want it there: %t", what, err, want)
	}
}

// A message goes when it is final, has been so for long enough, and holds no key whose window runs.
//
// covers: I17
func testForgetMessages(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	gone := w.done(ask{purpose: "bound", event: "F-1", to: 1}, "f1")
	running := w.done(ask{event: "F-2", version: "1", to: 1}, "f2") // 30 days
	waiting := w.taken(ask{purpose: "brief", event: "F-3", to: 1})
	w.claim(1)
	w.advance(4 * time.Second) // the windows of two seconds are over
	limit := w.in(0)
	lately := w.done(ask{purpose: "bound", event: "F-4", to: 1}, "f4") // made after the limit
	if n := w.forget(limit); n != 1 {
		t.Errorf("%d messages went, want 1", n)
	}
	for id, want := range map[ident.Message]bool{gone: false, running: true, waiting: true, lately: true} {
		_, err := w.Message(ctx, w.tenant, id)
		w.isThere(id.String(), err, want)
	}
	events, err := w.Events(ctx, w.tenant, running, 0, 10)
	must(t, err)
	if len(events) == 0 {
		t.Error("what stays has lost its events")
	}
	if d := w.decide(ask{event: "F-2", version: "1", to: 1})[0].Decision; d.Action != intent.Suppress || d.Message.ID != running {
		t.Errorf("the intent whose window runs was decided as %s", d.Action)
	}
	// What is gone is known to nobody: a receipt for it matches nothing.
	late := w.receipt("f1", -1, "undelivered", 1)
	late.GraceOver = true
	if out := w.settle(late); !out[0].Message.IsZero() {
		t.Errorf("a receipt found the message %s, which was forgotten", out[0].Message)
	}
}

// A final state that was reached after the limit keeps a message that was made before it.
//
// covers: I17
func testForgetSharedRecord(t *testing.T, h Harness) {
	w := newWorld(t, h)
	first := w.done(ask{purpose: "bound", event: "R-1", to: 2}, "same")
	second := w.attempt(ask{purpose: "bound", event: "R-2", to: 2})
	w.advance(3 * time.Second)
	limit := w.in(0)
	w.settle(w.outcome(second, message.OutcomeAccepted, "same")) // the provider gives an id again
	w.settle(w.receipt("same", -1, "undelivered", 2))
	if n := w.forget(limit); n != 1 {
		t.Errorf("%d messages went, want the first", n)
	}
	_, err := w.Message(context.Background(), w.tenant, first)
	w.isThere("the first", err, false)
	found, err := w.Messages(context.Background(), w.tenant, store.MessageFilter{ExternalID: "same"}, store.Page{Limit: 10})
	must(t, err)
	if len(found) != 1 || found[0].ID != second.Message {
		t.Errorf("by the id that two messages had, %d are found", len(found))
	}
}

// A key goes when its window is over and its message final or gone, and not before.
//
// covers: I17
func testForgetKeys(t *testing.T, h Harness) {
	w := newWorld(t, h)
	db := h.Database(t, w.Store)
	w.done(ask{purpose: "bound", event: "K-1", to: 3, idempotency: "k1"}, "k1")
	open := w.attempt(ask{purpose: "bound", event: "K-2", to: 3, idempotency: "k2"})
	w.done(ask{event: "K-3", version: "1", to: 3}, "k3")
	if n := w.forgetKeys(w.in(time.Hour)); n != 0 {
		t.Errorf("%d keys went while their windows ran", n)
	}
	// Days pass for the two of "bound" and for both idempotency keys.
	days := (50 * time.Hour).Microseconds()
	for _, space := range []intent.Space{intent.SpaceIdempotency, intent.SpaceIntent} {
		_, err := db.Exec(fmt.Sprintf("update register set ends = ends - %d where space = %d and key > '' and ends < %d", days, space, w.in(25*time.Hour)))
		must(t, err)
	}
	if n := w.forgetKeys(w.in(-time.Hour)); n != 2 {
		t.Errorf("%d keys went, want those of the message that is final", n)
	}
	d := w.decide(ask{purpose: "bound", event: "K-1", to: 3, idempotency: "k1", text: "Another."})[0]
	if d.Kind != intent.Decided || d.Decision.Action != intent.Allow || d.Decision.Reason != intent.ReasonNoEquivalent {
		t.Errorf("under keys that were forgotten: %+v", d.Result)
	}
	if d := w.decide(ask{purpose: "bound", event: "K-2", to: 3})[0].Decision; d.Action != intent.Suppress || d.Message.ID != open.Message {
		t.Errorf("the key of a message that is not final was decided as %s", d.Action)
	}
	if d := w.decide(ask{purpose: "bound", event: "K-2", to: 3, idempotency: "k2", text: "Another."})[0]; d.Kind != intent.Mismatched {
		t.Errorf("the idempotency key of a message that is not final: %+v", d.Result)
	}
	if d := w.decide(ask{event: "K-3", version: "1", to: 3})[0].Decision; d.Action != intent.Suppress {
		t.Errorf("the key whose window runs was decided as %s", d.Action)
	}
}

// forgetRecords goes on until nothing goes.
func (w *world) forgetRecords(before clock.Micros) (heldBack time.Duration) {
	w.t.Helper()
	for {
		f, err := w.ForgetRecords(context.Background(), before, 3)
		must(w.t, err)
		if f.Gone == 0 {
			return f.HeldBack
		}
	}
}

// While traffic waits for the release of a restored store, everything may still be needed.
//
// covers: D20
func testForgetNothingWhileHeld(t *testing.T, h Harness) {
	w, _ := watched(t, h, h.Open(t), &marks{})
	w.done(ask{purpose: "bound", event: "H-1", to: 6}, "h1")
	w.advance(3 * time.Second)
	must(t, w.HoldTraffic(context.Background(), "a test"))
	soon := w.in(time.Hour)
	if n := w.forget(soon) + w.forgetKeys(soon); n != 0 {
		t.Errorf("%d things went", n)
	}
	f, err := w.ForgetRecords(context.Background(), soon, 10)
	must(t, err)
	if f.Gone != 0 {
		t.Errorf("%d records went", f.Gone)
	}
}
