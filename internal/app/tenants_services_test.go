//go:build services

package app_test

import (
	"fmt"
	"testing"

	"github.com/einmal/einmal/internal/store/storetest"
)

// What is administered through one node is in force on the others within moments: tenants, keys, senders, the team, and
// a suspension.
//
// covers: X5
func TestOtherNodesLearnOfTenants(t *testing.T) {
	c := testConfig(t, storetest.PostgresDatabase(t).String())
	one := start(t, c)
	two := start(t, beside(t, c))
	acme := one.tenant("acme")
	there := two.as(acme.key)
	n := 0
	sends := func(who *gateway, sender string) int {
		n++
		body := alert(fmt.Sprint("A-", n), "+12025550100")
		body["sender"] = sender
		return who.post(body).Status
	}
	if got := sends(there, "Einmal"); got != 201 {
		t.Errorf("a new tenant's key at the other node: %d", got)
	}
	one.expect(201, "POST", "/v1/tenants/acme/senders", `{"sender":"SHOP"}`)
	if got := sends(acme, "SHOP"); got != 201 {
		t.Errorf("at the node that registered it: %d", got)
	}
	two.until("the sender at the other node", func() bool { return sends(there, "SHOP") == 201 && sends(there, "Einmal") == 400 })

	team := acme.keyOf(`{"name":"staging","kind":"team","scopes":["send"]}`)
	teamThere := two.as(team.key)
	if got := sends(teamThere, "SHOP"); got != 403 {
		t.Errorf("a stranger: %d", got)
	}
	acme.expect(201, "POST", "/v1/guests", `{"name":"Tom","phone":"+12025550100"}`)
	two.until("the guest at the other node", func() bool { return sends(teamThere, "SHOP") == 201 })

	one.expect(200, "PATCH", "/v1/tenants/acme", `{"state":"suspended","by":"ann","reason":"unpaid"}`)
	if got := sends(acme, "SHOP"); got != 403 {
		t.Errorf("suspended, at the node that did it: %d", got)
	}
	two.until("the suspension at the other node", func() bool { return sends(there, "SHOP") == 403 })
	there.expect(200, "GET", "/v1/messages", nil)
}
