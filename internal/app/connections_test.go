package app_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/provider/simulator"
)

// carrier is a message centre of its own, with a ledger.
type carrier struct {
	t      *testing.T
	ledger string
	*simulator.Server
}

func newCarrier(t *testing.T) *carrier {
	t.Helper()
	c := &carrier{t: t, ledger: filepath.Join(t.TempDir(), "ledger")}
	c.Server = simulator.New(simulator.Config{LedgerPath: c.ledger, Echo: true})
	must(t, c.Start())
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// settings are those of a connection that leads to it.
func (c *carrier) settings(more string) string {
	return `{"kind":"smpp","address":"` + c.Addr() + `","system_id":"einmal","response_timeout":"2s","lookup":{"by":["own_reference"],"source":"a test"}` + more + `}`
}

// took counts what it accepted, by destination.
func (c *carrier) took() map[string]int { return acceptedIn(c.t, c.ledger) }

func acceptedIn(t *testing.T, ledger string) map[string]int {
	t.Helper()
	entries, err := simulator.ReadLedger(ledger)
	must(t, err)
	took := map[string]int{}
	for _, e := range entries {
		if e.Outcome == simulator.Accepted {
			took[e.Destination]++
		}
	}
	return took
}

// does calls the API and wants a status.
func (g *gateway) does(status int, method, path, body string) reply {
	g.t.Helper()
	var sent any
	if body != "" {
		sent = body
	}
	r := g.call(method, path, sent)
	if r.Status != status {
		g.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, r.Status, r.Raw, status)
	}
	return r
}

// becomes waits for a connection's state.
func (g *gateway) becomes(name, state string) {
	g.t.Helper()
	g.until(name+" to be "+state, func() bool {
		return strings.HasPrefix(g.call("GET", "/v1/connections/"+name, nil).at("state"), state)
	})
}

// flood sends alerts, each to a number of its own, until it is told to stop.
type flood struct {
	g    *gateway
	stop context.CancelFunc
	done sync.WaitGroup
	mu   sync.Mutex
	sent map[string]string // message by destination, digits alone
}

// flood begins one, to numbers from one on.
func (g *gateway) flood(first int) *flood {
	ctx, stop := context.WithCancel(context.Background())
	f := &flood{g: g, stop: stop, sent: map[string]string{}}
	const senders = 3
	for i := range senders {
		f.done.Go(func() {
			for n := i; ctx.Err() == nil && n < 4000; n += senders {
				if ending := (first + n) % 100; ending < 15 && ending > 0 {
					continue // the endings at which something goes wrong
				}
				to := fmt.Sprintf("+1202555%04d", first+n)
				r := g.post(alert(to, to))
				if r.Status != http.StatusCreated {
					g.t.Errorf("%s: %d %s", to, r.Status, r.Raw)
					return
				}
				f.mu.Lock()
				f.sent[to[1:]] = r.at("message.id")
				f.mu.Unlock()
			}
		})
	}
	return f
}

// end stops it, waits for all messages, and wants each to be accepted once by one of the carriers.
func (f *flood) end(ledgers ...map[string]int) {
	f.g.t.Helper()
	total := 0
	for to := range f.sent {
		n := 0
		for _, took := range ledgers {
			n += took[to]
		}
		if total += n; n != 1 {
			f.g.t.Errorf("%s was accepted %d times", to, n)
		}
	}
	if total < 100 {
		f.g.t.Errorf("only %d messages were sent: the load was none", total)
	}
}

