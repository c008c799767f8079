package app_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// What an operator watches is there when it is scraped: whether the connection is bound, what waits and for what.
func TestGaugesOfAGateway(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		bound := start(t, c)
		bound.await(bound.post(alert("M-1", "+12025550105")).at("message.id"), "unknown")
		bound.await(bound.post(alert("M-2", "+12025550114")).at("message.id"), "accepted")
		bound.shows(`einmal_connection_bound{connection="simulator"} 1`, `einmal_messages_pending{connection="simulator",lane="alert"} 0`,
			"einmal_messages_awaiting_receipt 2", "einmal_messages_unknown 1", "einmal_exceptions_open 0")
		bound.stop()
		c.Connections = map[string]app.Connection{"simulator": {Kind: "smpp", Address: "127.0.0.1:1", Window: 10}} // nobody listens
		unbound := start(t, c)
		unbound.post(alert("M-3", "+12025550100"))
		unbound.shows(`einmal_connection_bound{connection="simulator"} 0`, `einmal_messages_pending{connection="simulator",lane="alert"} 1`,
			"einmal_messages_unknown 1")
	})
}

func (g *gateway) shows(lines ...string) {
	g.t.Helper()
	text := g.call(http.MethodGet, "/metrics", nil).Raw
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			g.t.Errorf("%s is not among the metrics:\n%s", line, strings.Join(regexp.MustCompile(`(?m)^einmal_.*`).FindAllString(text, -1), "\n"))
		}
	}
}

// Every metric of the gateway's own has a row on its page.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	must(t, err)
	g := start(t, testConfig(t, "sqlite"))
	g.await(g.post(alert("M-1", "+12025550106")).at("message.id"), "delivered")
	found := regexp.MustCompile(`(?m)^# TYPE (einmal_\S+)`).FindAllStringSubmatch(g.call(http.MethodGet, "/metrics", nil).Raw, -1)
	if len(found) < 10 {
		t.Fatalf("there are %d metrics", len(found))
	}
	for _, name := range found {
		if !strings.Contains(string(page), "| `"+name[1]+"` |") {
			t.Errorf("docs/metrics.md has no row for %s", name[1])
		}
	}
}
