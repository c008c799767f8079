//go:build services

package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/store/storetest"
)

// What is administered through one node is in force on every other within three seconds: the connection runs there, and
// messages that it takes follow the routes.
//
// covers: X5
func TestOtherNodesFollow(t *testing.T) {
	c := testConfig(t, storetest.PostgresDatabase(t).String())
	one, other := start(t, c), newCarrier(t)
	two := start(t, beside(t, c))
	within := func(what string, there func() bool) {
		t.Helper()
		for end := time.Now().Add(3 * time.Second); !there(); <-time.After(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("after three seconds still waiting for %s", what)
			}
		}
	}
	one.does(201, "POST", "/v1/connections", `{"name":"carrier_b","settings":`+other.settings(`,"binds":2`)+`}`)
	within("the connection to run on the other node", func() bool {
		return two.call("GET", "/v1/connections/carrier_b", nil).at("state") == "bound"
	})
	two.does(200, "PUT", "/v1/routes", `{"version":0,"rules":[{"prefix":"1202","use":["carrier_b"]},{"use":["simulator"]}]}`)
	within("the routes to be those of the first node", func() bool { return one.call("GET", "/v1/routes", nil).at("version") == "1" })
	for n, g := range []*gateway{one, two} {
		if m := g.await(g.post(alert(g.Addr(), []string{"+12025550100", "+12025550115"}[n])).at("message.id"), "delivered"); m.at("connection") != "carrier_b" {
			t.Errorf("over %s", m.at("connection"))
		}
	}
	two.does(200, "PATCH", "/v1/connections/carrier_b", `{"settings":{"window":7}}`)
	within("the other settings", func() bool {
		return strings.Contains(one.call("GET", "/v1/connections/carrier_b", nil).Raw, `"window":7`)
	})
	two.does(200, "PATCH", "/v1/connections/carrier_b", `{"enabled":false}`)
	within("it to be closed", func() bool {
		return one.call("GET", "/v1/connections/carrier_b", nil).at("state") == "disabled" && other.Bound("einmal") == 0
	})
	if got := len(other.took()); got != 2 {
		t.Errorf("the carrier took %d messages", got)
	}
}
