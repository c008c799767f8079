package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// Messages of one sender leave at its rate. A slow machine makes it slower, and nothing faster.
//
// covers: D19
func TestASendersRateIsKept(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		k := c.Connections["simulator"]
		k.Senders = map[string]app.Sender{"Einmal": {Rate: app.Rate(50 * time.Millisecond)}}
		c.Connections["simulator"] = k
		g := start(t, c)
		begun := time.Now()
		var ids []string
		for i := range 20 {
			r := g.post(order(fmt.Sprint("R-", i), "1", "+12025550100"))
			ids = append(ids, r.at("message.id"))
		}
		for _, id := range ids {
			g.await(id, "delivered")
		}
		if took, least := time.Since(begun), 18*50*time.Millisecond; took < least { // two at once, then one every 50 ms
			t.Errorf("20 messages left in %s, at this rate it takes %s", took, least)
		}
	})
}

// A stop holds what waits and says so; what it does not name goes on; what was held goes on once it is lifted.
//
// covers: D19
func TestAStopHoldsUntilItIsLifted(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		stop := g.call(http.MethodPost, "/v1/stops", map[string]any{"purpose": "order_confirmation", "by": "ann", "reason": "wrong text"})
		if stop.Status != http.StatusOK || stop.at("made") != "true" {
			t.Fatalf("%d %s", stop.Status, stop.Raw)
		}
		held := g.post(order("S-1", "1", "+12025550100")).at("message.id")
		g.await(g.post(alert("S-2", "+12025550100")).at("message.id"), "delivered")
		m := g.message(held)
		if m.at("state") != "pending" || m.at("stopped.id") != stop.at("id") || m.at("stopped.by") != "ann" || !strings.Contains(m.at("outlook"), "wrong text") {
			t.Errorf("what is held is shown as %s", m.Raw)
		}
		g.until("the metric of what is held", func() bool {
			return strings.Contains(g.call(http.MethodGet, "/metrics", nil).Raw, `einmal_stopped_flows{connection="simulator"} 1`)
		})
		lifted := g.call(http.MethodDelete, "/v1/stops/"+stop.at("id"), map[string]any{"by": "bob", "reason": "it is right now"})
		if lifted.Status != http.StatusOK || lifted.at("lifted_by") != "bob" {
			t.Errorf("%d %s", lifted.Status, lifted.Raw)
		}
		for reason, want := range map[string]int{"it is right now": http.StatusOK, "another": http.StatusConflict} {
			r := g.call(http.MethodDelete, "/v1/stops/"+stop.at("id"), map[string]any{"by": "bob", "reason": reason})
			if r.Status != want || want == http.StatusOK && r.Raw != lifted.Raw {
				t.Errorf("lifted again since %s: %d %s", reason, r.Status, r.Raw)
			}
		}
		if m := g.await(held, "delivered"); m.at("stopped") != "" {
			t.Errorf("a delivered message is shown as %s", m.Raw)
		}
	})
}
