package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// finalityTests are about the end of the time in which receipts may come, and about what is not over.
var finalityTests = map[string]func(*testing.T, Harness){
	"Finality":           testFinality,
	"FinalityOfUnknown":  testFinalityOfUnknown,
	"FinalityOfParts":    testFinalityOfParts,
	"FinalityInOrder":    testFinalityInOrder,
	"ReceiptAfterTheEnd": testReceiptAfterTheEnd,
	"OwnReceiptTime":     testOwnReceiptTime,
	"Backlog":            testBacklog,
}

// age lets d of the days pass in which receipts of the store's messages may come: what is due then comes so much
// sooner. No clock moves.
func (w *world) age(d time.Duration) {
	w.t.Helper()
	db := w.h.Database(w.t, w.Store)
	for _, statement := range []string{
		`update message set receipt_until = receipt_until - %d where id > ''`,
		fmt.Sprintf(`update message_state set ready_at = ready_at - %%d where message_id > '' and queue = %d`, evidence.QueueFinality),
	} {
		_, err := db.ExecContext(context.Background(), fmt.Sprintf(statement, d.Microseconds()))
		must(w.t, err)
	}
}

// receiptTime is how long receipts of a message may come, from when it was made.
func (w *world) receiptTime(id ident.Message) time.Duration {
	w.t.Helper()
	m, err := w.Message(context.Background(), id.Partition(), id)
	must(w.t, err)
	return m.ReceiptUntil.Sub(m.CreatedAt)
}

// closing lists what is due for its end.
func (w *world) closing() string {
	w.t.Helper()
	due, err := w.Due(context.Background(), evidence.QueueFinality, 10)
	must(w.t, err)
	return fmt.Sprint(due)
}

func (w *world) close(id ident.Message) store.Settled {
	w.t.Helper()
	return w.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.ReceiptTimeEnded, Message: id}, Reference: -1})[0]
}

// closed asserts that a message is over in this state, and that this was written down once.
func (w *world) closed(id ident.Message, want message.State) *store.Message {
	w.t.Helper()
	if out := w.close(id); out.Err != nil {
		w.t.Fatal(out.Err)
	}
	if again := w.close(id); fault.CodeOf(again.Err) != fault.State {
		w.t.Errorf("it was closed twice: %v", again.Err)
	}
	if due := w.closing(); due != "[]" {
		w.t.Errorf("still due: %s", due)
	}
	m := w.state(id, want)
	if !m.Final {
		w.t.Error("it is not final")
	}
	events, err := w.Events(context.Background(), w.tenant, id, 0, 100)
	must(w.t, err)
	if last := events[len(events)-1]; last.Kind != evidence.EventClosed || last.From != want || last.To != want || strings.Count(w.kinds(id), "closed") != 1 {
		w.t.Errorf("the history is %s, the last of it %+v", w.kinds(id), last)
	}
	return m
}

// A connection may wait for receipts longer or less long than others; one that says nothing waits for the usual time.
//
// covers: D5, R14
func testOwnReceiptTime(t *testing.T, h Harness) {
	w := newWorld(t, h)
	for i, c := range []struct{ own, want time.Duration }{{0, evidence.ReceiptTime}, {time.Hour, time.Hour}, {100 * time.Hour, 100 * time.Hour}} {
		s := w.submission(ask{event: fmt.Sprint("OT", i), to: 30 + i})
		s.ReceiptTime = c.own
		out, err := w.Store.Decide(context.Background(), []store.Submission{s}, intent.Decide)
		must(t, err)
		id := out[0].Decision.Message.ID
		if got := w.receiptTime(id) - s.ValidFor; got != c.want {
			t.Errorf("receipts may come for %v after the validity, want %v", got, c.want)
		}
	}
}

// A message that was accepted and never reported keeps its state's name, is over with its receipt time and not a
// moment sooner, and its window ends there: whoever asks again means another message.
//
// covers: D5, D6, D16, R6
func testFinality(t *testing.T, h Harness) {
	w := newWorld(t, h)
	a := ask{event: "S", version: "7", to: 26}
	o := w.attempt(a)
	w.settle(w.outcome(o, message.OutcomeAccepted, "f1"))
	awaited := w.receiptTime(o.Message)
	for _, later := range []time.Duration{0, awaited - time.Hour} {
		w.age(later)
		if out := w.close(o.Message); fault.CodeOf(out.Err) != fault.State || out.Err == nil {
			t.Fatalf("a message was closed while receipts may come: %v", out.Err)
		}
		if due := w.closing(); due != "[]" {
			t.Errorf("due already: %s", due)
		}
		if m := w.state(o.Message, message.Accepted); m.Final {
			t.Error("accepted is final at once")
		}
		if d := w.decide(a)[0].Decision; d.Action != intent.Suppress || d.Message.ID != o.Message {
			t.Errorf("a repeat inside the window: %s %s", d.Action, d.Reason)
		}
	}
	w.age(time.Hour)
	if due := w.closing(); due != fmt.Sprint([]ident.Message{o.Message}) {
		t.Fatalf("due are %s, want %s", due, o.Message)
	}
	w.closed(o.Message, message.Accepted)
	w.exceptions()
	if d := w.decide(a)[0].Decision; d.Action != intent.Allow || d.Reason != intent.ReasonWindowEnded || d.Message.ID == o.Message {
		t.Errorf("after the end: %s %s", d.Action, d.Reason)
	}
}

