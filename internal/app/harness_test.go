package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/provider/simulator"
)

// engines are the stores that every test here runs on: a name, and a function that gives the value of "store".
var engines = map[string]func(t *testing.T) string{"sqlite": func(*testing.T) string { return "sqlite" }}

// onEveryStore runs a test on each engine.
func onEveryStore(t *testing.T, test func(t *testing.T, c app.Config)) {
	for name, url := range engines {
		t.Run(name, func(t *testing.T) { test(t, testConfig(t, url(t))) })
	}
}

// testConfig is a gateway's configuration with a ledger, on free ports.
func testConfig(t *testing.T, storeURL string) app.Config {
	t.Helper()
	dir := t.TempDir()
	c, err := app.Load("", app.Flags{
		Listen: "127.0.0.1:0", Data: filepath.Join(dir, "data"), Store: storeURL, Ledger: filepath.Join(dir, "ledger"),
	})
	must(t, err)
	k := c.Connections["simulator"]
	k.ResponseTimeout = app.Duration(2 * time.Second) // endings without an answer should not take ten
	c.Connections["simulator"] = k
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// gateway is a running gateway and a client of it.
type gateway struct {
	*app.App
	t      *testing.T
	cfg    app.Config
	key    string
	client *http.Client
}

func start(t *testing.T, c app.Config) *gateway {
	t.Helper()
	return startLogged(t, c, slog.New(slog.DiscardHandler))
}

func startLogged(t *testing.T, c app.Config, log *slog.Logger) *gateway {
	t.Helper()
	a := app.New(c, log)
	must(t, a.Start(context.Background()))
	key := ""
	if file := a.AdminKeyFile(); file != "" {
		b, err := os.ReadFile(file)
		must(t, err)
		key = strings.TrimSpace(string(b))
	}
	g := &gateway{App: a, t: t, cfg: c, key: key, client: &http.Client{
		Transport: &http.Transport{MaxConnsPerHost: 20, MaxIdleConnsPerHost: 20}, Timeout: 40 * time.Second,
	}}
	t.Cleanup(g.stop)
	return g
}

func (g *gateway) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	g.client.CloseIdleConnections()
	must(g.t, g.Stop(ctx))
}

// reply is an answer of the API.
type reply struct {
	Status int
	Header http.Header
	Body   map[string]any
	Raw    string
}

func (g *gateway) call(method, path string, body any, header ...string) reply {
	g.t.Helper()
	var sent io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		must(g.t, err)
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, "http://"+g.Addr()+path, sent)
	must(g.t, err)
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Error(err)
		return reply{}
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Error(err)
	}
	r := reply{Status: res.StatusCode, Header: res.Header, Raw: string(raw)}
	_ = json.Unmarshal(raw, &r.Body) // metrics are no JSON
	return r
}

func (g *gateway) post(body any, header ...string) reply {
	g.t.Helper()
	return g.call(http.MethodPost, "/v1/messages", body, header...)
}

// at reads a member of the body, such as "message.state".
func (r reply) at(path string) string {
	var v any = r.Body
	for _, name := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// order is a request for an order confirmation.
func order(event, version, to string) map[string]any {
	return map[string]any{
		"to": to, "purpose": "order_confirmation", "event": map[string]any{"type": "order", "id": event, "version": version},
		"text": "Your order " + event + " is confirmed.",
	}
}

// alert is a request of a purpose that does not retry.
func alert(event, to string) map[string]any {
	return map[string]any{"to": to, "purpose": "alert", "event": map[string]any{"id": event, "version": "1"}, "text": "Attention, please."}
}

// await waits until a message has the state.
func (g *gateway) await(id, state string) reply {
	g.t.Helper()
	last := g.call(http.MethodGet, "/v1/messages/"+id+"?wait=30s&state="+state, nil)
	if last.at("state") != state {
		g.t.Fatalf("%s is %q, want %q: %s", id, last.at("state"), state, g.call(http.MethodGet, "/v1/messages/"+id+"/timeline", nil).Raw)
	}
	return last
}

// message reads a message.
func (g *gateway) message(id string) reply {
	g.t.Helper()
	return g.call(http.MethodGet, "/v1/messages/"+id, nil)
}

// until polls for something that the API shows.
func (g *gateway) until(what string, there func() bool) {
	g.t.Helper()
	for end := time.Now().Add(20 * time.Second); !there(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Errorf("still waiting for %s", what)
			return
		}
	}
}

// acceptsOf counts what the simulator accepted for a number, digits alone.
func (g *gateway) acceptsOf(number string) int {
	g.t.Helper()
	return g.count(func(e simulator.Entry) bool { return e.Outcome == simulator.Accepted && e.Destination == number })
}

// accepts counts what the simulator accepted.
func (g *gateway) accepts() int {
	g.t.Helper()
	return g.count(func(e simulator.Entry) bool { return e.Outcome == simulator.Accepted })
}

func (g *gateway) count(wanted func(simulator.Entry) bool) int {
	g.t.Helper()
	entries, err := simulator.ReadLedger(g.cfg.Connections["simulator"].Ledger)
	must(g.t, err)
	return len(slices.DeleteFunc(entries, func(e simulator.Entry) bool { return !wanted(e) }))
}
