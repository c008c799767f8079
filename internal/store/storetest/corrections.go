package storetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// Two people at once: one wins, everybody else is told so, and one event says what was decided.
//
// covers: R6, I8
func testResolveRace(t *testing.T, h Harness) {
	w := newWorld(t, h)
	for round := range 5 {
		o, x := w.conflict(fmt.Sprintf("race%d", round), 72)
		var (
			wg    sync.WaitGroup
			mu    sync.Mutex
			won   = map[exception.Action]int{}
			start = make(chan struct{})
		)
		for i := range 8 {
			a := []exception.Action{exception.Attach, exception.Dismiss}[i%2]
			wg.Go(func() {
				<-start
				out := w.resolve(x, a, exception.Part{})
				mu.Lock()
				defer mu.Unlock()
				if out.Err == nil {
					won[a]++
				} else if fault.CodeOf(out.Err) != fault.State {
					t.Error(out.Err)
				}
			})
		}
		close(start)
		wg.Wait()
		want := map[exception.State]message.State{exception.Attached: message.Undelivered, exception.Dismissed: message.Delivered}
		got, err := w.Exception(context.Background(), w.tenant, x.ID)
		must(t, err)
		if len(won) != 1 || won[exception.Attach]+won[exception.Dismiss] != 4 || exception.Actions[exception.Attach] == got.State != (won[exception.Attach] > 0) {
			t.Errorf("%v won, and it is %s", won, got.State)
		}
		w.state(o.Message, want[got.State])
		if got := w.kinds(o.Message); got != "taken outcome receipt conflict resolved" {
			t.Errorf("the history is %s", got)
		}
	}
	w.noDeadlock()
}

// Where a connection documents that one final report replaces another, it does, with an event of its own. Receipts that
// came before that was declared do so when they are read again, and the exception about them is resolved.
//
// covers: R6, R9, I9
func testDocumentedCorrections(t *testing.T, h Harness) {
	w := newWorld(t, h)
	before, x := w.conflict("before", 74)
	w.profile(evidence.Profile{Corrections: []message.Correction{{From: message.DeliveryDelivered, To: message.DeliveryUndelivered}}})
	o := w.attempt(ask{event: "rule", version: "1", to: 75})
	w.settle(w.outcome(o, message.OutcomeAccepted, "D1"), w.receipt("D1", -1, "delivered", 75))
	w.settle(w.receipt("D1", -1, "undelivered", 75))
	m := w.state(o.Message, message.Undelivered)
	if got := w.kinds(o.Message); got != "taken outcome receipt corrected" || !m.Final || m.Attempts[0].StatusRaw != "undelivered" {
		t.Errorf("the history is %s, final %v, %+v", got, m.Final, m.Attempts[0])
	}
	again := w.effect(mended, w.logged(x.Receipt), store.RereadRebuilt, false)
	if again.Message != before.Message || again.From != message.Delivered || again.To != message.Undelivered {
		t.Errorf("read again it did %+v", again)
	}
	w.read(x, exception.Reread)
	w.effect(mended, w.logged(x.Receipt), store.RereadNothing, false)
	w.exceptions("conflicting")
}

// An answer that contradicts is told once, however often it is stored; a person may let it stand.
//
// covers: I9, I13, R6
func testContradictionOnce(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "twice", version: "1", to: 73})
	w.settle(w.outcome(o, message.OutcomeThrottled, ""))
	late := w.outcome(o, message.OutcomeAccepted, "A1")
	for range 3 { // as after a commit that was lost
		w.settle(late, late)
	}
	x := w.exceptions("conflicting")[0]
	if got := w.kinds(o.Message); got != "taken outcome conflict" || x.Event != 3 {
		t.Errorf("the history is %s, the exception is of event %d", got, x.Event)
	}
	w.settle(w.receipt("A1", -1, "delivered", 73)) // it is registered under its id, and contradicts the throttle, too
	w.exceptions("conflicting", "conflicting")
	if out := w.resolve(x, exception.Attach, exception.Part{}); out.Err != nil {
		t.Fatal(out.Err)
	}
	m := w.state(o.Message, message.Accepted)
	if string(m.Attempts[0].ExternalID) != "A1" || m.Final {
		t.Errorf("the attempt is %+v", m.Attempts[0])
	}
	w.settle(w.receipt("A1", 3, "delivered", 73))
	w.state(o.Message, message.Delivered)
}

// A correction takes a message back into its window: its key goes on, and a repeat is one again.
//
// covers: D6, I2
func testCorrectionReopensTheKey(t *testing.T, h Harness) {
	w := newWorld(t, h)
	for i, taken := range []bool{false, true} {
		version := strconv.Itoa(i + 1)
		a := ask{event: "reopened", version: version, to: 74}
		o := w.attempt(a)
		w.settle(w.outcome(o, message.OutcomeRejected, ""))
		second := w.outcome(o, message.OutcomeAccepted, "K"+version)
		w.settle(second) // contradicts
		w.settle(w.receipt("K"+version, -1, "delivered", 74))
		all, err := w.Exceptions(context.Background(), w.tenant, store.ExceptionFilter{About: o.Message, State: exception.Open}, store.Page{Limit: 10})
		must(t, err)
		if taken { // the key is another message's by now
			if d := w.decide(a)[0].Decision; d.Action != intent.Allow {
				t.Fatalf("outside the window: %s", d.Reason)
			}
		}
		for _, x := range all {
			if x.Receipt.IsZero() {
				continue
			}
			if out := w.resolve(x, exception.Attach, exception.Part{}); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		w.state(o.Message, message.Delivered)
		d := w.decide(a)[0].Decision
		if d.Action != intent.Suppress || (d.Message.ID == o.Message) == taken {
			t.Errorf("version %s: a repeat was answered with %s, %s (ours is %s)", version, d.Action, d.Message.ID, o.Message)
		}
	}
}
