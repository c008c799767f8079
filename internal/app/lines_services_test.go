//go:build services

package app_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
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
	one.becomes("carrier_b", "disabled")
	two.becomes("carrier_b", "disabled")
	if n := other.Bound("einmal"); n != 0 {
		t.Errorf("the carrier has %d binds", n)
	}
	if got := len(other.took()); got != 2 {
		t.Errorf("the carrier took %d messages", got)
	}
}

// A connection is disabled through one node while messages come in through two: none is left waiting for it, and each is
// accepted once.
//
// covers: X5, I3, I6
func TestNothingIsLeftBehindOnAnyNode(t *testing.T) {
	c := testConfig(t, storetest.PostgresDatabase(t).String())
	one, other := start(t, c), newCarrier(t)
	second := beside(t, c)
	k := second.Connections["simulator"]
	k.Ledger = filepath.Join(t.TempDir(), "ledger")
	second.Connections = map[string]app.Connection{"simulator": k}
	two := start(t, second)
	one.does(201, "POST", "/v1/connections", `{"name":"carrier_b","settings":`+other.settings(`,"binds":2`)+`}`)
	one.does(200, "PUT", "/v1/routes", `{"version":0,"rules":[{"use":["carrier_b","simulator"]}]}`)
	loads := []*flood{one.flood(1000), two.flood(5000)}
	one.until("messages over the carrier", func() bool { return len(other.took()) > 50 })
	one.does(200, "PATCH", "/v1/connections/carrier_b", `{"enabled":false}`)
	for _, g := range []*gateway{one, two} {
		g.becomes("carrier_b", "disabled")
		before := g.accepts()
		g.until("messages over the simulator", func() bool { return g.accepts() > before+20 })
	}
	for _, load := range loads {
		load.stop()
		load.done.Wait()
		for _, id := range load.sent {
			load.g.await(id, "delivered")
		}
		load.end(other.took(), acceptedIn(t, one.cfg.Connections["simulator"].Ledger), acceptedIn(t, k.Ledger))
	}
}
