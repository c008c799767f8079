//go:build services

package app_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/store/storetest"
)

func init() {
	copiers["postgres"] = func(t *testing.T, c app.Config) func() {
		t.Helper()
		u, err := url.Parse(c.Store)
		must(t, err)
		backup := storetest.PostgresDatabase(t)
		to := testConfig(t, backup.String())
		must(t, app.Migrate(t.Context(), to, slog.New(slog.DiscardHandler)))
		storetest.PostgresCopy(t, u, backup)
		return func() { storetest.PostgresRestore(t, u, backup) }
	}
}

// A failover to a server that has everything goes on by itself; one to a server that lags is noticed while the
// gateway runs.
//
// covers: D20, I19
func TestFailover(t *testing.T) {
	c := testConfig(t, storetest.PostgresDatabase(t).String())
	u, err := url.Parse(c.Store)
	must(t, err)
	g := start(t, c)
	g.await(g.post(alert("before", "+12025550100")).at("message.id"), "delivered")
	storetest.PostgresFailover(t, u)
	g.awaitStatus("/readyz", 200)
	g.await(g.post(alert("after", "+12025550100")).at("message.id"), "delivered")
	if r := g.call(http.MethodGet, "/v1/restored", nil); r.at("held") != "false" || r.at("incarnation.n") != "1" {
		t.Errorf("a clean failover stops traffic: %s", r.Raw)
	}
	putBack := copiers["postgres"](t, c)
	g.await(g.post(alert("gap", "+12025550100")).at("message.id"), "delivered")
	putBack()
	g.awaitHeld()
	g.release(t)
	g.await(g.post(alert("on", "+12025550100")).at("message.id"), "delivered")
}

// awaitHeld polls until the store is held.
func (g *gateway) awaitHeld() {
	g.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; <-time.After(50 * time.Millisecond) {
		r := g.call(http.MethodGet, "/v1/restored", nil)
		if r.at("held") == "true" {
			return
		}
		if time.Now().After(end) {
			g.t.Fatalf("a jump while the gateway runs is not noticed: %s", r.Raw)
		}
	}
}

// awaitStatus polls until a path answers with a status.
func (g *gateway) awaitStatus(path string, want int) {
	g.t.Helper()
	for end := time.Now().Add(30 * time.Second); g.call(http.MethodGet, path, nil).Status != want; <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("%s does not answer with %d", path, want)
		}
	}
}
