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

// over is a receipt whose grace is over: it has waited for its message id in vain.
func (w *world) over(externalID string, state string, to int) store.News {
	w.t.Helper()
	n := w.receipt(externalID, -1, state, to)
	w.settle(n)
	n.GraceOver = true
	w.settle(n)
	return n
}

// resolve resolves one exception as a person.
func (w *world) resolve(x *store.ExceptionView, a exception.Action, to exception.Part) store.Settled {
	w.t.Helper()
	return w.resolveAs(store.Resolution{Exception: x.ID, Tenant: x.Tenant, Action: a, Person: "ops", Reason: "looked at it", To: to})
}

func (w *world) resolveAs(r store.Resolution) store.Settled {
	w.t.Helper()
	out, err := w.Resolve(context.Background(), []store.Resolution{r}, w.rules)
	must(w.t, err)
	return out[0]
}

// read returns an exception as it is now.
func (w *world) read(x *store.ExceptionView, want exception.State) *store.ExceptionView {
	w.t.Helper()
	got, err := w.Exception(context.Background(), x.Tenant, x.ID)
	must(w.t, err)
	if got.State != want {
		w.t.Fatalf("the exception (%s) is %s, want %s: %+v", got.Kind, got.State, want, got.Resolution)
	}
	return got
}

func (w *world) kinds(id ident.Message) string {
	w.t.Helper()
	events, err := w.Events(context.Background(), id.Partition(), id, 0, 100)
	must(w.t, err)
	var words []string
	for _, e := range events {
		words = append(words, string(e.Kind))
	}
	return strings.Join(words, " ")
}

// conflict is a message that was reported delivered and then undelivered, with its exception.
func (w *world) conflict(event string, to int) (store.Opened, *store.ExceptionView) {
	w.t.Helper()
	o := w.attempt(ask{event: event, version: "1", to: to})
	w.settle(w.outcome(o, message.OutcomeAccepted, event))
	w.settle(w.receipt(event, -1, "delivered", to), w.receipt(event, -1, "undelivered", to))
	all, err := w.Exceptions(context.Background(), w.tenant, store.ExceptionFilter{About: o.Message, State: exception.Open}, store.Page{Limit: 10})
	must(w.t, err)
	if len(all) != 1 || all[0].Kind != exception.Conflicting || all[0].Event != 4 {
		w.t.Fatalf("the exceptions are %+v", all)
	}
	return o, all[0]
}

