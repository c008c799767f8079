package deliver

import (
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// handKept is how long an endpoint's pace is remembered after its last delivery.
const handKept = 30 * time.Second

// hands are what this node has claimed, by endpoint.
type hands struct {
	mu sync.Mutex
	of map[ident.Webhook]*hand
}

// hand is what this node has of an endpoint.
type hand struct {
	tenant  ident.Partition
	n       int     // claimed, and the result not stored yet
	posting int     // workers
	waiting []chain // for a worker
	pace    int     // how many may be claimed
	ailing  bool    // the last answer was a failure
	used    time.Time

	hook *store.Webhook // as it was last read; nil: switched off or removed
	read time.Time
}

// chain is deliveries that go one after another, and the round that claimed them.
type chain struct {
	all   []store.ClaimedDelivery
	began start
}

// endpoints are those with something due, and those of which this node has something in hand.
func (h *hands) endpoints(due []store.DueWebhook, now clock.Micros) []webhook.Endpoint {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []webhook.Endpoint
	listed := map[ident.Webhook]bool{}
	for _, w := range due {
		e := webhook.Endpoint{ID: w.ID, Tenant: w.Tenant, Due: w.NextAt <= now, Most: webhook.FirstPace}
		if one := h.of[w.ID]; one != nil {
			e.InFlight, e.Most, e.Ailing = one.n, one.pace, one.ailing
		}
		listed[w.ID] = true
		all = append(all, e)
	}
	for id, one := range h.of {
		switch {
		case listed[id]:
		case one.n == 0 && time.Since(one.used) > handKept:
			delete(h.of, id)
		default:
			all = append(all, webhook.Endpoint{ID: id, Tenant: one.tenant, InFlight: one.n, Most: one.pace, Ailing: one.ailing})
		}
	}
	return all
}

// take puts chains into the hands, and says for which endpoints a worker is to be started, as often as one is.
func (h *hands) take(chains []chain) (workers []ident.Webhook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range chains {
		w := &c.all[0].Webhook
		one := h.of[w.ID]
		if one == nil {
			one = &hand{tenant: w.Tenant, pace: webhook.FirstPace}
			h.of[w.ID] = one
		}
		one.n += len(c.all)
		one.hook, one.read, one.used = w, c.began.here, time.Now()
		one.waiting = append(one.waiting, c)
		if one.posting < webhook.Flight {
			one.posting++
			workers = append(workers, w.ID)
		}
	}
	return workers
}

// next is a worker's next chain; false: there is none, and the worker ends.
func (h *hands) next(id ident.Webhook) (chain, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of[id]
	if len(one.waiting) == 0 {
		one.posting--
		return chain{}, false
	}
	c := one.waiting[0]
	one.waiting = one.waiting[1:]
	return c, true
}

// note notes an answer, and returns what waited for an endpoint that failed: it is given back.
func (h *hands) note(id ident.Webhook, v webhook.Verdict, took time.Duration) (back []chain) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of[id]
	one.pace = webhook.Pace(one.pace, v, took)
	if v == webhook.Unsent {
		return nil
	}
	if one.ailing = v != webhook.Took; one.ailing {
		back, one.waiting = one.waiting, nil
	}
	return back
}

// release says that a delivery is in hand no more.
func (h *hands) release(id ident.Webhook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[id].n--
	h.of[id].used = time.Now()
}

// hook is the endpoint as it was last read, if that was not long ago.
func (h *hands) hook(id ident.Webhook, fresh time.Duration) (*store.Webhook, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of[id]
	return one.hook, time.Since(one.read) < fresh
}

func (h *hands) reread(id ident.Webhook, hook *store.Webhook, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.of[id]; at.After(one.read) {
		one.hook, one.read = hook, at
	}
}
