package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// bystander is a message that was accepted, to a number of its own, under the message id of its event.
func (w *world) bystander(event string, to int) ident.Message {
	w.t.Helper()
	o := w.attempt(ask{event: event, version: "1", to: to})
	w.settle(w.outcome(o, message.OutcomeAccepted, event))
	return o.Message
}

// spared checks that evidence was refused to a message, which goes on as if nobody had tried.
func (w *world) spared(x *store.ExceptionView, to exception.Part, event string, number int, words string) {
	w.t.Helper()
	out := w.resolve(x, exception.Attach, to)
	if fault.CodeOf(out.Err) != fault.State || !strings.Contains(out.Err.Error(), words) {
		w.t.Errorf("attaching %s evidence to another's message: %v", x.Kind, out.Err)
	}
	w.read(x, exception.Open)
	w.settle(w.receipt(event, -1, "delivered", number))
	w.state(to.Message, message.Delivered)
	if got := w.kinds(to.Message); got != "taken outcome receipt" {
		w.t.Errorf("the history is %s", got)
	}
}

// Evidence that names its message by itself is nobody else's: it cannot be attached to another message, attempt or
// part.
//
// covers: R6, I13
func testResolveOwn(t *testing.T, h Harness) {
	w := newWorld(t, h)
	_, x := w.conflict("own", 60)
	w.spared(x, exception.Part{Message: w.bystander("by1", 60)}, "by1", 60, "belongs to attempt 1, part 1 of "+x.Message.String())
	odd := w.bystander("odd", 61)
	w.settle(w.receipt("odd", -1, "", 61))
	y := w.exceptions("unreadable", "conflicting")[0]
	if y.Message != odd {
		t.Fatalf("the exception is %+v", y)
	}
	w.spared(y, exception.Part{Message: w.bystander("by2", 61)}, "by2", 61, "belongs to attempt 1")
	for _, to := range []exception.Part{{Message: x.Message, Attempt: 2, Part: 1}, {Message: x.Message, Attempt: 1, Part: 2}} {
		if out := w.resolve(x, exception.Attach, to); fault.CodeOf(out.Err) != fault.State {
			t.Errorf("attached to %+v: %v", to, out.Err)
		}
	}
	if out := w.resolve(x, exception.Attach, exception.Part{Message: x.Message, Attempt: 1}); out.Err != nil {
		t.Error(out.Err)
	}
	w.state(x.Message, message.Undelivered)
}

// What names no message may be given to one that a person names, unless its number contradicts; the number itself is
// contradicted only by a message id that no other attempt to that number has.
//
// covers: R4, R6, I13
func testResolveForeignNumber(t *testing.T, h Harness) {
	w := newWorld(t, h)
	w.over("F1", "undelivered", 60)
	w.spared(w.exceptions("unmatched")[0], exception.Part{Message: w.bystander("by1", 61)}, "by1", 61, "another number")
	lost := w.attempt(ask{event: "lost", version: "1", to: 62})
	w.settle(w.outcome(lost, message.OutcomeUnknown, ""))
	w.over("F2", "undelivered", 62)
	w.spared(w.exceptions("lost_answer", "unmatched")[0], exception.Part{Message: w.bystander("by2", 63)}, "by2", 63, "another number")
	mended := w.bystander("id", 64)
	w.over("id", "undelivered", 65)
	x := w.exceptions("ambiguous", "lost_answer", "unmatched")[0]
	w.spared(x, exception.Part{Message: w.bystander("by3", 66)}, "by3", 66, "another number")
	if out := w.resolve(x, exception.Attach, exception.Part{Message: mended}); out.Err != nil { // its number is written otherwise
		t.Error(out.Err)
	}
	w.state(mended, message.Undelivered)
	broken := w.unreadable("12025550167")
	w.exceptions("unreadable", "ambiguous", "lost_answer", "unmatched")
	r := store.Resolution{Exception: broken, Tenant: w.tenant, Action: exception.Attach, Person: "ops", Reason: "r", State: "delivered"}
	r.To.Message = w.bystander("by4", 68)
	if out := w.resolveAs(r); fault.CodeOf(out.Err) != fault.State {
		t.Errorf("the number of what nobody can read: %v", out.Err)
	}
	r.Exception = w.unreadable("")
	if out := w.resolveAs(r); out.Err != nil {
		t.Errorf("without a number: %v", out.Err)
	}
	w.state(r.To.Message, message.Delivered)
}

// unreadable is the exception of a call in an unknown format.
func (w *world) unreadable(source string) ident.Exception {
	w.t.Helper()
	r, _ := w.call("", -1, "", 0)
	r.Kind, r.Source, r.EventKey = "unreadable", source, key([]byte("unreadable "+source))
	must(w.t, w.LogReceipts(context.Background(), []*store.LoggedReceipt{r}, 0))
	w.settle(store.NewsOf(r))
	all, err := w.Exceptions(context.Background(), w.tenant, store.ExceptionFilter{Kind: exception.Unreadable, State: exception.Open}, store.Page{Limit: 1})
	must(w.t, err)
	return all[0].ID
}

// A person's word for a status is taken where the evidence has none of its own.
//
// covers: R6, R7
func testResolveOtherWords(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o, x := w.conflict("words", 60)
	r := store.Resolution{Exception: x.ID, Tenant: w.tenant, Action: exception.Attach, Person: "ops", Reason: "r", State: "en_route"}
	if out := w.resolveAs(r); fault.CodeOf(out.Err) != fault.Invalid || !strings.Contains(out.Err.Error(), "leave the state out") {
		t.Errorf("other words in its place: %v", out.Err)
	}
	w.read(x, exception.Open)
	w.state(o.Message, message.Delivered)
	late := w.outcome(o, message.OutcomeRejected, "")
	w.settle(late)
	r.Exception = w.exceptions("conflicting", "conflicting")[0].ID
	if out := w.resolveAs(r); fault.CodeOf(out.Err) != fault.Invalid {
		t.Errorf("a state of an answer: %v", out.Err)
	}
}
