package message

import (
	"slices"
	"testing"

	"github.com/einmal/einmal/internal/domain/receipt"
)

// The numbers are in databases and the spellings in clients.
//
// covers: D5
func TestStoredNumbersAndSpellings(t *testing.T) {
	want := []string{"held", "declined", "pending", "sending", "accepted", "en_route", "delivered", "undelivered",
		"rejected", "failed", "expired", "replaced", "cancelled", "retry_due", "unknown"}
	var got []string
	for i, s := range States() {
		if int(s) != i+1 {
			t.Errorf("state %d has number %d", i+1, s)
		}
		back, ok := ParseState(s.String())
		if !ok || back != s {
			t.Errorf("%q read back as %d", s, back)
		}
		got = append(got, s.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("states are %q", got)
	}
	for i, name := range []string{"open", "accepted", "rejected", "throttled", "not_sent", "unknown"} {
		if o, ok := ParseOutcome(name); !ok || int(o) != i+1 || o.String() != name {
			t.Errorf("outcome %q is %d", name, o)
		}
	}
	for i, name := range []string{"none", "en_route", "accepted", "unknown", "delivered", "undelivered", "expired"} {
		if d, ok := ParseDelivery(name); !ok || int(d) != i || d.String() != name {
			t.Errorf("delivery %q is %d", name, d)
		}
	}
}

func TestWhatIsNoState(t *testing.T) {
	for _, name := range []string{"", "Delivered", "sent"} {
		if _, ok := ParseState(name); ok {
			t.Errorf("%q is a state", name)
		}
	}
	if s := State(0).String() + State(16).String() + Outcome(0).String() + Delivery(7).String(); s != "" {
		t.Errorf("numbers outside the tables are spelt %q", s)
	}
	if Allowed(0, Pending) || Allowed(99, Pending) || Outcome(0).Definite() || Outcome(9).Definite() {
		t.Error("a number outside the tables moves")
	}
}

// Every spelling of a receipt's reading is a delivery, and both agree on what is final.
//
// covers: R6
func TestReceiptStatesAreDeliveries(t *testing.T) {
	for _, s := range []receipt.State{receipt.EnRoute, receipt.Accepted, receipt.Delivered, receipt.Undelivered, receipt.Expired, receipt.Unknown} {
		d, ok := ParseDelivery(string(s))
		if !ok || d.Final() != s.Final() {
			t.Errorf("receipt state %q is delivery %q, final %v", s, d, d.Final())
		}
	}
}

// covers: D5
func TestWhatMayBeTakenBack(t *testing.T) {
	for _, s := range States() {
		want := s == Held || s == Pending || s == RetryDue
		if CanCancel(s) != want {
			t.Errorf("%s: cancellable %v", s, !want)
		}
		if CanCancel(s) && !Allowed(s, Cancelled) {
			t.Errorf("%s can be cancelled and must not become so", s)
		}
	}
	for _, s := range []State{Declined, Delivered, Replaced, Cancelled} {
		for _, to := range States() {
			if Allowed(s, to) {
				t.Errorf("%s moves to %s", s, to)
			}
		}
	}
	if got := Before(Replaced); !slices.Equal(got, []State{Pending}) {
		t.Errorf("replaced may follow %v", got)
	}
}

func TestCanBeFinal(t *testing.T) {
	for _, s := range States() {
		open := s == Held || s == Pending || s == Sending || s == EnRoute || s == RetryDue
		if CanBeFinal(s) == open {
			t.Errorf("%s: can be final %v", s, !open)
		}
	}
}

// Every state but the beginnings is reached from another.
func TestEveryStateIsReached(t *testing.T) {
	for _, s := range States() {
		if s != Held && len(Before(s)) == 0 {
			t.Errorf("nothing leads to %s", s)
		}
	}
}
