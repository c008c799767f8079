package message

import (
	"slices"
	"testing"
)

// What is not finished is told as unknown, the rest as it is. Every stored state is found under what it is told as, and
// under nothing else.
//
// covers: D20
func TestToldWhileHeld(t *testing.T) {
	for s, want := range map[State][]State{
		Unknown: {Pending, Sending, RetryDue, Unknown}, Pending: nil, Sending: nil, RetryDue: nil, Held: {Held}, Delivered: {Delivered},
	} {
		if got := ToldAs(s); !slices.Equal(got, want) {
			t.Errorf("as %s these are told: %v, want %v", s, got, want)
		}
	}
	total := 0
	for _, s := range States() {
		total += len(ToldAs(s))
		if !slices.Contains(ToldAs(s.WhileHeld()), s) {
			t.Errorf("%s is not among what is told as %s", s, s.WhileHeld())
		}
	}
	if total != len(States()) {
		t.Errorf("%d states are found, want %d", total, len(States()))
	}
}
