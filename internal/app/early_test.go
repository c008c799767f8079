package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// A receipt that overtakes the answer is acknowledged at once and applied when the answer brings its id.
//
// covers: C22, R2, R4, R5
func TestReceiptBeforeItsAnswer(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, nil)
		g := start(t, c)
		id := g.post(alert("C22", "+12025550143")).at("message.id")
		submit := m.next()
		m.receipt(submit, says("X9", "DELIVRD"))
		m.acks(1)
		g.until("the receipt to wait", func() bool {
			return g.counted(`einmal_receipts_total{connection="carrier",effect="waiting",simulated="false"}`, "1")
		})
		if v := g.message(id); v.at("state") != "sending" {
			t.Errorf("before the answer the message is %s", v.Raw)
		}
		m.accept(submit, "X9")
		g.await(id, "delivered")
		if x := g.rows("/v1/exceptions"); len(x) != 0 {
			t.Errorf("people are told of %v", x)
		}
	})
}

// A receipt without any submission waits for its time and goes to a person. It is looked at twice, not again and
// again, and no tenant hears of it.
//
// covers: C22, R4, R5, R6, I13
func TestReceiptOfNothing(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{}))
		c.Receipts.Grace = app.Duration(2 * time.Second)
		g := start(t, c)
		id, submit := g.sent(m, "+12025550143", "X9")
		m.receipt(submit, says("X9", "DELIVRD"))
		g.await(id, "delivered")
		g.until("the feed", func() bool { return strings.Contains(g.feed(), "delivered") })
		feed, timeline := g.feed(), g.timeline(id)
		since := time.Now()
		m.receipt(submit, says("NEVER", "UNDELIV"))
		m.acks(2)
		x := g.open("unmatched", 1)[0]
		if waited := time.Since(since); waited < 2*time.Second {
			t.Errorf("a person was told after %s", waited)
		}
		if x["message"] != nil || x["connection"] != "carrier" || x["receipt"] == nil {
			t.Errorf("the exception is %v", x)
		}
		if g.feed() != feed || g.timeline(id) != timeline {
			t.Errorf("a tenant hears of it: %s", g.feed())
		}
		for effect, n := range map[string]string{"waiting": "1", "exception": "1", "applied": "1"} {
			if !g.counted(`einmal_receipts_total{connection="carrier",effect="`+effect+`",simulated="false"}`, n) {
				t.Errorf("it was settled more than twice: %s is not %s", effect, n)
			}
		}
	})
}

// counted reports whether a metric has this value.
func (g *gateway) counted(metric, value string) bool {
	g.t.Helper()
	return strings.Contains(g.call(http.MethodGet, "/metrics", nil).Raw, "\n"+metric+" "+value+"\n")
}

// A carrier that documents that a delivery may come after an expiry is believed; the other way round is a conflict, for
// a person.
//
// covers: R6, R9
func TestDeliveryAfterAnExpiry(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{
			Corrections: []app.Correction{{From: "expired", To: "delivered"}}, Confirmed: app.Confirmed{By: "ops", On: "2026-11-01", Source: "manual 4.2"},
		}))
		g := start(t, c)
		id, submit := g.sent(m, "+12025550143", "E1")
		m.receipt(submit, says("E1", "EXPIRED"))
		g.await(id, "expired")
		m.receipt(submit, says("E1", "DELIVRD"))
		g.until("the correction", func() bool { return g.message(id).at("state") == "delivered" }) // expired is final
		if line := g.timeline(id); !strings.Contains(line, `"effect":"corrected"`) || !strings.Contains(line, "It replaces expired") {
			t.Errorf("the timeline is %s", line)
		}
		if len(g.rows("/v1/exceptions")) != 0 {
			t.Error("a person is told of it")
		}
		m.receipt(submit, says("E1", "UNDELIV"))
		if x := g.open("conflicting", 1)[0]; x["message"] != id || g.message(id).at("state") != "delivered" {
			t.Errorf("the exception is %v, the message %s", x, g.message(id).Raw)
		}
	})
}
