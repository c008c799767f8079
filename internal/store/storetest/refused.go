package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var refusing = []intent.Guard{
	{Rule: "key.team", Kind: intent.GuardTeam, Result: intent.GuardPass},
	{Rule: "wallet.balance", Kind: intent.GuardFunds, Result: intent.GuardRefuse, Words: "The balance does not cover it."},
}

// testRefused checks that a refusal is recorded with what guards and deduplication said, and leaves nothing else: not
// the intent's key, not the client's, and no message (I11).
//
// covers: D4, D8, D13, I11
func testRefused(t *testing.T, h Harness) {
	w := newWorld(t, h)
	want := ask{event: "R-1", version: "1", to: 11, idempotency: "r1"}
	refused := want
	refused.change = func(r *intent.Request) { r.Guards = refusing }
	subs := []store.Submission{w.submission(refused), w.submission(refused)}
	out, err := w.Decide(context.Background(), subs, intent.Decide)
	must(t, err)
	for i := range out {
		stored, err := w.Store.Decision(context.Background(), w.tenant, subs[i].Decision)
		must(t, err)
		if out[i].Err != nil || stored.Action != intent.Refused || stored.Would != intent.Allow || stored.Reason != intent.ReasonNoEquivalent ||
			stored.Rule != "wallet.balance" || !stored.Message.ID.IsZero() || stored.Explanation != out[i].Decision.Explanation || stored.Refusal().Kind != intent.GuardFunds {
			t.Errorf("refusal %d is stored as %+v", i, stored)
		}
		if said := stored.Guards; len(said) != 2 || said[0].Rule != "key.team" || said[0].Result != intent.GuardPass || said[1].Kind != intent.GuardFunds {
			t.Errorf("the guards are stored as %+v", said)
		}
	}
	w.counts(0, 2)
	first := w.decide(want)[0]
	if first.Kind != intent.Decided || first.Decision.Action != intent.Allow || first.Decision.Reason != intent.ReasonNoEquivalent {
		t.Fatalf("the same request under the same key afterwards: %+v", first.Result)
	}
	if again := w.decide(refused)[0]; again.Kind != intent.Replayed || again.Decision.ID != first.Decision.ID {
		t.Errorf("a replay met a guard: %+v", again.Result)
	}
	refused.idempotency = ""
	if d := w.decide(refused)[0].Decision; d.Action != intent.Suppress || d.Message.ID != first.Decision.Message.ID || len(d.Guards) != 0 {
		t.Errorf("a duplicate met a guard: %+v", d)
	}
	w.counts(1, 4)
	about, err := w.Decisions(context.Background(), w.tenant, first.Decision.Message.ID, store.Page{Limit: 10})
	must(t, err)
	if slices.ContainsFunc(about, func(d *store.Decision) bool { return d.Action == intent.Refused }) {
		t.Error("a refusal made no message, and is listed with one")
	}
	w.refusedUnderMonitor(refused, first.Decision.Message.ID)
}

// refusedUnderMonitor asks for the message's intent again where repeats are let through, and for a dry run of that.
func (w *world) refusedUnderMonitor(refused ask, first ident.Message) {
	w.t.Helper()
	refused.change = func(r *intent.Request) { r.Guards, r.Purpose.Mode = refusing, policy.Monitor }
	dry, err := w.Preview(context.Background(), w.submission(refused), intent.Decide)
	must(w.t, err)
	for _, d := range []intent.Decision{w.decide(refused)[0].Decision, dry.Decision} {
		if d.Action != intent.Refused || d.Would != intent.Suppress || d.Class != intent.TechnicalDuplicate || d.Compared != first {
			w.t.Errorf("under monitor: %+v", d)
		}
	}
	w.counts(1, 5)
}

// testLostRefusal loses the answer to the commit of a refusal: made again it is the same, and recorded once.
//
// covers: I11
func testLostRefusal(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return // the embedded engine has no connection that could be lost
	}
	for _, committed := range []bool{true, false} {
		f := h.Fragile(t)
		w := worldOn(t, h, f)
		sub := w.submission(ask{event: "LR", version: "1", to: 12, idempotency: "lr", change: func(r *intent.Request) { r.Guards = refusing }})
		f.Arm(committed)
		out, err := w.Decide(context.Background(), []store.Submission{sub}, intent.Decide)
		must(t, err)
		if f.Cut() != 1 {
			t.Fatal("no commit was broken: the test proves nothing")
		}
		if d := out[0].Decision; d.ID != sub.Decision || d.Action != intent.Refused || d.Refusal().Kind != intent.GuardFunds {
			t.Errorf("committed %t: %+v", committed, out[0].Result)
		}
		w.counts(0, 1)
	}
}
