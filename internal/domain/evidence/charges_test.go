package evidence

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
)

// paid: whoever opens a part finds its charge held.
func (w *walk) paid(t *rapid.T, owed []uint16) {
	charges := w.c.Charges()
	for _, part := range owed {
		if got := charges[wallet.Part{Attempt: w.c.NextAttempt(part), Part: part}]; got != wallet.Held {
			t.Fatalf("part %d is to be sent, and its charge is %q: %+v", part, got, charges)
		}
	}
}

// money: a charge is settled where the provider took the attempt, released where it certainly did not, and held where
// nobody knows or something may still leave.
func (w *walk) money(t *rapid.T) {
	charges := w.c.Charges()
	unknown := 0
	for _, a := range w.c.Attempts {
		part := wallet.Part{Attempt: a.Attempt, Part: a.Part}
		want := wallet.Held
		switch {
		case a.Outcome == message.OutcomeAccepted:
			want = wallet.Settled
		case a.Outcome.Definite():
			want = wallet.Released
		default:
			unknown++
		}
		if charges[part] != want {
			t.Fatalf("%+v is %q, want %q", a, charges[part], want)
		}
		delete(charges, part)
	}
	for part, s := range charges { // of what is not opened yet
		if s != wallet.Held || part.Attempt != w.c.NextAttempt(part.Part) || w.c.Final || !w.c.toBeSent() && (unknown == 0 || w.c.State != message.Unknown) {
			t.Fatalf("%+v is %q of a message that is %s (final: %t)", part, s, w.c.State, w.c.Final)
		}
	}
}

func charged(t *testing.T, c *Case, want map[wallet.Part]wallet.State) {
	t.Helper()
	if got := c.Charges(); !maps.Equal(got, want) {
		t.Errorf("a message that is %s has the charges %v, want %v", c.State, got, want)
	}
}

// covers: M4, I10
func TestChargesFollowTheAttempts(t *testing.T) {
	p := func(attempt, part uint16) wallet.Part { return wallet.Part{Attempt: attempt, Part: part} }
	c := pending()
	c.Parts = 2
	charged(t, c, map[wallet.Part]wallet.State{p(1, 1): wallet.Held, p(1, 2): wallet.Held})
	c.claim(made)
	c.open(1)
	charged(t, c, map[wallet.Part]wallet.State{p(1, 1): wallet.Held, p(1, 2): wallet.Held})
	learned(t, c, Evidence{Kind: Outcome, Attempt: 1, Part: 1, Outcome: message.OutcomeThrottled})
	charged(t, c, map[wallet.Part]wallet.State{p(1, 1): wallet.Released, p(2, 1): wallet.Held, p(1, 2): wallet.Held})
	c.claim(made + 10*second)
	c.open(1)
	learned(t, c, Evidence{Kind: Outcome, Attempt: 2, Part: 1, Outcome: message.OutcomeUnknown})
	charged(t, c, map[wallet.Part]wallet.State{p(1, 1): wallet.Released, p(2, 1): wallet.Held, p(1, 2): wallet.Held})
	if err := c.Apply(Evidence{Kind: ReceiptTimeEnded}, receipts); err != nil || !c.Final {
		t.Fatalf("%v, final %t", err, c.Final)
	}
	charged(t, c, map[wallet.Part]wallet.State{p(1, 1): wallet.Released, p(2, 1): wallet.Held})
}

// learned applies evidence that has to be taken.
func learned(t *testing.T, c *Case, e Evidence) {
	t.Helper()
	if err := c.Apply(e, made+second); err != nil {
		t.Fatal(err)
	}
}
