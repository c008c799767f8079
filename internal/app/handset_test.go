package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// The simulated handset shows what was sent to it, a code too, and its answer is stored as an inbound message.
//
// covers: D15, R1, X1
func TestTheSimulatedHandset(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		const number = "+12025550120"
		waits := make(chan reply, 1)
		go func() { waits <- g.call(http.MethodGet, "/v1/handset/"+number+"?wait=30s", nil) }()
		r := g.post(map[string]any{
			"to": number, "purpose": "login_code", "event": map[string]any{"id": "login-1", "version": "1"},
			"sender": "4711", "text": "739152 is your code.",
		})
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Raw)
		}
		got := <-waits
		if data := fmt.Sprint(got.Body["data"]); got.Status != 200 || !strings.Contains(data, "739152 is your code.") || !strings.Contains(data, "from:4711") {
			t.Fatalf("%d %s", got.Status, got.Raw)
		}
		answer := g.call(http.MethodPost, "/v1/handset/"+number+"/reply", map[string]any{"text": "thank you"})
		if answer.Status != 200 || answer.at("taken") != "true" || answer.at("to") != "4711" || answer.at("from") != number {
			t.Errorf("%d %s", answer.Status, answer.Raw)
		}
		inbound := 0
		for _, x := range g.call(http.MethodGet, "/v1/receipts", nil).Body["data"].([]any) {
			if x.(map[string]any)["kind"] == "inbound" {
				inbound++
			}
		}
		if inbound != 1 {
			t.Errorf("%d inbound messages are stored, want one", inbound)
		}
		if page := g.call(http.MethodGet, "/handset/"+number, nil); page.Status != 200 || strings.Contains(page.Raw, "739152") {
			t.Errorf("the page itself: %d %s", page.Status, page.Raw)
		}
	})
}
