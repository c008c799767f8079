package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
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
	w.over("N2", "delivered", 64)
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
	w.over("T2", "delivered", 66)
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

// Where several attempts may be meant, a person names one; the exceptions of two tenants never meet in one.
//
// covers: R4, I15
func testResolveCandidates(t *testing.T, h Harness) {
	w := newWorld(t, h)
	first, second := w.attempt(ask{event: "c1", version: "1", to: 68}), w.attempt(ask{event: "c2", version: "1", to: 68})
	w.settle(w.outcome(first, message.OutcomeUnknown, ""), w.outcome(second, message.OutcomeUnknown, ""))
	w.over("P1", "delivered", 68)
	x := w.exceptions("lost_answer")[0]
	if len(x.Candidates) != 2 {
		t.Fatalf("the candidates are %+v", x.Candidates)
	}
	if out := w.resolve(x, exception.Attach, exception.Part{}); fault.CodeOf(out.Err) != fault.Invalid {
		t.Errorf("one of two was chosen: %v", out.Err)
	}
	if out := w.resolve(x, exception.Attach, exception.Part{Message: second.Message}); out.Err != nil {
		t.Fatal(out.Err)
	}
	w.state(second.Message, message.Delivered)
	w.state(first.Message, message.Unknown)
	// Another receipt fits the one that is left.
	w.over("P2", "delivered", 68)
	all := w.exceptions("lost_answer", "lost_answer")
	if len(all[0].Candidates) != 1 || all[0].Message != first.Message {
		t.Errorf("the pair is %+v", all[0])
	}
	theirs := *w
	var err error
	theirs.tenant, err = w.EnsureTenant(context.Background(), "another")
	must(t, err)
	theirs.taken(ask{event: "c3", version: "1", to: 68, tenant: theirs.tenant})
	w.settle(theirs.outcome(theirs.open(theirs.claim(1))[0], message.OutcomeUnknown, ""))
	w.over("P3", "delivered", 68)
	if x := w.exceptions("unmatched", "lost_answer", "lost_answer")[0]; len(x.Candidates) != 0 || !x.Message.IsZero() || !strings.Contains(x.Detail, "several tenants") {
		t.Errorf("attempts of two tenants are in one exception: %+v", x)
	}
}

// What a person was told of settles itself when its answer comes after all.
//
// covers: R5, R9, D9
func testExceptionSettlesItself(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "late", version: "1", to: 69})
	w.over("S1", "delivered", 70) // another number: no pair, but the answer will name its id
	unmatched := w.exceptions("unmatched")[0]
	w.settle(w.outcome(o, message.OutcomeUnknown, ""))
	w.over("S2", "delivered", 69)
	pair := w.exceptions("lost_answer", "unmatched")[0]
	late := w.outcome(o, message.OutcomeAccepted, "S2")
	late.Late = true
	w.settle(late)
	w.state(o.Message, message.Delivered)
	if got := w.read(pair, exception.Settled); got.Resolution.By != "" || got.Resolution.To.Message != o.Message {
		t.Errorf("it settled itself as %+v", got.Resolution)
	}
	w.read(unmatched, exception.Open)
	if got := w.kinds(o.Message); got != "taken outcome late receipt" {
		t.Errorf("the history is %s", got)
	}
	// The answer has another id: the receipt that was taken for its pair is nobody's.
	p := w.attempt(ask{event: "other", version: "1", to: 71})
	w.settle(w.outcome(p, message.OutcomeUnknown, ""))
	w.over("S3", "delivered", 71)
	pair = w.exceptions("lost_answer", "lost_answer", "unmatched")[0]
	w.settle(w.outcome(p, message.OutcomeAccepted, "S4"))
	w.state(p.Message, message.Accepted)
	w.read(pair, exception.Settled)
	all := w.exceptions("unmatched", "lost_answer", "lost_answer", "unmatched")
	if all[0].Receipt != pair.Receipt || all[0].Tenant != w.tenant || !all[0].Message.IsZero() {
		t.Errorf("the receipt is left as %+v", all[0])
	}
	// A dismissed one stays dismissed, whatever comes.
	w.resolve(unmatched, exception.Dismiss, exception.Part{})
	q := w.attempt(ask{event: "dismissed", version: "1", to: 70})
	w.settle(w.outcome(q, message.OutcomeAccepted, "S1"))
	w.state(q.Message, message.Accepted)
}

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
	for version, taken := range map[string]bool{"1": false, "2": true} {
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

// A receipt whose id would fit in another base says so to the person, and touches nothing.
//
// covers: R4, C13
func testUnmatchedHint(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "hint", version: "1", to: 75})
	w.settle(w.outcome(o, message.OutcomeAccepted, "812FC7470000001B"))
	w.over("9308878062554710043", "delivered", 75)
	w.over("9308878062554710044", "delivered", 75)
	w.state(o.Message, message.Accepted)
	all := w.exceptions("unmatched", "unmatched")
	if strings.Contains(all[0].Detail, "receipts.ids") || !strings.Contains(all[1].Detail, "receipts.ids: {response: hex, receipt: decimal}") {
		t.Errorf("the details are %q and %q", all[0].Detail, all[1].Detail)
	}
}

// Lists of exceptions, and of their groups, page by page.
func testExceptionLists(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	_, x := w.conflict("list", 76)
	for i := range 3 {
		w.over(fmt.Sprintf("Z%d", i), "delivered", 77)
	}
	all := w.exceptions("unmatched", "unmatched", "unmatched", "conflicting")
	w.resolve(all[0], exception.Dismiss, exception.Part{})
	for name, c := range map[string]struct {
		f    store.ExceptionFilter
		want int
	}{
		"all":           {store.ExceptionFilter{}, 4},
		"open":          {store.ExceptionFilter{State: exception.Open}, 3},
		"dismissed":     {store.ExceptionFilter{State: exception.Dismissed}, 1},
		"kind":          {store.ExceptionFilter{Kind: exception.Conflicting}, 1},
		"about":         {store.ExceptionFilter{About: x.Message}, 1},
		"connection":    {store.ExceptionFilter{Connection: w.conn + 1}, 0},
		"group":         {store.ExceptionFilter{State: exception.Open, Kind: exception.Unmatched, Connection: w.conn, Hour: all[1].GroupHour()}, 2},
		"another group": {store.ExceptionFilter{Hour: all[1].GroupHour() + 1}, 0},
	} {
		got, err := w.Exceptions(ctx, w.tenant, c.f, store.Page{Limit: 10})
		must(t, err)
		if len(got) != c.want && !(name == "group" && len(got) > 0) { // an hour may end in between
			t.Errorf("%s: %d exceptions, want %d", name, len(got), c.want)
		}
	}
	seen, last := map[store.GroupKey]int64{}, store.GroupKey{}
	for range 10 {
		page, err := w.ExceptionGroups(ctx, w.tenant, false, last, 1)
		must(t, err)
		if len(page) == 0 {
			break
		}
		last = page[0].GroupKey
		seen[last] = page[0].Count
	}
	total := int64(0)
	for _, n := range seen {
		total += n
	}
	if len(seen) < 2 || total != 4 {
		t.Errorf("the groups are %v", seen)
	}
	if other, err := w.ExceptionGroups(ctx, w.tenant+1, false, store.GroupKey{}, 10); err != nil || len(other) != 0 {
		t.Errorf("another tenant sees %d groups: %v", len(other), err)
	}
	if _, err := w.Exception(ctx, w.tenant+1, x.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another tenant reads an exception: %v", err)
	}
}
