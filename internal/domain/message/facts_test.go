package message

import (
	"testing"

	"pgregory.net/rapid"
)

func anyOutcome() *rapid.Generator[Outcome] {
	return rapid.Map(rapid.Uint8Range(1, 6), func(n uint8) Outcome { return Outcome(n) })
}

func anyDelivery() *rapid.Generator[Delivery] {
	return rapid.Map(rapid.Uint8Range(0, 6), func(n uint8) Delivery { return Delivery(n) })
}

// The first definite outcome stays, and every different one after it is a conflict.
func TestFirstDefiniteOutcomeStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have, first := OutcomeOpen, Outcome(0)
		for _, learned := range rapid.SliceOf(anyOutcome()).Draw(t, "learned") {
			next, conflict := Merge(have, learned)
			if conflict != (first != 0 && learned.Definite() && learned != first) {
				t.Fatalf("%s, then %s: conflict %v", have, learned, conflict)
			}
			if first == 0 && learned.Definite() {
				first = learned
			}
			switch {
			case first != 0 && next != first:
				t.Fatalf("%s moved from its first definite outcome %s", next, first)
			case first == 0 && learned == OutcomeUnknown && next != OutcomeUnknown:
				t.Fatalf("unknown was not taken: %s", next)
			case have != OutcomeOpen && next == OutcomeOpen:
				t.Fatalf("%s became open again", have)
			}
			have = next
		}
	})
}

// covers: R6
func TestFinalDeliveryNeverMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := DeliveryNone
		for _, reported := range rapid.SliceOf(anyDelivery()).Draw(t, "reported") {
			next, effect := Apply(have, reported)
			if have.Final() && next != have {
				t.Fatalf("%s moved to %s", have, next)
			}
			if (effect == Applied) != (next != have) {
				t.Fatalf("%s, then %s: %s, and now %s", have, reported, effect, next)
			}
			if reported.Final() && !have.Final() && next != reported {
				t.Fatalf("final %s was not taken", reported)
			}
			have = next
		}
	})
}

// Reports that are not final lead to the same delivery whatever their order.
//
// covers: R8
func TestIntermediateOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reports := rapid.SliceOf(rapid.SampledFrom([]Delivery{DeliveryUnknown, DeliveryAccepted, DeliveryEnRoute})).Draw(t, "reports")
		end := func(order []Delivery) (d Delivery) {
			for _, r := range order {
				d, _ = Apply(d, r)
			}
			return d
		}
		if a, b := end(reports), end(rapid.Permutation(reports).Draw(t, "order")); a != b {
			t.Fatalf("%v: %s or %s", reports, a, b)
		}
	})
}

// covers: R6, R10
func TestEffects(t *testing.T) {
	for _, c := range []struct {
		have, reported Delivery
		want           Effect
	}{
		{DeliveryNone, DeliveryEnRoute, Applied},
		{DeliveryAccepted, DeliveryEnRoute, Applied},
		{DeliveryEnRoute, DeliveryAccepted, Unmoved},
		{DeliveryEnRoute, DeliveryUnknown, Unmoved},
		{DeliveryEnRoute, DeliveryEnRoute, Unmoved},
		{DeliveryUnknown, DeliveryDelivered, Applied},
		{DeliveryDelivered, DeliveryDelivered, Repeated},
		{DeliveryDelivered, DeliveryEnRoute, Late},
		{DeliveryDelivered, DeliveryUnknown, Late},
		{DeliveryDelivered, DeliveryUndelivered, Conflicting},
		{DeliveryExpired, DeliveryDelivered, Conflicting},
		{DeliveryDelivered, DeliveryNone, Unmoved},
	} {
		if _, got := Apply(c.have, c.reported); got != c.want {
			t.Errorf("%s, then %s: %s, want %s", c.have, c.reported, got, c.want)
		}
	}
}