// A person chooses which of two final reports stands, once: the same choice again changes nothing, another one is told
// who was faster.
//
// covers: R6, R10, I8
func testResolveConflict(t *testing.T, h Harness) {
	w := newWorld(t, h)
	kept, x := w.conflict("kept", 60)
	if out := w.resolve(x, exception.Dismiss, exception.Part{}); out.Err != nil || out.Known || out.Message != kept.Message {
		t.Fatalf("dismissing gave %+v", out)
	}
	w.state(kept.Message, message.Delivered)
	got := w.read(x, exception.Dismissed)
	if got.Resolution.By != "ops" || got.Resolution.Reason != "looked at it" || got.Resolution.At == 0 || got.Resolution.To != (exception.Part{}) {
		t.Errorf("it was kept as %+v", got.Resolution)
	}
	if again := w.resolve(x, exception.Dismiss, exception.Part{}); !again.Known || again.Err != nil {
		t.Errorf("dismissing again gave %+v", again)
	}
	if late := w.resolve(x, exception.Attach, exception.Part{}); fault.CodeOf(late.Err) != fault.State || !strings.Contains(late.Err.Error(), "dismissed by ops") {
		t.Errorf("somebody who came later was told %v", late.Err)
	}
	if got := w.kinds(kept.Message); got != "taken outcome receipt conflict resolved" {
		t.Errorf("the history is %s", got)
	}
	moved, y := w.conflict("moved", 61)
	if out := w.resolve(y, exception.Attach, exception.Part{}); out.Err != nil || out.Case.State != message.Undelivered {
		t.Fatalf("attaching gave %+v", out)
	}
	m := w.state(moved.Message, message.Undelivered)
	if m.Attempts[0].Delivery != message.DeliveryUndelivered || m.Attempts[0].StatusRaw != "undelivered" || !m.Final {
		t.Errorf("the projection is %+v", m.Attempts[0])
	}
	if to := w.read(y, exception.Attached).Resolution.To; to != (exception.Part{Message: moved.Message, Attempt: 1, Part: 1}) {
		t.Errorf("it was attached to %+v", to)
	}
	if again := w.resolve(y, exception.Attach, exception.Part{}); !again.Known {
		t.Errorf("attaching again gave %+v", again)
	}
	other := store.Resolution{Exception: y.ID, Tenant: y.Tenant, Action: exception.Attach, Person: "ann", Reason: "the customer has it", State: "delivered"}
	if got := w.resolveAs(other); fault.CodeOf(got.Err) != fault.State || got.Known {
		t.Errorf("somebody else with another word was told %+v", got)
	}
	groups, err := w.ExceptionGroups(context.Background(), w.tenant, false, store.GroupKey{}, 10)
	must(t, err)
	var count, open int64
	for _, g := range groups { // an hour may end between the two
		count, open = count+g.Count, open+g.Open
	}
	if count != 2 || open != 0 {
		t.Errorf("the groups count %d, of which %d are open: %+v", count, open, groups)
	}
	if rest, err := w.ExceptionGroups(context.Background(), w.tenant, true, store.GroupKey{}, 10); err != nil || len(rest) != 0 {
		t.Errorf("open groups are %+v: %v", rest, err)
	}
}

// A lost answer is settled by attaching the receipt that may be its pair, in one step. What came under the same id
// before settles itself then, and what comes later finds the attempt.
//
// covers: R4, R5, R6, D9
func testResolveLostAnswer(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "lost", version: "1", to: 62})
	w.settle(w.outcome(o, message.OutcomeUnknown, ""))
	under, final := w.over("L1", "en_route", 62), w.over("L1", "delivered", 62)
	repeat := w.over("L1", "delivered", 62)
	pairs := w.exceptions("lost_answer", "lost_answer") // the repeat makes none (R10)
	x := pairs[0]
	if x.Receipt != final.Receipt.ID {
		x = pairs[1]
	}
	if len(x.Candidates) != 1 || x.Candidates[0] != (exception.Part{Message: o.Message, Attempt: 1, Part: 1}) {
		t.Fatalf("the candidates are %+v", x.Candidates)
	}
	if out := w.resolve(x, exception.Attach, exception.Part{}); out.Err != nil {
		t.Fatal(out.Err)
	}
	m := w.state(o.Message, message.Delivered)
	if a := m.Attempts[0]; a.Outcome != message.OutcomeAccepted || string(a.ExternalID) != "L1" {
		t.Errorf("the attempt is %+v", a)
	}
	w.read(x, exception.Attached)
	for _, other := range pairs {
		if other.ID != x.ID {
			if got := w.read(other, exception.Settled); got.Resolution.To.Message != o.Message || got.Receipt != under.Receipt.ID {
				t.Errorf("the other receipt's exception is %+v", got)
			}
		}
	}
	if got := w.kinds(o.Message); got != "taken outcome resolved overtaken repeated" {
		t.Errorf("the history is %s", got)
	}
	events, err := w.Events(context.Background(), w.tenant, o.Message, 3, 10)
	must(t, err)
	if events[0].Receipt != under.Receipt.ID || events[0].Detail["exception"] == "" || events[1].Receipt != repeat.Receipt.ID {
		t.Errorf("what settled itself is %+v", events)
	}
	w.settle(w.receipt("L1", 9, "undelivered", 62))
	w.exceptions("conflicting", "lost_answer", "lost_answer")
}

