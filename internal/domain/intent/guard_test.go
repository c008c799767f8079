package intent

import (
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"pgregory.net/rapid"
)

var (
	noFunds   = Guard{Rule: "wallet.balance", Kind: GuardFunds, Result: GuardRefuse, Words: "The balance does not cover it."}
	overLimit = Guard{Rule: "wallet.exposure", Kind: GuardLimit, Result: GuardRefuse, Words: "It is above the limit."}
	ownTeam   = Guard{Rule: "key.team", Kind: GuardTeam, Result: GuardPass}
)

func guarded(r *Request, guards ...Guard) *Request {
	one := *r
	one.Guards = guards
	return &one
}

// A refusal holds nothing, is no message, and says what deduplication would have said; the same request afterwards is
// decided as if it had never been.
//
// covers: D4, D8, I11
func TestRefusalHoldsNothing(t *testing.T) {
	w := newWorld()
	r := seal(&Request{Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s",
		Idempotency: Idempotency{Key: hashed([]byte("k")), Fingerprint: TakeFingerprint(hashed, nil)}}, "text")
	res := w.decide(guarded(r, noFunds, ownTeam, overLimit))[0]
	d := res.Decision
	if res.Kind != Decided || d.Action != Refused || d.Would != Allow || d.Class != NewIntent || d.Reason != ReasonNoEquivalent ||
		d.Rule != overLimit.Rule || !d.Message.ID.IsZero() || d.WindowEnds != 0 {
		t.Errorf("%+v", d)
	}
	if want := []Guard{ownTeam, overLimit}; !slices.Equal(d.Guards, want) || d.Refusal().Kind != GuardLimit {
		t.Errorf("asked %+v, want %+v: in their order, up to the one that refuses", d.Guards, want)
	}
	if len(res.Reserve)+len(w.holders)+len(w.answered) != 0 {
		t.Errorf("a refusal reserved %v", res.Reserve)
	}
	for _, words := range []string{overLimit.Words, "Nothing was reserved or sent.", "it would have been sent", "No message for the same"} {
		if !strings.Contains(d.Explanation, words) {
			t.Errorf("no %q in: %s", words, d.Explanation)
		}
	}
	if d := w.decide(guarded(r, ownTeam))[0].Decision; d.Action != Allow || d.Reason != ReasonNoEquivalent || !slices.Equal(d.Guards, []Guard{ownTeam}) {
		t.Errorf("afterwards: %+v", d)
	}
}

// A replay and a duplicate come before every guard: they are answered with what exists, and no guard is asked.
//
// covers: D8, D13
func TestRepeatsComeBeforeGuards(t *testing.T) {
	w := newWorld()
	r := seal(&Request{Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s",
		Idempotency: Idempotency{Key: hashed([]byte("k")), Fingerprint: TakeFingerprint(hashed, nil)}}, "text")
	first := w.decide(r)[0].Decision
	again := seal(guarded(r, noFunds), "text")
	if res := w.decide(again)[0]; res.Kind != Replayed || res.Decision.ID != first.ID {
		t.Errorf("under its key: %+v", res)
	}
	again.Idempotency = Idempotency{}
	if d := w.decide(again)[0].Decision; d.Action != Suppress || d.Message.ID != first.Message.ID || d.Guards != nil || d.Rule != "order.window" {
		t.Errorf("a duplicate: %+v", d)
	}
}

// Monitor mode concerns deduplication alone: what a guard refuses is refused in it too, and it says that it is a repeat.
//
// covers: X3, D4
func TestGuardsAreEnforcedUnderMonitor(t *testing.T) {
	w := newWorld()
	r := monitored(&Request{Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"})
	first := w.decide(seal(r, "text"))[0].Decision
	refused := seal(guarded(r, noFunds), "text")
	d := w.decide(refused)[0].Decision
	if d.Action != Refused || d.Would != Suppress || d.Class != TechnicalDuplicate || d.Reason != "same_intent_pending" || d.Compared != first.Message.ID ||
		d.Mode != policy.Monitor || !d.Message.ID.IsZero() {
		t.Errorf("%+v", d)
	}
	if strings.Contains(d.Explanation, "was sent") || !strings.Contains(d.Explanation, "only monitored") {
		t.Errorf("it was not sent: %s", d.Explanation)
	}
	if d := w.decide(seal(guarded(r, ownTeam), "text"))[0].Decision; d.Action != Allow || d.Would != Suppress || !slices.Equal(d.Guards, []Guard{ownTeam}) {
		t.Errorf("let through: %+v", d)
	}
}

// Whatever was decided before, a guard that refuses turns an allow into a refusal and leaves all else as it was.
//
// covers: D4, I11
func TestGuardChangesTheAllowedAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for _, r := range rapid.SliceOfN(requests(), 0, 12).Draw(t, "before") {
			w.decide(r)
			if s := some(t, w); s != nil && rapid.Bool().Draw(t, "ends") {
				w.end(s, message.Undelivered)
			}
		}
		r := requests().Draw(t, "request")
		free, kept := w.facts(), w.facts()
		want, got := Decide(r, free), Decide(guarded(r, noFunds), kept)
		if want.Kind == Decided && want.Decision.Action == Allow {
			if got.Decision.Action != Refused || got.Decision.Would != Allow || got.Decision.Class != want.Decision.Class ||
				got.Decision.Reason != want.Decision.Reason || got.Decision.Compared != want.Decision.Compared || len(got.Reserve) != 0 {
				t.Fatalf("%+v", got)
			}
			return
		}
		if got.Kind != want.Kind || got.Decision.Action != want.Decision.Action || got.Decision.Message != want.Decision.Message {
			t.Fatalf("without a guard\n%+v\nwith one\n%+v", want, got)
		}
	})
}
