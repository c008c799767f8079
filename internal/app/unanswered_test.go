package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// impatience is a log that hears of decisions before their answer is written, and holds that up, once the last of a
// request is made, until the caller has gone away.
type impatience struct {
	slog.Handler
	open    atomic.Int32 // so many decisions are to come
	decided chan struct{}
}

func newImpatience() *impatience {
	return &impatience{Handler: slog.DiscardHandler, decided: make(chan struct{})}
}

func (h *impatience) Enabled(context.Context, slog.Level) bool { return true }
func (h *impatience) WithAttrs([]slog.Attr) slog.Handler       { return h }

func (h *impatience) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "decided" && h.open.Add(-1) == 0 {
		h.decided <- struct{}{}
		<-ctx.Done()
	}
	return nil
}

// hangUp posts a request of n messages and closes the connection when it is decided on and not answered.
func (g *gateway) hangUp(h *impatience, n int32, path string, body any) {
	g.t.Helper()
	text, err := json.Marshal(body)
	must(g.t, err)
	req, err := http.NewRequest(http.MethodPost, "http://"+g.Addr()+path, bytes.NewReader(text))
	must(g.t, err)
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Content-Type", "application/json")
	conn, err := net.Dial("tcp", g.Addr())
	must(g.t, err)
	h.open.Store(n)
	must(g.t, req.Write(conn))
	<-h.decided
	must(g.t, conn.Close())
}

// onlyTo is the one message to a number.
func (g *gateway) onlyTo(number string) string {
	g.t.Helper()
	rows := g.rows("/v1/messages?to=%2B" + number)
	if len(rows) != 1 {
		g.t.Fatalf("the messages to it are %v", rows)
	}
	return rows[0]["id"].(string)
}

// A caller who hangs up in the middle of a request asks again, and is told of the message that it has made: nothing is
// sent a second time, also after a restart. Once that answer got out, the same request is meant.
//
// covers: D18
func TestWhoHungUpAsksAgain(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		h := newImpatience()
		g := startLogged(t, c, slog.New(h))
		for number, restarts := range map[string]bool{"12025550120": false, "12025550121": true} {
			body := map[string]any{"to": "+" + number, "text": "Your table is free."}
			g.hangUp(h, 1, "/v1/messages", body)
			first := g.onlyTo(number)
			if restarts {
				g.stop()
				g = startLogged(t, c, slog.New(h))
			}
			again := g.post(body)
			if again.Status != 200 || again.at("message.id") != first || again.at("decision.reason") != "answer_not_received" || again.at("decision.action") != "suppress" {
				t.Errorf("asked again: %d %s", again.Status, again.Raw)
			}
			d := g.call(http.MethodGet, "/v1/decisions/"+again.at("decision.id"), nil)
			if d.at("class") != "technical_duplicate" || d.at("reason") != "answer_not_received" || d.at("compared_with") != first {
				t.Errorf("its decision: %s", d.Raw)
			}
			g.await(first, "delivered")
			if n := g.acceptsOf(number); n != 1 {
				t.Errorf("the carrier accepted it %d times", n)
			}
			if meant := g.post(body); meant.Status != 201 || meant.at("message.id") == first {
				t.Errorf("after the answer got out: %d %s", meant.Status, meant.Raw)
			}
		}
	})
}

// The same of a batch: each of its messages is remembered.
//
// covers: D18
func TestWhoHungUpAsksForABatchAgain(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		h := newImpatience()
		g := startLogged(t, c, slog.New(h))
		numbers := []string{"12025550120", "12025550121"}
		var messages []any
		for _, number := range numbers {
			messages = append(messages, map[string]any{"to": "+" + number, "text": "Your table is free."})
		}
		batch := map[string]any{"messages": messages}
		g.hangUp(h, 2, "/v1/messages/batch", batch)
		r := g.call(http.MethodPost, "/v1/messages/batch", batch)
		answers, _ := r.Body["data"].([]any)
		if len(answers) != len(numbers) {
			t.Fatalf("asked again: %d %s", r.Status, r.Raw)
		}
		for i, number := range numbers {
			one := reply{Body: answers[i].(map[string]any)}
			if one.at("status") != "200" || one.at("answer.decision.reason") != "answer_not_received" || one.at("answer.message.id") != g.onlyTo(number) {
				t.Errorf("asked again: %v", answers[i])
			}
			g.await(g.onlyTo(number), "delivered")
			if n := g.acceptsOf(number); n != 1 {
				t.Errorf("the carrier accepted %d messages to %s", n, number)
			}
		}
	})
}