// What nobody ever answered or reported ends as unknown, and is never called anything else.
//
// covers: D5, D6, D9, I7
func testFinalityOfUnknown(t *testing.T, h Harness) {
	w := newWorld(t, h)
	a := ask{event: "FU", version: "1", to: 27}
	o := w.attempt(a)
	w.settle(w.outcome(o, message.OutcomeUnknown, ""))
	if d := w.decide(a)[0].Decision; d.Action != intent.Suppress || d.Message.ID != o.Message {
		t.Errorf("a repeat while it is unknown: %s %s", d.Action, d.Reason)
	}
	w.age(w.receiptTime(o.Message))
	m := w.closed(o.Message, message.Unknown)
	if m.Attempts[0].Outcome != message.OutcomeUnknown || m.Delivery() != "" {
		t.Errorf("the attempt is %s, reported %q", m.Attempts[0].Outcome, m.Delivery())
	}
	w.exceptions()
	if d := w.decide(a)[0].Decision; d.Action != intent.Allow || d.Reason != intent.ReasonWindowEnded {
		t.Errorf("after the end: %s %s", d.Action, d.Reason)
	}
	if claims := w.claim(9); len(claims) != 1 || claims[0].Message == o.Message {
		t.Errorf("claimed are %+v", claims)
	}
}

// C26, run E: receipts were asked for with every part, and one of them came. The message is never called delivered;
// at the end a person is told which receipts are missing, once. Without any receipt there is nothing to tell.
//
// covers: D5, D16, R6, I7, C26
func testFinalityOfParts(t *testing.T, h Harness) {
	w := newWorld(t, h)
	accepted := func(event string, to int) ident.Message {
		one := w.firstOf(event, to)
		w.settle(w.heldOutcome(one, message.OutcomeAccepted, event+"-111"))
		more := w.open(rest(one, 9))
		w.settle(w.outcome(more[0], message.OutcomeAccepted, event+"-112"), w.outcome(more[1], message.OutcomeAccepted, event+"-113"))
		return one.Message
	}
	partial, silent := accepted("FP", 28), accepted("FS", 29)
	w.settle(w.receipt("FP-111", -1, "delivered", 28))
	if m := w.state(partial, message.Accepted); m.Final || !m.Progress().Partial() || m.Progress().Delivered != 1 {
		t.Fatalf("final %v, %+v", m.Final, m.Progress())
	}
	w.age(w.receiptTime(partial))
	if out := w.close(silent); out.Err != nil {
		t.Fatal(out.Err)
	}
	w.exceptions()
	if m := w.closed(partial, message.Accepted); !m.Progress().Partial() || m.Delivery() != "en_route" {
		t.Errorf("%+v, reported %q", m.Progress(), m.Delivery())
	}
	x := w.exceptions("missing")[0]
	events, err := w.Events(context.Background(), w.tenant, partial, 0, 100)
	must(t, err)
	if x.Message != partial || x.State != exception.Open || x.Event != events[len(events)-1].N || !strings.Contains(x.Detail, "1 of 3 parts") {
		t.Errorf("a person is told of %+v", x)
	}
	if out := w.resolve(x, exception.Attach, exception.Part{Message: partial, Attempt: 1, Part: 2}); fault.CodeOf(out.Err) != fault.Invalid || out.Err == nil {
		t.Errorf("a receipt that nobody has was attached: %v", out.Err)
	}
	if out := w.resolve(x, exception.Dismiss, exception.Part{}); out.Err != nil {
		t.Fatal(out.Err)
	}
	w.read(x, exception.Dismissed)
	if m := w.state(partial, message.Accepted); !m.Final || w.kinds(partial) != "taken outcome outcome outcome receipt closed resolved" {
		t.Errorf("final %v, the history is %s", m.Final, w.kinds(partial))
	}
}

// What is due longest comes first, and no more than is asked for.
func testFinalityInOrder(t *testing.T, h Harness) {
	w := newWorld(t, h)
	var made []ident.Message
	for i, valid := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		o := w.attempt(ask{event: "FO", version: fmt.Sprint(i), to: 30, validFor: valid})
		w.settle(w.outcome(o, message.OutcomeAccepted, fmt.Sprint("fo-", i)))
		made = append(made, o.Message)
	}
	w.age(w.receiptTime(made[2]))
	if got, want := w.closing(), fmt.Sprint([]ident.Message{made[1], made[2]}); got != want {
		t.Errorf("due are %s, want %s", got, want)
	}
	due, err := w.Due(context.Background(), evidence.QueueFinality, 1)
	must(t, err)
	if len(due) != 1 || due[0] != made[1] {
		t.Errorf("due first is %v, want %s", due, made[1])
	}
}

// A receipt that nobody awaited any more still counts. What it says takes the message back into its window.
//
// covers: D6, D9, R6, I2
func testReceiptAfterTheEnd(t *testing.T, h Harness) {
	w := newWorld(t, h)
	for i, taken := range []bool{false, true} {
		version := fmt.Sprint(i)
		a := ask{event: "FR", version: version, to: 31}
		o := w.attempt(a)
		w.settle(w.outcome(o, message.OutcomeAccepted, "fr-"+version))
		w.age(w.receiptTime(o.Message))
		w.closed(o.Message, message.Accepted)
		if taken { // another message has the key by now
			if d := w.decide(a)[0].Decision; d.Action != intent.Allow {
				t.Fatalf("after the end: %s %s", d.Action, d.Reason)
			}
		}
		w.settle(w.receipt("fr-"+version, -1, "delivered", 31))
		if m := w.state(o.Message, message.Delivered); !m.Final || w.kinds(o.Message) != "taken outcome closed receipt" {
			t.Errorf("final %v, the history is %s", m.Final, w.kinds(o.Message))
		}
		if d := w.decide(a)[0].Decision; d.Action != intent.Suppress || (d.Message.ID == o.Message) == taken {
			t.Errorf("version %s: a repeat was answered with %s, %s (ours is %s)", version, d.Action, d.Message.ID, o.Message)
		}
	}
	w.exceptions()
}
