package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/relay/deliver"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/egress"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// moody is an endpoint that does half of what it should: it answers with errors, says nothing, hangs up before it has read
// or after, and forgets to answer although it has the event.
type moody struct {
	t    *testing.T
	mu   sync.Mutex
	rng  *rand.Rand
	well bool
	told map[string]string // id → body
	read int               // how often it had read an event
}

func (m *moody) mood() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.well {
		return 9
	}
	return m.rng.IntN(12)
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mood := m.mood()
	if mood == 0 { // it resets before it has read
		hangUp(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the worker was stopped
	}
	m.hear(r.Header.Get("webhook-id"), string(body))
	switch mood {
	case 1: // it has read, and resets
		hangUp(w)
	case 2: // it says nothing until the client has gone
		<-r.Context().Done()
	case 3:
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
	case 4, 5:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

func hangUp(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset, not an end
	}
	_ = c.Close()
}

func (m *moody) hear(id, body string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, again := m.told[id]; again && known != body {
		m.t.Errorf("%s was told as\n%s\nand again as\n%s", id, known, body)
	}
	m.told[id] = body
	m.read++
}

// forgetful is a store that sometimes does not take what came of deliveries, as if the node had died before.
type forgetful struct {
	store.Store
	mu  sync.Mutex
	rng *rand.Rand
}

func (f *forgetful) SettleDeliveries(ctx context.Context, results []store.DeliveryResult, settle store.SettleFunc) ([]webhook.Delivery, error) {
	f.mu.Lock()
	fails := f.rng != nil && f.rng.IntN(3) == 0
	f.mu.Unlock()
	if fails {
		return nil, errors.New("the node has died")
	}
	return f.Store.SettleDeliveries(ctx, results, settle)
}

// soon makes the pauses of days fit into a test.
func soon(d webhook.Delivery, r webhook.Result, now clock.Micros) webhook.Delivery {
	after := webhook.Settle(d, r, now)
	if after.State == webhook.Pending {
		after.NextAt = min(after.NextAt, now.Add(time.Millisecond))
	}
	return after
}

const tellLease = time.Second

// teller is one node's worker.
func (g *gateway) teller(s deliver.Store) *deliver.Deliverer {
	sealer := secret.NewSealer([32]byte{1}, g.store)
	client := egress.NewClient(egress.Config{Rules: egress.Rules{HTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, KeepHost: 8, Timeout: time.Second})
	return deliver.New(deliver.Config{
		Store: s, Settle: soon, Lease: tellLease, Every: 2 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Metrics: deliver.NewMetrics(telemetry.NewMetrics()),
		Poster: &deliver.Poster{Client: client, Secrets: deliver.Secrets{Sealer: sealer}, Timeout: 100 * time.Millisecond},
		Builder: &payload.Builder{
			Simulated: func(context.Context, int64) (bool, error) { return true, nil },
			Metadata:  func(context.Context, ident.Message, []byte) (map[string]string, error) { return nil, nil },
		},
	})
}

// hooked makes an endpoint of the tenant.
func (g *gateway) hooked(url string) store.Webhook {
	g.Helper()
	w := store.Webhook{ID: ident.NewWebhook(g.tenant), Tenant: g.tenant, URL: url, Types: webhook.Filter{"*"}, Enabled: true}
	_, w.Secrets = deliver.Secrets{Sealer: secret.NewSealer([32]byte{1}, g.store)}.First(w.ID)
	made, err := g.store.PutWebhook(context.Background(), w, 10)
	must(g, err)
	return made
}

// An endpoint that fails half the time, in every way, and two nodes that are cut off twenty times in the middle, also after
// the endpoint has answered and before that is stored: every event arrives or is a dead letter that can be seen, each repeat
// is the same, and none is told that is not in the store.
//
// covers: I12
func TestTellingSurvives(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			g := openGatewayOn(t, settings{}, open(t))
			seed := uint64(time.Now().UnixNano()) // any bits will do
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 1))
			m := &moody{t: t, rng: rand.New(rand.NewPCG(seed, 2)), told: map[string]string{}}
			server := httptest.NewServer(m)
			t.Cleanup(server.Close)
			hook := g.hooked(server.URL)
			f := &forgetful{Store: g.store, rng: rand.New(rand.NewPCG(seed, 3))}
			for n := range 20 {
				for i := range 4 {
					_, err := g.store.Decide(t.Context(), []store.Submission{g.submission(fmt.Sprintf("W-%d-%d", n, i), number("00"))}, intent.Decide)
					must(t, err)
				}
				_, err := g.store.Sequence(t.Context(), 1000)
				must(t, err)
				g.cutOff(g.teller(f), g.teller(f), time.Duration(rng.IntN(60))*time.Millisecond)
			}
			m.mu.Lock()
			m.well = true
			m.mu.Unlock()
			last := g.teller(g.store)
			last.Start(context.Background())
			for end := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) { // the store is how anybody learns of it
				due, _, err := g.store.DueWebhooks(context.Background())
				must(t, err)
				if len(due) == 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatal("not everything was told in time")
				}
			}
			last.Stop(context.Background())
			g.told(m, hook)
		})
	}
}

// cutOff runs two nodes for a while and ends them where they stand.
func (g *gateway) cutOff(a, b *deliver.Deliverer, after time.Duration) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	a.Start(context.Background())
	b.Start(context.Background())
	<-time.After(after) // chance, not a signal: any moment will do
	a.Stop(now)
	b.Stop(now)
}

// told compares what an endpoint has heard with what the store has.
func (g *gateway) told(m *moody, hook store.Webhook) {
	g.Helper()
	ctx := context.Background()
	feed, err := g.store.After(ctx, g.tenant, 0, 1000)
	must(g, err)
	dead, err := g.store.ListDeliveries(ctx, g.tenant, hook.ID, webhook.Dead, 1<<62, 1000)
	must(g, err)
	given, events := map[string]bool{}, map[string]bool{}
	for i := range dead {
		given[payload.ID(&dead[i].Event)] = true
	}
	for i := range feed {
		id := payload.ID(&feed[i])
		events[id] = true
		if _, heard := m.told[id]; !heard && !given[id] {
			g.Errorf("%s neither arrived nor was given up", id)
		}
	}
	for id := range m.told {
		if !events[id] {
			g.Errorf("%s was told and is no event", id)
		}
	}
	if len(feed) != 80 || m.read <= len(feed) {
		g.Errorf("%d events were told %d times: nothing went wrong here", len(feed), m.read)
	}
	g.Logf("%d events were told %d times, %d were given up", len(feed), m.read, len(dead))
}