// A connection is added, changed, disabled, enabled and removed while messages come in: each of them is accepted once,
// by the one or the other carrier, and each is delivered.
//
// covers: X5, I3, I6, I7
func TestConnectionsChangeUnderLoad(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g, other := start(t, c), newCarrier(t)
		load := g.flood(1000)
		defer load.stop()
		more := func() {
			before := len(other.took())
			g.until("more messages over the carrier", func() bool { return len(other.took()) > before+20 })
		}
		made := g.does(201, "POST", "/v1/connections", `{"name":"carrier_b","settings":`+other.settings("")+`}`)
		if made.at("from") != "api" || made.at("version") != "1" || made.at("simulated") != "false" || made.at("settings.system_id") != "einmal" {
			t.Errorf("made %s", made.Raw)
		}
		g.becomes("carrier_b", "bound")
		g.does(200, "PUT", "/v1/routes", `{"version":0,"rules":[{"use":["carrier_b","simulator"]}]}`)
		more()
		g.does(200, "PATCH", "/v1/connections/carrier_b", `{"settings":{"window":3},"version":1}`)
		more()
		g.does(200, "PATCH", "/v1/connections/carrier_b", `{"enabled":false}`)
		g.becomes("carrier_b", "disabled")
		if one := g.does(200, "GET", "/v1/connections/carrier_b", ""); one.at("waiting") != "0" {
			t.Errorf("what was decided for it while it was disabled waits: %s", one.Raw)
		}
		before := g.accepts()
		g.until("messages over the next of the rule", func() bool { return g.accepts() > before+20 })
		g.does(200, "PATCH", "/v1/connections/carrier_b", `{"enabled":true}`)
		more()
		g.does(409, "DELETE", "/v1/connections/carrier_b", "") // the routes lead to it
		g.does(200, "PUT", "/v1/routes", `{"version":1,"rules":[]}`)
		g.until("nothing to wait for it", func() bool { return g.call("DELETE", "/v1/connections/carrier_b", nil).Status == 200 })
		before = g.accepts()
		g.until("messages over the one of the configuration", func() bool { return g.accepts() > before+20 })
		load.stop()
		load.done.Wait()
		for _, id := range load.sent {
			g.await(id, "delivered")
		}
		load.end(other.took(), acceptedIn(t, g.cfg.Connections["simulator"].Ledger))
		if left := g.does(200, "GET", "/v1/connections", ""); strings.Contains(left.Raw, "carrier_b") {
			t.Errorf("it is still there: %s", left.Raw)
		}
	})
}

// What a node cannot run is said there, and keeps nothing else from working; once its reason is gone it runs.
//
// covers: X5
func TestAConnectionThatCannotRun(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g, other := start(t, c), newCarrier(t)
		g.does(201, "POST", "/v1/connections", `{"name":"carrier_b","settings":`+other.settings(`,"password":"env:EINMAL_TEST_NO_SUCH"`)+`}`)
		g.becomes("carrier_b", "failed")
		one := g.does(200, "GET", "/v1/connections/carrier_b", "")
		if !strings.Contains(one.at("problem"), "EINMAL_TEST_NO_SUCH") || one.at("settings.password") != "env:EINMAL_TEST_NO_SUCH" {
			t.Errorf("shown as %s", one.Raw)
		}
		g.does(200, "GET", "/readyz", "")
		g.does(200, "PUT", "/v1/routes", `{"version":0,"rules":[{"use":["carrier_b","simulator"]}]}`)
		g.await(g.post(alert("A-1", "+12025550100")).at("message.id"), "delivered")
		if g.accepts() != 1 {
			t.Error("it was not sent over the connection that works")
		}
		secret := filepath.Join(t.TempDir(), "password")
		g.does(200, "PATCH", "/v1/connections/carrier_b", `{"settings":{"password":"file:`+secret+`"}}`)
		g.until("the other reason", func() bool {
			return strings.Contains(g.call("GET", "/v1/connections/carrier_b", nil).at("problem"), "cannot be read")
		})
		must(t, os.WriteFile(secret, []byte("secret\n"), 0o600)) // it comes late, as mounted secrets do
		g.becomes("carrier_b", "bound")
		g.await(g.post(alert("A-2", "+12025550100")).at("message.id"), "delivered")
		if len(other.took()) != 1 {
			t.Error("it was not sent over the connection that works again")
		}
	})
}

// What is administered is in force after a start as it was before.
//
// covers: X5
func TestConnectionsOutliveTheNode(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g, other := start(t, c), newCarrier(t)
		g.does(201, "POST", "/v1/connections", `{"name":"carrier_b","settings":`+other.settings("")+`}`)
		g.does(200, "PUT", "/v1/routes", `{"version":0,"rules":[{"prefix":"1202","use":["carrier_b"]},{"use":["simulator"]}]}`)
		g.stop()
		g = start(t, c)
		g.becomes("carrier_b", "bound")
		m := g.await(g.post(alert("A-1", "+12025550100")).at("message.id"), "delivered")
		if m.at("connection") != "carrier_b" || m.at("simulated") != "false" || len(other.took()) != 1 {
			t.Errorf("after the start: %s", m.Raw)
		}
		if r := g.does(200, "GET", "/v1/routes", ""); r.at("from") != "api" || r.at("version") != "1" {
			t.Errorf("routes after the start: %s", r.Raw)
		}
	})
}

