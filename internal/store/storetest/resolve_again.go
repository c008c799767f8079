package storetest

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// again checks what somebody is told who resolves what was resolved: nothing new where it is the same, else who was
// faster, and how.
func (w *world) again(name string, r store.Resolution, same bool, words string) {
	w.t.Helper()
	out := w.resolveAs(r)
	if same && (!out.Known || out.Err != nil) || !same && (out.Known || fault.CodeOf(out.Err) != fault.State || !strings.Contains(out.Err.Error(), words)) {
		w.t.Errorf("%s: %+v", name, out)
	}
}

// A resolution is the same one where its action, its attempt and its state are; whatever differs is told who was faster.
//
// covers: R6
func testResolveAgain(t *testing.T, h Harness) {
	w := newWorld(t, h)
	first := store.Resolution{Exception: w.unreadable(""), Tenant: w.tenant, Action: exception.Attach, Person: "ops", Reason: "r", State: "delivered"}
	first.To.Message = w.bystander("a1", 60)
	must(t, w.resolveAs(first).Err)
	x := w.exceptions("unreadable")[0]
	if got := w.read(x, exception.Attached).Resolution; got.State != "delivered" {
		t.Errorf("it was kept as %+v", got)
	}
	other := w.bystander("a2", 60)
	for name, c := range map[string]struct {
		change func(r *store.Resolution)
		same   bool
	}{
		"the same":                {func(*store.Resolution) {}, true},
		"of somebody else":        {func(r *store.Resolution) { r.Person, r.Reason = "ann", "I think so, too" }, true},
		"with the attempt":        {func(r *store.Resolution) { r.To.Attempt, r.To.Part = 1, 1 }, true},
		"another state":           {func(r *store.Resolution) { r.State = "undelivered" }, false},
		"no state":                {func(r *store.Resolution) { r.State = "" }, false},
		"another message":         {func(r *store.Resolution) { r.To.Message = other }, false},
		"no message":              {func(r *store.Resolution) { r.To.Message = exception.Part{}.Message }, false},
		"another attempt":         {func(r *store.Resolution) { r.To.Attempt = 2 }, false},
		"another part":            {func(r *store.Resolution) { r.To.Part = 2 }, false},
		"nothing follows from it": {func(r *store.Resolution) { r.Action, r.To, r.State = exception.Dismiss, exception.Part{}, "" }, false},
	} {
		r := first
		c.change(&r)
		w.again(name, r, c.same, "attached as delivered by ops")
	}
	w.state(first.To.Message, message.Delivered)
	w.state(other, message.Accepted)
	w.resolveAgainByGuess()
}

// resolveAgainByGuess names another attempt than the one that a lost answer is paired with, and then none.
func (w *world) resolveAgainByGuess() {
	w.t.Helper()
	lost := w.attempt(ask{event: "guess", version: "1", to: 61})
	w.settle(w.outcome(lost, message.OutcomeUnknown, ""))
	w.over("G1", "delivered", 61)
	x := w.exceptions("lost_answer", "unreadable")[0]
	r := store.Resolution{Exception: x.ID, Tenant: w.tenant, Action: exception.Attach, Person: "ops", Reason: "r"}
	r.To.Message = w.bystander("a3", 61)
	must(w.t, w.resolveAs(r).Err)
	w.again("the same", r, true, "")
	r.To.Message = lost.Message
	w.again("the candidate", r, false, "attached by ops")
	r.To = exception.Part{}
	w.again("the candidate, not named", r, false, "attached by ops")
	w.state(lost.Message, message.Unknown)
}
