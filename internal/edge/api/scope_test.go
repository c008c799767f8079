package api

import "testing"

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		have string
		want Scope
		ok   bool
	}{
		{"send", ScopeSend, true}, {"send", ScopeRead, false}, {"read", ScopeSend, false}, {"review", ScopeRead, true}, {"review", ScopeSend, false},
		{"admin", ScopeSend, true}, {"admin", ScopeReview, true}, {"send read", ScopeAdmin, false}, {"", ScopeRead, false}, {"root", ScopeRead, false},
	} {
		if got := ParseScopes(c.have).Allow(c.want); got != c.ok {
			t.Errorf("%q %s: %v", c.have, c.want, got)
		}
	}
	if s, err := CheckScopes([]string{"send", "read", "send"}); err != nil || s.String() != "send read" {
		t.Error(s, err)
	}
	for _, bad := range [][]string{nil, {"sned"}} {
		if _, err := CheckScopes(bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
