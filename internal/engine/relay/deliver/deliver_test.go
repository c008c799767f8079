package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// shelf is a store with deliveries alone.
type shelf struct {
	mu    sync.Mutex
	hooks []*store.Webhook
	all   []*entry
	fails int // so many results are not taken
	took  chan webhook.State
}

type entry struct {
	store.ClaimedDelivery
	webhook.Delivery
}

func newShelf() *shelf { return &shelf{took: make(chan webhook.State, 1000)} }

// put has an endpoint told of events of one message.
func (s *shelf) put(hook *store.Webhook, m ident.Message, events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.hooks, hook) {
		s.hooks = append(s.hooks, hook)
	}
	for range events {
		e := &entry{Delivery: webhook.Delivery{State: webhook.Pending}}
		e.DeliveryID, e.ClaimedDelivery.Webhook = store.DeliveryID{Webhook: hook.ID, Seq: int64(len(s.all) + 1)}, *hook
		e.Event = store.FeedEvent{Seq: e.Seq, Message: m, Event: evidence.Event{N: uint32(e.Seq), Kind: evidence.EventTaken, To: message.Pending}}
		s.all = append(s.all, e)
	}
}

func (s *shelf) Now(context.Context) (clock.Micros, error) { return clock.FromTime(time.Now()), nil }

func (s *shelf) TrimDeliveries(context.Context, clock.Micros, int) (int, error) { return 0, nil }

func (s *shelf) DueWebhooks(ctx context.Context) ([]store.DueWebhook, clock.Micros, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := s.Now(ctx)
	var due []store.DueWebhook
	for _, h := range s.hooks {
		first := store.DueWebhook{ID: h.ID, Tenant: h.Tenant, NextAt: -1}
		for _, e := range s.all {
			if e.DeliveryID.Webhook == h.ID && e.State <= webhook.Delivering && (first.NextAt < 0 || e.NextAt < first.NextAt) {
				first.NextAt = e.NextAt
			}
		}
		if first.NextAt >= 0 {
			due = append(due, first)
		}
	}
	return due, now, err
}

func (s *shelf) ClaimDeliveries(ctx context.Context, grants []webhook.Grant, lease time.Duration) ([]store.ClaimedDelivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := s.Now(ctx)
	var claimed []store.ClaimedDelivery
	for _, g := range grants {
		n := g.N
		for _, e := range s.all {
			if n > 0 && e.DeliveryID.Webhook == g.ID && e.State <= webhook.Delivering && e.NextAt <= now {
				n--
				e.State, e.NextAt = webhook.Delivering, now.Add(lease)
				e.Delivery.Fence++
				e.ClaimedDelivery.Fence = e.Delivery.Fence
				claimed = append(claimed, e.ClaimedDelivery)
			}
		}
	}
	return claimed, err
}

func (s *shelf) SettleDeliveries(ctx context.Context, results []store.DeliveryResult, settle store.SettleFunc) ([]webhook.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("no connection")
	}
	now, err := s.Now(ctx)
	var after []webhook.Delivery
	for _, r := range results {
		e := s.all[r.Seq-1]
		e.Delivery = settle(e.Delivery, r.Result, now)
		after = append(after, e.Delivery)
		s.took <- e.State
	}
	return after, err
}

func (s *shelf) EnabledWebhooks(_ context.Context, ids []ident.Webhook) ([]store.Webhook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []store.Webhook
	for _, h := range s.hooks {
		if slices.Contains(ids, h.ID) {
			found = append(found, *h)
		}
	}
	return found, nil
}

func (s *shelf) states() map[webhook.State]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[webhook.State]int{}
	for _, e := range s.all {
		n[e.State]++
	}
	return n
}

func deliverer(t *testing.T, s Store) *Deliverer {
	t.Helper()
	return New(Config{
		Store: s, Every: time.Hour, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(telemetry.NewMetrics()), Poster: poster(t, loopback, nil),
		Builder: &payload.Builder{Simulated: func(context.Context, int64) (bool, error) { return false, nil }},
	})
}

// await waits for so many results to be stored.
func (s *shelf) await(t *testing.T, n int) (states []webhook.State) {
	t.Helper()
	for range n {
		select {
		case state := <-s.took:
			states = append(states, state)
		case <-time.After(20 * time.Second):
			t.Fatalf("%d of %d results within twenty seconds: %v", len(states), n, s.states())
		}
	}
	return states
}

// Endpoints that say nothing hold nobody but themselves: while as many as a node has places hang, all that another one is
// owed reaches it before the first of them ends, also from the same host.
//
// covers: I20, M6
func TestHangingEndpointsHoldNobody(t *testing.T) {
	released := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/well" {
			return
		}
		select {
		case <-released:
		case <-r.Context().Done():
		}
	}))
	defer host.Close()
	s := newShelf()
	room := webhook.Room{All: 64, Tenant: 16, Endpoint: 16, Ailing: 32} // fewer than a node's, which take seconds to dial
	for range room.All - 1 {
		hook, _ := hookAt(host.URL + "/hangs")
		hook.Tenant = ident.Partition(len(s.hooks) + 2)
		s.put(hook, ident.NewMessage(hook.Tenant), 5)
	}
	hook, _ := hookAt(host.URL + "/well")
	s.put(hook, ident.NewMessage(1), 12)
	d := deliverer(t, s)
	d.cfg.Room, d.cfg.Poster.Timeout, d.cfg.Lease = room, time.Minute, 10*time.Minute
	d.Start(context.Background())
	for i, state := range s.await(t, 12) {
		if state != webhook.Delivered {
			t.Errorf("result %d is %s: a hanging one came first", i, state)
		}
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	d.Stop(now)
	close(released)
	// Nobody knows what came of those that were cut off: they are left to their leases.
	if n := s.states(); n[webhook.Delivered] != 12 || n[webhook.Dead] != 0 || n[webhook.Delivering] < room.All-1 {
		t.Errorf("after the end: %v", n)
	}
}

