package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/ground/fault"
)

// Scope is one thing that a key may do.
type Scope string

// The scopes.
const (
	ScopeSend   Scope = "send"   // submit and cancel messages
	ScopeRead   Scope = "read"   // see messages, decisions, receipts, exceptions and events
	ScopeReview Scope = "review" // decide what is held for a person, and what read may
	ScopeAdmin  Scope = "admin"  // everything
)

// AllScopes lists the scopes.
func AllScopes() []Scope { return []Scope{ScopeSend, ScopeRead, ScopeReview, ScopeAdmin} }

// Scopes is what a key may do.
type Scopes []Scope

// ParseScopes reads the stored form, names with spaces between them. Unknown names of a newer release give
// nothing, which is the safe side.
func ParseScopes(s string) Scopes {
	var scopes Scopes
	for _, name := range strings.Fields(s) {
		if slices.Contains(AllScopes(), Scope(name)) {
			scopes = append(scopes, Scope(name))
		}
	}
	return scopes
}

// CheckScopes reads names that a person gave, and names the first that does not exist.
func CheckScopes(names []string) (Scopes, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("give at least one of %s", fault.List(AllScopes()))
	}
	var scopes Scopes
	for _, name := range names {
		if !slices.Contains(AllScopes(), Scope(name)) {
			return nil, fmt.Errorf("not a scope: the scopes are %s", fault.List(AllScopes()))
		}
		if !slices.Contains(scopes, Scope(name)) {
			scopes = append(scopes, Scope(name))
		}
	}
	return scopes, nil
}

// String returns the stored form.
func (s Scopes) String() string {
	names := make([]string, len(s))
	for i, scope := range s {
		names[i] = string(scope)
	}
	return strings.Join(names, " ")
}

// Allow reports whether the scopes cover one.
func (s Scopes) Allow(want Scope) bool {
	return slices.Contains(s, want) || slices.Contains(s, ScopeAdmin) || want == ScopeRead && slices.Contains(s, ScopeReview)
}

// within leaves the scopes that others cover, too: a key's within its user's role. Where both hold everything, that
// stays one word.
func (s Scopes) within(role Scopes) Scopes {
	var both Scopes
	for _, scope := range AllScopes() {
		if s.Allow(scope) && role.Allow(scope) {
			both = append(both, scope)
		}
	}
	return both
}
