package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// counting is a store that counts how often it is asked to count.
type counting struct {
	asked, most int
	err         error
}

func (c *counting) Backlog(_ context.Context, _ int64, most int) (store.Backlog, error) {
	c.asked, c.most = c.asked+1, most
	return store.Backlog{Pending: [5]int{c.asked, 0, 7}, Awaited: 4, Unknown: 2, Exceptions: 3, Untold: 6, Dead: 5}, c.err
}

// However often the metrics are scraped, the store counts once in ten seconds, and up to a bound. What it cannot count
// is missing, and the rest is not.
func TestGaugesCountOnceInAWhile(t *testing.T) {
	s, status, now := &counting{}, "bound", time.Unix(1, 0)
	g := newGauges(s, func() []gauged { return []gauged{{1, "carrier", status}, {2, "other", "disabled"}} }, func() bool { return false }, slog.New(slog.DiscardHandler))
	metrics := telemetry.NewMetrics()
	metrics.Register(g)
	g.now = func() time.Time { return now }
	shows := func(lines ...string) {
		t.Helper()
		answer := httptest.NewRecorder()
		metrics.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		text := answer.Body.String()
		for _, line := range lines {
			gone, absent := strings.CutPrefix(line, "no ")
			if strings.Contains(text, gone) == absent {
				t.Errorf("want %s in\n%s", line, text)
			}
		}
	}
	for range 3 {
		shows(`einmal_connection_bound{connection="carrier"} 1`, `einmal_messages_pending{connection="carrier",lane="authentication"} 1`,
			`einmal_messages_pending{connection="carrier",lane="confirmation"} 7`, "einmal_messages_unknown 2", "einmal_exceptions_open 3", "einmal_traffic_held 0",
			"einmal_webhook_deliveries_waiting 6", "einmal_webhook_deliveries_dead 5", `einmal_connection_bound{connection="other"} 0`, `einmal_messages_pending{connection="other",lane="authentication"} 2`)
	}
	if s.asked != 2 || s.most != countedTo {
		t.Errorf("the store counted %d times, up to %d", s.asked, s.most)
	}
	now, status = now.Add(countEvery), "paused: refused"
	shows(`einmal_connection_bound{connection="carrier"} 0`, `{connection="carrier",lane="authentication"} 3`)
	now, s.err = now.Add(countEvery), errors.New("down")
	shows("einmal_connection_bound", "no einmal_messages_pending", "no einmal_exceptions_open")
	shows("no einmal_messages_pending")
	if s.asked != 5 {
		t.Errorf("a store that is down was asked %d times", s.asked)
	}
}