// Events of one message go one after another, as far as they were claimed together; those of others beside them.
func TestEventsOfAMessageGoInOrder(t *testing.T) {
	var (
		mu    sync.Mutex
		order []string
	)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("webhook-id")
		mu.Lock()
		order = append(order, "begins "+id[strings.LastIndexByte(id, '_'):])
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, "ends "+id[strings.LastIndexByte(id, '_'):])
		}()
	}))
	defer server.Close()
	s := newShelf()
	hook, _ := hookAt(server.URL)
	s.put(hook, ident.NewMessage(1), 4)
	d := deliverer(t, s)
	d.Start(context.Background())
	s.await(t, 4)
	d.Stop(context.Background())
	want := "[begins _1 ends _1 begins _2 ends _2 begins _3 ends _3 begins _4 ends _4]"
	if got := fmt.Sprint(order); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A store that does not take a result at once takes it later: the endpoint is not told again.
//
// covers: I12
func TestResultsAreStoredAgain(t *testing.T) {
	told := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("webhook-id") }))
	defer server.Close()
	s := newShelf()
	s.fails = 1
	hook, _ := hookAt(server.URL)
	s.put(hook, ident.NewMessage(1), 1)
	d := deliverer(t, s)
	d.Start(context.Background())
	if got := s.await(t, 1); got[0] != webhook.Delivered {
		t.Errorf("it is %s", got[0])
	}
	d.Stop(context.Background())
	if len(told) != 1 {
		t.Errorf("told %d times", len(told))
	}
}

// An endpoint that fails is asked for one event at a time, until it is well again.
//
// covers: M6
func TestAnEndpointThatFailsGetsOne(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer server.Close()
	s := newShelf()
	hook, _ := hookAt(server.URL)
	s.put(hook, ident.NewMessage(1), 1)
	d := deliverer(t, s)
	d.Start(context.Background())
	s.await(t, 1)
	d.Stop(context.Background()) // it has noted the result
	for range 5 {
		s.put(hook, ident.NewMessage(1), 1)
	}
	due, now, err := s.DueWebhooks(context.Background())
	must(t, err)
	if got := webhook.Deal(d.hands.endpoints(due, now), d.cfg.Room, 0); len(got) != 1 || got[0].N != 1 {
		t.Errorf("granted are %+v", got)
	}
	d.hands.note(hook.ID, webhook.Took, time.Millisecond)
	if got := webhook.Deal(d.hands.endpoints(due, now), d.cfg.Room, 0); len(got) != 1 || got[0].N != 2 {
		t.Errorf("once it is well again granted are %+v", got)
	}
}

// A delivery whose lease would end on the way is given back and not posted.
//
// covers: I9
func TestNoTimeIsLeft(t *testing.T) {
	told := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("webhook-id") }))
	defer server.Close()
	s := newShelf()
	hook, _ := hookAt(server.URL)
	s.put(hook, ident.NewMessage(1), 1)
	d := deliverer(t, s)
	claimed, err := s.ClaimDeliveries(context.Background(), []webhook.Grant{{ID: hook.ID, N: 1}}, d.cfg.Lease)
	must(t, err)
	late := chains(claimed, start{here: time.Now().Add(-d.cfg.Lease), store: time.Now()})
	d.hands.take(late)
	d.postAll(context.Background(), late[0])
	if e := <-d.results; e.Answer.Problem != webhook.NoTime || len(told) != 0 {
		t.Errorf("%+v after %d requests", e.Answer, len(told))
	}
}

// A store that cannot be read is no failure of the endpoint's: the event waits, with all its tries.
//
// covers: I12
func TestAStoreThatCannotBeReadIsNoFailure(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want webhook.Delivery
	}{
		"not at this moment": {fault.New(fault.Unavailable, "later"), webhook.Delivery{State: webhook.Pending, Fence: 1}},
		"never":              {errors.New("it is not as it was stored"), webhook.Delivery{State: webhook.Pending, Fence: 1, Failures: 1, Problem: webhook.Unbuilt}},
	} {
		s := newShelf()
		hook, _ := hookAt("https://example.com/")
		s.put(hook, ident.NewMessage(1), 1)
		d := deliverer(t, s)
		d.cfg.Builder.Simulated = func(context.Context, int64) (bool, error) { return false, c.err }
		d.Start(context.Background())
		s.await(t, 1)
		d.Stop(context.Background())
		got := s.all[0].Delivery
		got.NextAt = 0
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
