package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/einmal/einmal/internal/app"
)

// endpoint is a tenant's: it keeps what it is told, after it has verified it.
type endpoint struct {
	*httptest.Server
	t       *testing.T
	mu      sync.Mutex
	secrets []string
	answer  func(n int) int // the status of the n-th request
	told    []told
	changed chan struct{}
}

type told struct{ id, body string }

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{t: t, changed: make(chan struct{}, 1000), answer: func(int) int { return http.StatusNoContent }}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		e.t.Errorf("%s %s: %v", r.Method, r.Header.Get("Content-Type"), err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, secret := range e.secrets {
		hook, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = hook.Verify(body, r.Header)
		}
		if err != nil {
			e.t.Errorf("%s is not signed with a live secret: %v", r.Header.Get("webhook-id"), err)
		}
	}
	e.told = append(e.told, told{r.Header.Get("webhook-id"), string(body)})
	w.WriteHeader(e.answer(len(e.told)))
	e.changed <- struct{}{}
}

func (e *endpoint) all() []told {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]told(nil), e.told...)
}

// local lets webhooks go to loopback.
func local(c app.Config) app.Config {
	c.Webhooks.Allow, c.Webhooks.HTTP = []string{"127.0.0.0/8"}, true
	return c
}

// hook makes a webhook for an endpoint and returns its id.
func (g *gateway) hook(e *endpoint, types ...string) string {
	g.t.Helper()
	made := g.call(http.MethodPost, "/v1/webhooks", map[string]any{"url": e.URL + "/hooks", "types": types})
	if made.Status != http.StatusCreated {
		g.t.Fatal(made.Raw)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.secrets = append(e.secrets, made.at("secret"))
	return made.at("id")
}

// feedByID is every event by its id, as GET /v1/events shows it.
func (g *gateway) feedByID() map[string]string {
	g.t.Helper()
	all := map[string]string{}
	for after := "0"; ; {
		page := g.call(http.MethodGet, "/v1/events?limit=100&after="+after, nil)
		events, _ := page.Body["data"].([]any)
		for _, e := range events {
			b, err := json.Marshal(e)
			must(g.t, err)
			all[e.(map[string]any)["id"].(string)] = string(b)
		}
		if len(events) == 0 {
			return all
		}
		after = page.at("next")
	}
}

// arrived reports whether the endpoint was told of every event that is in the feed, and holds each against it.
func (g *gateway) arrived(e *endpoint) bool {
	g.t.Helper()
	feed, got := g.feedByID(), map[string]bool{}
	for _, t := range e.all() {
		var v map[string]any
		must(g.t, json.Unmarshal([]byte(t.body), &v))
		same, err := json.Marshal(v)
		must(g.t, err)
		if feed[t.id] != string(same) {
			g.t.Errorf("told of %s\n%s\nand the feed has\n%s", t.id, same, feed[t.id])
		}
		got[t.id] = true
	}
	return len(feed) > 0 && len(got) == len(feed)
}

// An endpoint is told of every event, signed, in the form that the feed has, and a code is never told.
//
// covers: I12, D15, M6, X5
func TestWebhooks(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g, e := start(t, local(c)), newEndpoint(t)
		id := g.hook(e, "*")
		only := newEndpoint(t)
		g.hook(only, "message.undelivered")
		request := order("W-1", "1", "+12025550100")
		request["metadata"] = map[string]string{"basket": "7"}
		g.await(g.post(request).at("message.id"), "delivered")
		code := map[string]any{"to": "+12025550106", "purpose": "login_code", "event": map[string]any{"id": "c", "version": "1"},
			"text": "Your code is 493817", "metadata": map[string]string{"hint": "493817"}}
		g.await(g.post(code).at("message.id"), "delivered")
		g.await(g.post(alert("W-2", "+12025550101")).at("message.id"), "undelivered")
		g.until("every event to arrive", func() bool { return g.arrived(e) && len(only.all()) == 1 })
		text := fmt.Sprint(e.all())
		if !strings.Contains(text, `"metadata":{"basket":"7"}`) || !strings.Contains(text, `"to":"+1202•••0100"`) || !strings.Contains(text, `"type":"message.delivered"`) {
			t.Errorf("told is %s", text)
		}
		for _, secret := range []string{"493817", "2025550100", "is confirmed"} {
			if strings.Contains(text, secret) {
				t.Errorf("told is %q: %s", secret, text)
			}
		}
		if got := only.all()[0].body; !strings.Contains(got, `"type":"message.undelivered"`) {
			t.Errorf("whoever wants to know what was not delivered was told %s", got)
		}
		g.until("everything to be noted as delivered", func() bool {
			return len(g.call(http.MethodGet, "/v1/webhooks/"+id+"/deliveries?limit=200&state=delivered", nil).Body["data"].([]any)) == len(e.all())
		})
		g.shows(`einmal_webhook_tries_total{result="delivered"} ` + fmt.Sprint(len(e.all())+1))
	})
}

// What was delivered or given up is told again, under the same id and with the same bytes, also after a restart and after
// the message has gone on; and with two secrets while they are exchanged.
//
// covers: I12
func TestWebhooksAreReplayed(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g, e := start(t, local(c)), newEndpoint(t)
		e.answer = func(int) int { return http.StatusGone }
		id := g.hook(e, "message.accepted")
		path := "/v1/webhooks/" + id
		message := g.post(alert("R-1", "+12025550110")).at("message.id") // its receipt comes after a while
		g.until("the event to be told", func() bool { return len(e.all()) == 1 })
		g.until("it to be given up", func() bool {
			return strings.Contains(g.call(http.MethodGet, path+"/deliveries?state=dead", nil).Raw, "dlv_")
		})
		first := e.all()[0]
		g.await(message, "delivered")
		rotated := g.call(http.MethodPost, path+"/rotate", map[string]any{})
		g.stop()
		g = start(t, local(c))
		e.mu.Lock()
		e.secrets = append(e.secrets, rotated.at("secret"))
		e.answer = func(int) int { return http.StatusOK }
		e.mu.Unlock()
		if again := g.call(http.MethodPost, path+"/replay", nil); again.at("replayed") != "1" {
			t.Fatal(again.Raw)
		}
		g.until("it to be told again", func() bool { return len(e.all()) == 2 })
		if second := e.all()[1]; second != first {
			t.Errorf("told again is\n%+v\nafter\n%+v", second, first)
		}
		g.until("it to be noted", func() bool {
			return strings.Contains(g.call(http.MethodGet, path+"/deliveries?state=delivered", nil).Raw, "dlv_")
		})
	})
}

// Without leave a gateway goes to nobody's loopback, whatever a tenant names.
//
// covers: M6
func TestWebhooksStayOutside(t *testing.T) {
	g, e := start(t, testConfig(t, "sqlite")), newEndpoint(t)
	for _, url := range []string{e.URL, strings.Replace(e.URL, "http:", "https:", 1)} {
		if r := g.call(http.MethodPost, "/v1/webhooks", map[string]any{"url": url}); r.Status != http.StatusBadRequest {
			t.Errorf("%s: %s", url, r.Raw)
		}
	}
}