// A receipt for nobody is attached to a message that is named: one's own, over the connection that it came from.
//
// covers: R4, R6, I13, I15
func testResolveUnmatched(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "named", version: "1", to: 63})
	w.settle(w.outcome(o, message.OutcomeAccepted, "N1"))
	w.over("N2", "delivered", 63)
	x := w.exceptions("unmatched")[0]
	ask := store.Resolution{Exception: x.ID, Tenant: w.tenant, Action: exception.Attach, Person: "ops", Reason: "r"}
	for name, c := range map[string]struct {
		change func(r *store.Resolution)
		want   fault.Code
	}{
		"to nothing":             {func(*store.Resolution) {}, fault.Invalid},
		"to no message":          {func(r *store.Resolution) { r.To.Message = ident.NewMessage(w.tenant) }, fault.NotFound},
		"to no attempt":          {func(r *store.Resolution) { r.To = exception.Part{Message: o.Message, Attempt: 9, Part: 1} }, fault.NotFound},
		"by another tenant":      {func(r *store.Resolution) { r.Tenant = w.tenant + 1; r.To.Message = o.Message }, fault.NotFound},
		"an exception of nobody": {func(r *store.Resolution) { r.Exception = ident.NewException(w.tenant) }, fault.NotFound},
	} {
		r := ask
		c.change(&r)
		if out := w.resolveAs(r); out.Err == nil || fault.CodeOf(out.Err) != c.want {
			t.Errorf("%s: %v, want %s", name, out.Err, c.want)
		}
	}
	w.read(x, exception.Open)
	ask.To.Message = o.Message
	if out := w.resolveAs(ask); out.Err != nil {
		t.Fatal(out.Err)
	}
	w.state(o.Message, message.Delivered)
	if m := w.state(o.Message, message.Delivered); string(m.Attempts[0].ExternalID) != "N1" {
		t.Errorf("its own message id became %q", m.Attempts[0].ExternalID)
	}
	if to := w.read(x, exception.Attached).Resolution.To; to != (exception.Part{Message: o.Message, Attempt: 1, Part: 1}) {
		t.Errorf("it was attached to %+v", to)
	}
	w.foreignMessage(ask)
	w.foreignConnection(ask)
}

// foreignMessage attaches nobody's receipt to another tenant's message: whoever runs the installation may say so.
func (w *world) foreignMessage(r store.Resolution) {
	w.t.Helper()
	theirs := *w
	var err error
	theirs.tenant, err = w.EnsureTenant(context.Background(), "another")
	must(w.t, err)
	theirs.taken(ask{event: "theirs", version: "1", to: 65, tenant: theirs.tenant})
	o := theirs.open(theirs.claim(1))[0]
	w.settle(theirs.outcome(o, message.OutcomeAccepted, "T1"))
	w.over("T2", "delivered", 65)
	r.Exception, r.To = w.exceptions("unmatched", "unmatched")[0].ID, exception.Part{Message: o.Message, Attempt: 1, Part: 1}
	if out := w.resolveAs(r); fault.CodeOf(out.Err) != fault.NotFound {
		w.t.Errorf("a tenant touched another's message: %v", out.Err)
	}
	r.Anywhere = true
	if out := w.resolveAs(r); out.Err != nil {
		w.t.Error(out.Err)
	}
	if m, err := w.Message(context.Background(), theirs.tenant, o.Message); err != nil || m.State != message.Delivered {
		w.t.Errorf("the other tenant's message: %v, %v", m, err)
	}
}

// foreignConnection attaches a receipt to a message that went another way.
func (w *world) foreignConnection(r store.Resolution) {
	w.t.Helper()
	other := *w
	var err error
	other.conn, other.space, err = w.EnsureConnection(context.Background(), "other carrier", "")
	must(w.t, err)
	other.over("C1", "delivered", 67)
	r.Exception = w.exceptions("unmatched", "unmatched", "unmatched")[0].ID
	if out := w.resolveAs(r); fault.CodeOf(out.Err) != fault.State {
		w.t.Errorf("a receipt of another connection was attached: %v", out.Err)
	}
}
