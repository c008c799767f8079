package outbound

import (
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
)

func pays(ok bool) Guard {
	return func(_ *Submission, r *intent.Request) (intent.Guard, bool) {
		said := intent.Guard{Rule: "wallet.balance", Kind: intent.GuardFunds, Result: intent.GuardPass}
		if !ok {
			said.Result, said.Words = intent.GuardRefuse, "The balance does not cover it."
		}
		return said, r.To.E164() == number
	}
}

// A guard's refusal is an answer and no fault: recorded, counted, without a message, and nothing waits for it. A repeat
// of what was made before is answered with the message all the same.
//
// covers: D4, D8, D13, I11
func TestRefusedByAGuard(t *testing.T) {
	ok := false
	b := newBench(t, oneWriter, func(c *Config) {
		c.Guards = []Guard{func(s *Submission, r *intent.Request) (intent.Guard, bool) { return pays(ok)(s, r) }}
	})
	sub := keyed(order("G-1"), "g1")
	sub.Guards = []intent.Guard{{Rule: "key.team", Kind: intent.GuardTeam, Result: intent.GuardPass}}
	dry := sub
	dry.DryRun, dry.IdempotencyKey = true, ""
	for _, s := range []Submission{sub, dry} {
		a := b.submit(s)
		if d := a.Decision; d.Action != intent.Refused || d.Refusal().Kind != intent.GuardFunds || len(d.Guards) != 2 || !d.Message.ID.IsZero() || a.Awaited() {
			t.Errorf("dry run %t: %+v", s.DryRun, d)
		}
	}
	if n := b.store.reserved(); n != 1 || b.woken.Load() != 0 { // the decision
		t.Errorf("%d things are kept of a refusal, woken %d times", n, b.woken.Load())
	}
	if n := b.counters()["einmal_refusals_total funds order wallet.balance"]; n != 1 {
		t.Errorf("%v refusals were counted", n)
	}
	ok = true
	first := b.submit(sub)
	ok = false
	if again := b.submit(sub); first.Decision.Action != intent.Allow || !again.Replayed || again.Decision.ID != first.Decision.ID {
		t.Errorf("first %+v, replayed %+v", first.Decision, again.Decision)
	}
	unnamed := order("")
	unnamed.Purpose, unnamed.Event = "", intent.Event{}
	if a := b.submit(unnamed); a.Decision.Action != intent.Refused || a.Awaited() {
		t.Errorf("what names no purpose: %+v", a)
	}
}