// A request is answered as it was, whatever the routes say by then, and where they lead nowhere a new one is refused and
// may come again.
//
// covers: X5, D8, I11
func TestRoutesThatLeadNowhere(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g, other := start(t, c), newCarrier(t)
		first := g.post(alert("A-1", "+12025550100"), "Idempotency-Key", "k1")
		g.await(first.at("message.id"), "delivered")
		g.does(201, "POST", "/v1/connections", `{"name":"carrier_b","enabled":false,"settings":`+other.settings("")+`}`)
		g.does(200, "PUT", "/v1/routes", `{"version":0,"rules":[{"use":["carrier_b"]}]}`)
		again := g.post(alert("A-1", "+12025550100"), "Idempotency-Key", "k1")
		if again.Status != 201 || again.Raw != first.Raw || again.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("again: %d %s, first %s", again.Status, again.Raw, first.Raw)
		}
		if r := g.post(alert("A-2", "+12025550100"), "Idempotency-Key", "k2"); r.Status != 503 || r.Header.Get("Retry-After") == "" {
			t.Errorf("without a connection: %d %s", r.Status, r.Raw)
		}
		g.does(200, "PATCH", "/v1/connections/carrier_b", `{"enabled":true}`)
		sent := g.post(alert("A-2", "+12025550100"), "Idempotency-Key", "k2")
		g.await(sent.at("message.id"), "delivered")
		if sent.Status != 201 || len(other.took()) != 1 {
			t.Errorf("with one: %d %s", sent.Status, sent.Raw)
		}
	})
}

// Test keys send to a simulator, also where there is none: it is made, and everybody sees it.
//
// covers: X5
func TestTestKeysGetASimulator(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		other := newCarrier(t)
		c.Connections = map[string]app.Connection{"carrier": {
			Kind: "smpp", Address: other.Addr(), SystemID: "einmal", Window: 10, Binds: 1,
			ResponseTimeout: app.Duration(2 * time.Second), EnquireLink: app.Duration(30 * time.Second),
		}}
		g := start(t, c)
		if r := g.does(200, "GET", "/v1/connections", ""); strings.Contains(r.Raw, `"simulator"`) {
			t.Errorf("there is one before anybody needs it: %s", r.Raw)
		}
		made := g.does(201, "POST", "/v1/keys", `{"name":"ci","kind":"test","scopes":["send","read"]}`)
		admin := g.key
		g.key = made.at("key")
		m := g.await(g.post(alert("A-1", "+12025550100")).at("message.id"), "delivered")
		if m.at("simulated") != "true" || m.at("connection") != "simulator" || len(other.took()) != 0 {
			t.Errorf("%s; the carrier took %v", m.Raw, other.took())
		}
		g.key = admin
		if one := g.does(200, "GET", "/v1/connections/simulator", ""); one.at("from") != "api" || one.at("changed_by") != "the gateway, for test keys" {
			t.Errorf("made as %s", one.Raw)
		}
		live := g.post(alert("A-2", "+12025550100"))
		g.until("the carrier to take the other", func() bool { return len(other.took()) == 1 })
		if live.at("simulated") != "false" {
			t.Errorf("of a live key: %s", live.Raw)
		}
		g.does(200, "PATCH", "/v1/connections/simulator", `{"enabled":false}`)
		g.key = made.at("key")
		if r := g.post(alert("A-3", "+12025550100")); r.Status != 503 || len(other.took()) != 1 || !strings.Contains(r.Raw, "einmal connection enable simulator") {
			t.Errorf("with the simulator disabled: %d %s", r.Status, r.Raw)
		}
		g.key = admin
		g.does(200, "DELETE", "/v1/connections/simulator", "")
		g.key = made.at("key")
		if r := g.post(alert("A-3", "+12025550100")); r.Status != 409 || r.Header.Get("Retry-After") != "" || !strings.Contains(r.Raw, "einmal connection add simulator kind=simulator") {
			t.Errorf("with the simulator removed: %d %v %s", r.Status, r.Header, r.Raw)
		}
		g.key = admin
		g.does(201, "POST", "/v1/connections", `{"name":"simulator","settings":{"kind":"simulator"}}`)
		g.key = made.at("key")
		g.await(g.post(alert("A-3", "+12025550100")).at("message.id"), "delivered")
	})
}
