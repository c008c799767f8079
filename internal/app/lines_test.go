package app_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// simulated is a connection to a simulator with a ledger of its own.
func simulated(t *testing.T, name string) app.Connection {
	t.Helper()
	c, err := app.Load("", app.Flags{Ledger: filepath.Join(t.TempDir(), name)})
	must(t, err)
	k := c.Connections["simulator"]
	k.ResponseTimeout = app.Duration(2 * time.Second)
	return k
}

// withLines is a configuration with a simulator for each name, and routes among them.
func withLines(t *testing.T, c app.Config, routes []app.Route, names ...string) app.Config {
	t.Helper()
	c.Connections, c.Routes = map[string]app.Connection{}, routes
	for _, name := range names {
		c.Connections[name] = simulated(t, name)
	}
	return c
}

// took lists the destinations that a line's simulator accepted.
func (g *gateway) took(name string) map[string]int {
	g.t.Helper()
	return acceptedIn(g.t, g.cfg.Connections[name].Ledger)
}

// Each message leaves over the connection of the first route that fits it, once, and names it. A repeat is answered with
// the message that exists.
//
// covers: X5, D7, D14
func TestRoutes(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		routes := []app.Route{
			{Purpose: "alert", Prefix: "49", Use: []string{"german"}},
			{Purpose: "alert", Sender: "SHOP", Use: []string{"shop"}},
			{Tenant: "nobody", Use: []string{"german"}},
			{Tenant: "default", Prefix: "33", Use: []string{"german", "shop"}},
			{Use: []string{"rest"}},
		}
		g := start(t, withLines(t, c, routes, "german", "shop", "rest"))
		for to, over := range map[string]string{"+4915112345600": "german", "+12025550100": "rest", "+33612345600": "german", "+12025550200": "shop"} {
			body := alert("to "+to, to)
			if over == "shop" {
				body["sender"] = "SHOP"
			}
			first := g.post(body)
			if again := g.post(body); first.Status != http.StatusCreated || again.at("message.id") != first.at("message.id") || again.at("decision.action") != "suppress" || again.at("simulated") != "true" {
				t.Errorf("%s: %s, then %s", to, first.Raw, again.Raw)
			}
			m := g.await(first.at("message.id"), "delivered")
			if attempts, _ := m.Body["attempts"].([]any); m.at("connection") != over || len(attempts) != 1 || attempts[0].(map[string]any)["connection"] != over {
				t.Errorf("%s: %s, want it over %s", to, m.Raw, over)
			}
			if d := g.call("GET", "/v1/decisions/"+m.at("decision"), nil); d.at("connection") != over {
				t.Errorf("%s: its decision says %s", to, d.Raw)
			}
			if got := g.took(over)[to[1:]]; got != 1 {
				t.Errorf("%s: accepted %d times over %s", to, got, over)
			}
		}
	})
}

// Receipts come back over whichever bind of the carrier: two connections that share an id space know each other's
// message ids, and one that does not keeps to its own.
//
// covers: R4, I13
func TestReceiptsOverTheOtherConnection(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		centres, all := map[string]*centre{}, map[string]app.Connection{}
		for _, name := range []string{"a", "b", "stranger"} {
			centres[name] = newCentre(t, &c, func(k *app.Connection) {
				if name == "b" {
					k.IDSpace = "a"
				}
			})
			all[name] = c.Connections["carrier"]
		}
		c.Connections, c.Receipts.Grace = all, app.Duration(3*time.Second)
		c.Routes = []app.Route{{Use: []string{"a", "b", "stranger"}}}
		g := start(t, c)
		for _, name := range []string{"a", "b", "stranger"} {
			g.becomes(name, "bound")
		}
		first, submit := g.sent(centres["a"], "+12025550100", "ID-1")
		centres["b"].receipt(submit, says("ID-1", "DELIVRD"))
		g.await(first, "delivered")
		second, submit := g.sent(centres["a"], "+12025550101", "ID-2")
		centres["stranger"].receipt(submit, says("ID-2", "DELIVRD"))
		g.until("an exception about the stranger's receipt", func() bool {
			return strings.Contains(g.call("GET", "/v1/exceptions?connection=stranger&state=open", nil).Raw, "unmatched")
		})
		if m := g.message(second); m.at("state") != "accepted" {
			t.Errorf("by a receipt of another carrier it is %s", m.at("state"))
		}
	})
}
