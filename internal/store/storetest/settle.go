package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

// covers: R3, R4, R9
func testOutcomeThenReceipt(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "S", version: "1", to: 20})
	w.settle(w.outcome(o, message.OutcomeAccepted, "00B8"))
	w.state(o.Message, message.Accepted)
	wrong := w.settle(w.receipt("B8", -1, "delivered", 20), w.receipt("00b8", -1, "delivered", 20))
	if !wrong[0].Waiting || !wrong[1].Waiting {
		t.Error("an id that was not the same to the letter matched")
	}
	n := w.receipt("00B8", -1, "delivered", 20)
	out := w.settle(n, n) // by who was handed it, and by who found it on the list of work
	if out[0].Message != o.Message || out[0].Known || !out[1].Known {
		t.Fatalf("the receipt found %q, known %v, %v", out[0].Message, out[0].Known, out[1].Known)
	}
	m := w.state(o.Message, message.Delivered)
	if m.Delivery() != "delivered" || !m.Final || m.Attempts[0].StatusRaw != "delivered" {
		t.Errorf("the projection is %q, final %v", m.Delivery(), m.Final)
	}
	events, err := w.Events(context.Background(), w.tenant, o.Message, 0, 100)
	must(t, err)
	if len(events) != 3 || events[2].Receipt != n.Receipt.ID || events[2].Detail["match"] != string(evidence.ByExternalID) {
		t.Errorf("the events are %+v", events)
	}
	if again := w.settle(n); !again[0].Known {
		t.Error("a receipt was settled twice")
	}
}

// covers: R5
func testReceiptThenOutcome(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "S", version: "2", to: 21})
	if out := w.settle(w.receipt("early", -1, "delivered", 21)); !out[0].Waiting {
		t.Fatal("a receipt without a match does not wait")
	}
	w.settle(w.outcome(o, message.OutcomeAccepted, "early"))
	w.state(o.Message, message.Delivered)
	w.exceptions()
	// In one batch, too.
	o = w.attempt(ask{event: "S", version: "3", to: 21})
	w.settle(w.receipt("same", -1, "delivered", 21), w.outcome(o, message.OutcomeAccepted, "same"))
	w.state(o.Message, message.Delivered)
}

// covers: D9
func testLostAnswerByEcho(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "S", version: "4", to: 22})
	w.settle(w.outcome(o, message.OutcomeUnknown, ""))
	w.state(o.Message, message.Unknown)
	elsewhere := w.settle(w.receipt("e1", o.Reference, "delivered", 99))
	if !elsewhere[0].Waiting {
		t.Fatal("a reference matched although the number differs")
	}
	undeclared := w.receipt("e2", o.Reference, "delivered", 22)
	undeclared.Receipt.EchoDeclared = false
	if out := w.settle(undeclared); !out[0].Waiting {
		t.Fatal("a reference matched although the connection declares no echo")
	}
	w.settle(w.receipt("e3", o.Reference, "delivered", 22))
	m := w.state(o.Message, message.Delivered)
	if string(m.Attempts[0].ExternalID) != "e3" || m.Attempts[0].Outcome != message.OutcomeAccepted {
		t.Errorf("the attempt is %+v", m.Attempts[0])
	}
	// From now on the message id counts.
	w.settle(w.receipt("e3", -1, "undelivered", 22))
	w.state(o.Message, message.Delivered)
	w.exceptions("conflicting")
}

// covers: R4
func testLostAnswerPaired(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "S", version: "5", to: 23})
	w.settle(w.outcome(o, message.OutcomeUnknown, ""))
	n := w.receipt("p1", -1, "delivered", 23)
	w.settle(n)
	n.GraceOver = true
	stranger := w.receipt("p2", -1, "delivered", 24)
	stranger.GraceOver = true
	w.settle(n, stranger)
	w.state(o.Message, message.Unknown)
	for _, x := range w.exceptions("unmatched", "lost_answer") {
		if x.Kind == exception.LostAnswer && (x.Message != o.Message || x.Receipt != n.Receipt.ID || x.Attempt != 1) {
			t.Errorf("the exception does not name the pair: %+v", x)
		}
	}
}

