package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/store"
)

// What is not over is counted by where it waits, and no further than it was asked to.
//
// covers: D19, I12
func testBacklog(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	count := func(most int) store.Backlog {
		b, err := w.Backlog(ctx, w.conn, most)
		must(t, err)
		return b
	}
	if b := count(10); b != (store.Backlog{}) {
		t.Errorf("an empty store has %+v", b)
	}
	hook := w.hook(w.tenant, "message.pending")
	lost, taken, over := w.attempt(ask{event: "B-1", to: 31}), w.attempt(ask{event: "B-2", to: 32}), w.attempt(ask{event: "B-3", to: 33})
	w.settle(w.outcome(lost, message.OutcomeUnknown, ""), w.outcome(taken, message.OutcomeAccepted, "b-2"), w.outcome(over, message.OutcomeRejected, ""))
	w.over("b-nobody", "delivered", 34)
	code, err := w.EnsureFlow(ctx, store.FlowSpec{Connection: w.conn, Lane: flow.Urgent, Tenant: w.tenant, Sender: "SHOP", Purpose: "code"})
	must(t, err)
	w.taken(ask{event: "B-4", to: 35})
	w.taken(ask{event: "B-5", to: 36})
	w.taken(ask{event: "B-6", to: 37, flow: code})
	w.placed()
	told := w.claimFor(3, hook)
	w.report(told[0], yes)
	w.report(told[1], webhook.Answer{Status: 410})
	want := store.Backlog{Awaited: 2, Unknown: 1, Exceptions: 1, Untold: 4, Dead: 1} // one of six is told
	want.Pending[flow.PlaceOf(w.flow).Lane], want.Pending[flow.Urgent] = 2, 1
	if b := count(10); b != want {
		t.Errorf("%+v, want %+v", b, want)
	}
	if b := count(1); b.Awaited != 1 || b.Pending[flow.PlaceOf(w.flow).Lane] != 1 || b.Exceptions != 1 || b.Untold != 1 {
		t.Errorf("at most one of each: %+v", b)
	}
	if other, err := w.Backlog(ctx, w.conn+1, 10); err != nil || other.Pending != [flow.Lanes]int{} {
		t.Errorf("of another connection %+v wait: %v", other, err)
	}
}
