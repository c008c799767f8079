package exception

import (
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/ident"
)

var all = []State{Open, Attached, Dismissed, Reread, Settled}

// An exception is resolved once, and each state has a spelling of its own.
//
// covers: R6
func TestStates(t *testing.T) {
	for i, from := range all {
		if got, ok := ParseState(from.String()); !ok || got != from {
			t.Errorf("%q was read as %d", from, got)
		}
		if int(from) != i+1 {
			t.Errorf("%s has the number %d: numbers are stored", from, from)
		}
		for _, to := range all {
			if Allowed(from, to) != (from == Open && to != Open) {
				t.Errorf("%s to %s: %v", from, to, Allowed(from, to))
			}
		}
	}
	if _, ok := ParseState(""); ok || State(0).String() != "" || State(99).String() != "" || Allowed(99, Open) || Allowed(0, Open) {
		t.Error("a number or a word that is no state is taken for one")
	}
}

// What each kind can be resolved by, while it is open.
//
// covers: R6
func TestPermitted(t *testing.T) {
	every := []Action{Attach, Dismiss, ReRead}
	for name, c := range map[string]struct {
		x    Exception
		want []Action
	}{
		"a receipt":                 {Exception{Kind: Unmatched, Receipt: ident.Receipt{1}, State: Open}, every},
		"an answer":                 {Exception{Kind: Conflicting, Event: 3, State: Open}, []Action{Attach, Dismiss}},
		"an answer without event":   {Exception{Kind: Conflicting, State: Open}, []Action{Dismiss}},
		"missing receipts":          {Exception{Kind: Missing, Event: 5, State: Open}, []Action{Dismiss}},
		"one that is resolved":      {Exception{Kind: Unmatched, Receipt: ident.Receipt{1}, State: Dismissed}, nil},
		"a kind of a later release": {Exception{Kind: "later", State: Open}, nil},
	} {
		if got := c.x.Permitted(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for a, s := range Actions {
		if !Allowed(Open, s) {
			t.Errorf("%s leads to %s, which the table does not have", a, s)
		}
	}
	if n := strings.Count(Document(), " --> "); n != 5 {
		t.Errorf("%d moves are drawn, want the beginning and four", n)
	}
}
