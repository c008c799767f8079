package deliver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// What is claimed goes to where the endpoint is by then, and nowhere once it was removed: a chain may wait for long, and who
// removes an endpoint may have a reason.
//
// covers: M6
func TestChangedWhileItWaits(t *testing.T) {
	var told [2]atomic.Int64
	s := newShelf()
	change := make(chan func(), 2)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		told[r.URL.Path[1]-'0'].Add(1)
		(<-change)()
	}))
	defer server.Close()
	hook, _ := hookAt(server.URL + "/0")
	s.put(hook, ident.NewMessage(1), 4)
	under := func(f func()) func() {
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			f()
		}
	}
	moved := *hook
	moved.URL = server.URL + "/1"
	change <- under(func() { s.hooks[0] = &moved })
	change <- under(func() { s.hooks = nil })
	d := deliverer(t, s)
	d.cfg.Fresh = time.Nanosecond
	d.Start(context.Background())
	s.await(t, 4)
	d.Stop(context.Background())
	if told[0].Load() != 1 || told[1].Load() != 1 {
		t.Errorf("told %d times at the old address and %d times at the new one", told[0].Load(), told[1].Load())
	}
	if n := s.states(); n[webhook.Delivered] != 2 || n[webhook.Pending] != 2 {
		t.Errorf("at the end: %v", n)
	}
}

// An endpoint gets no more requests at a time than it should, however much is claimed for it, and what waits for one that
// fails is given back at once, so that it is asked for one event at a time.
//
// covers: M6
func TestWhatWaitsIsGivenBack(t *testing.T) {
	const well = 200
	var requests, atOnce, most atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := atOnce.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer atOnce.Add(-1)
		if requests.Add(1) > well {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	s := newShelf()
	hook, _ := hookAt(server.URL)
	for range well {
		s.put(hook, ident.NewMessage(1), 1)
	}
	d := deliverer(t, s)
	d.Start(context.Background())
	s.await(t, well)
	if n := s.states()[webhook.Delivered]; n != well {
		t.Fatalf("%d are delivered", n)
	}
	if got := most.Load(); got > webhook.Flight {
		t.Errorf("%d requests at a time", got)
	}
	d.Stop(context.Background())
	const pace = webhook.MostPace // whatever it has become on a machine that is busy
	for range pace {
		s.put(hook, ident.NewMessage(1), 1)
	}
	claimed, err := s.ClaimDeliveries(context.Background(), []webhook.Grant{{ID: hook.ID, N: pace}}, d.cfg.Lease)
	must(t, err)
	d.results = make(chan ended, len(claimed))
	workers := d.hands.take(chains(claimed, start{time.Now(), time.Now()}))
	if len(workers) != webhook.Flight {
		t.Errorf("%d workers", len(workers))
	}
	d.work(context.Background(), hook.ID)
	got := map[webhook.Problem]int{}
	for range pace {
		got[(<-d.results).Answer.Problem]++
	}
	if got[""] != 1 || got[webhook.Waits] != pace-1 {
		t.Errorf("one that fails was given %v", got)
	}
}

// What a node has in hand of an endpoint that nothing is owed is forgotten after a while.
func TestHandsAreForgotten(t *testing.T) {
	h := hands{of: map[ident.Webhook]*hand{{1}: {used: time.Now()}, {2}: {used: time.Now().Add(-time.Hour)}, {3}: {n: 1}}}
	h.endpoints([]store.DueWebhook{}, 0)
	if len(h.of) != 2 || h.of[ident.Webhook{2}] != nil {
		t.Errorf("%d are left", len(h.of))
	}
}
