package flow

import "testing"

// covers: D19
func TestScopes(t *testing.T) {
	at := Place{Connection: 1, Lane: 4, Tenant: 2}
	for _, c := range []struct {
		scope Scope
		holds bool
	}{
		{Scope{}, true}, {Scope{Connection: 1}, true}, {Scope{Connection: 2}, false}, {Scope{Tenant: 2}, true}, {Scope{Tenant: 1}, false},
		{Scope{Purpose: "sale"}, true}, {Scope{Purpose: "news"}, false}, {Scope{1, 2, "sale"}, true}, {Scope{1, 2, "news"}, false}, {Scope{1, 3, "sale"}, false},
	} {
		if got := c.scope.Holds(at, "sale"); got != c.holds {
			t.Errorf("%+v holds it: %v, want %v", c.scope, got, c.holds)
		}
	}
}