// covers: R6, R10
func testRepeatedReceipt(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "S", version: "6", to: 25})
	w.settle(w.outcome(o, message.OutcomeAccepted, "r1"))
	w.settle(w.receipt("r1", -1, "delivered", 25))
	before := w.state(o.Message, message.Delivered)
	// The same receipt again, one that is not final, and another logical event that says the same.
	out := w.settle(w.receipt("r1", -1, "delivered", 25), w.receipt("r1", -1, "en_route", 25), w.receipt("r1", 7, "delivered", 25))
	if !out[0].Repeated || out[2].Repeated {
		t.Error("a repeated logical event was taken for a new one, or a new one for a repeat")
	}
	after := w.state(o.Message, message.Delivered)
	if after.Since != before.Since || after.Attempts[0].DeliveredAt != before.Attempts[0].DeliveredAt {
		t.Error("a repeat moved something")
	}
	events, err := w.Events(context.Background(), w.tenant, o.Message, 3, 100)
	must(t, err)
	if len(events) != 3 || events[0].Kind != evidence.EventRepeated || events[1].Kind != evidence.EventOvertaken || events[2].Kind != evidence.EventRepeated {
		t.Errorf("the events are %+v", events)
	}
	w.exceptions()
}

// covers: D6
func testLeavesWindow(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "S", version: "8", to: 27})
	rejected := w.outcome(o, message.OutcomeRejected, "")
	rejected.Code, rejected.CodeName = "0x0000000B", "ESME_RINVDSTADR"
	w.settle(rejected)
	w.state(o.Message, message.Rejected)
	d := w.decide(ask{event: "S", version: "8", to: 27})[0].Decision
	if d.Action != intent.Allow || d.Reason != intent.ReasonWindowEnded {
		t.Errorf("after a rejection, which the window does not hold: %s %s", d.Action, d.Reason)
	}
	o = w.open(w.claim(1))[0]
	w.settle(w.outcome(o, message.OutcomeAccepted, "u1"))
	w.settle(w.receipt("u1", -1, "undelivered", 27))
	d = w.decide(ask{event: "S", version: "8", to: 27})[0].Decision
	if d.Action != intent.Suppress || d.Class != intent.ControlledRetry || d.Reason != intent.ReasonRetryNotPermitted {
		t.Errorf("after an end that the window holds: %s %s %s", d.Action, d.Class, d.Reason)
	}
}

func testRedactedReceipt(t *testing.T, h Harness) {
	w := newWorld(t, h)
	w.rules.Redact = func(*store.LoggedReceipt) ([]byte, error) { return []byte("masked"), nil }
	settle := func(a ask, id string) []byte {
		o := w.attempt(a)
		early := w.receipt(id, -1, "delivered", a.to)
		w.settle(early)
		w.settle(w.outcome(o, message.OutcomeAccepted, id))
		r, err := w.Receipt(context.Background(), w.tenant, early.Receipt.ID)
		must(t, err)
		return r.Payload
	}
	if got := settle(ask{purpose: "code", event: "S", version: "9", to: 28, ownKey: []byte("wrapped")}, "c1"); string(got) != "masked" {
		t.Errorf("a receipt of a secret is kept as %q", got)
	}
	if got := settle(ask{event: "S", version: "10", to: 28}, "c2"); string(got) != "sealed" {
		t.Errorf("an ordinary receipt was changed to %q", got)
	}
}

// covers: D15
func testOwnKeysAreDestroyed(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	o := w.attempt(ask{purpose: "code", event: "K", version: "1", to: 29, ownKey: []byte("wrapped")})
	waits := w.taken(ask{purpose: "code", event: "K", version: "2", to: 29, ownKey: []byte("wrapped2")})
	if string(o.OwnKey) != "wrapped" {
		t.Fatalf("the attempt got the key %q", o.OwnKey)
	}
	w.settle(w.outcome(o, message.OutcomeAccepted, "k1"))
	if n, err := w.DestroyOwnKeys(ctx, 10); err != nil || n != 0 {
		t.Fatalf("%d keys were destroyed before their time: %v", n, err)
	}
	w.advance(2 * time.Second)
	if n, err := w.DestroyOwnKeys(ctx, 10); err != nil || n != 1 {
		t.Fatalf("%d keys were destroyed, want 1: %v", n, err)
	}
	if _, err := w.OwnKey(ctx, o.Message); err == nil {
		t.Error("the key of a code that was sent is still there")
	}
	if _, err := w.OwnKey(ctx, waits); err != nil {
		t.Errorf("the key of a message that waits is gone: %v", err)
	}
}

func testExceptionsAreGrouped(t *testing.T, h Harness) {
	w := newWorld(t, h)
	var news []store.News
	for i := range 30 {
		n := w.receipt(fmt.Sprintf("g%d", i), -1, "delivered", 98)
		n.GraceOver = true
		news = append(news, n)
	}
	w.settle(news...)
	all, err := w.Exceptions(context.Background(), w.tenant, store.ExceptionFilter{}, store.Page{Limit: 100})
	must(t, err)
	if len(all) != 30 || all[0].GroupCount != 30 || all[0].State != exception.Open {
		t.Errorf("%d exceptions, group of %d", len(all), all[0].GroupCount)
	}
}
