package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

// A stop that is set while a long message is in hand holds the parts that are not on their way yet: they are not opened,
// wait under the stop with the others, and leave once it is lifted, none a second time. What is in hand goes on where the
// stop is not about it, and so does a message of one part that was claimed before.
//
// covers: D19, I3, I9
func testPartsStopped(t *testing.T, h Harness) {
	for name, c := range map[string]struct {
		scope func(w *world) flow.Scope
		held  bool
	}{
		"all":             {func(*world) flow.Scope { return flow.Scope{} }, true},
		"tenant":          {func(w *world) flow.Scope { return flow.Scope{Tenant: w.tenant} }, true},
		"purpose":         {func(*world) flow.Scope { return flow.Scope{Purpose: "sale"} }, true},
		"connection":      {func(w *world) flow.Scope { return flow.Scope{Connection: w.conn} }, true},
		"another purpose": {func(*world) flow.Scope { return flow.Scope{Purpose: "news"} }, false},
		"elsewhere":       {func(w *world) flow.Scope { return flow.Scope{Connection: w.conn + 1} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, h)
			sale, err := w.EnsureFlow(context.Background(), store.FlowSpec{Connection: w.conn, Lane: 1, Tenant: w.tenant, Sender: "S", Purpose: "sale"})
			must(t, err)
			w.taken(ask{event: "PS", to: 70, parts: 3, flow: sale})
			one := w.wantOpened(w.open(w.claim(1)), "[1.1]")[0]
			short := w.taken(ask{event: "PS", version: "2", to: 70, flow: sale})
			claimed := w.claim(1)
			s := w.stop(w.tenant, c.scope(w))
			w.settle(w.heldOutcome(one, message.OutcomeAccepted, "ps-1"))
			if !c.held {
				w.wantOpened(w.open(rest(one, 9)), "[2.1 3.1]")
				return
			}
			if opened := w.wantOpened(w.open(append(rest(one, 9), claimed...)), "[1.1]"); opened[0].Message != short {
				t.Errorf("%s was opened", opened[0].Message)
			}
			w.goesOnLater(one, s)
		})
	}
}

// goesOnLater gives back the rest of a message that a stop holds, and lifts that.
func (w *world) goesOnLater(one store.Opened, s store.Stop) {
	w.t.Helper()
	must(w.t, w.settle(about(one.Message, evidence.Evidence{Kind: evidence.Returned, Fence: one.Fence}))[0].Err)
	if m := w.state(one.Message, message.Pending); len(m.Attempts) != 1 || m.Progress() != (message.Progress{Parts: 3, Taken: 1}) {
		w.t.Errorf("under the stop it has the attempts %+v", m.Attempts)
	}
	c := claimer{world: w}
	if got := c.claim(room(10)); len(got.Taken) != 0 || got.Stopped != 1 {
		w.t.Fatalf("under the stop there was claimed %+v", got)
	}
	_, err := w.lift(s)
	must(w.t, err)
	claims := w.claim(10)
	w.wantOpened(w.open(rest(one, 9)), "[]") // under the claim of before
	if len(claims) != 1 || claims[0].Message != one.Message {
		w.t.Fatalf("once it is lifted %+v is claimed", claims)
	}
	claims[0].Most = 9
	more := w.wantOpened(w.open(claims), "[2.1 3.1]")
	w.settle(w.outcome(more[0], message.OutcomeAccepted, "ps-2"), w.outcome(more[1], message.OutcomeAccepted, "ps-3"))
	w.state(one.Message, message.Accepted)
}
