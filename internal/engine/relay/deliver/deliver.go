// Package deliver tells tenants' endpoints of events: it claims deliveries that are due, posts each, and notes what came
// of it.
//
// An event is told at least once. A worker that dies after the endpoint has answered leaves a delivery whose lease ends,
// and another one posts the same bytes under the same id again. Any number of nodes work on one store; two of them post
// the same delivery only if the first one's lease has ended.
package deliver

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Store is the part of the store that is needed.
type Store interface {
	DueWebhooks(ctx context.Context) ([]store.DueWebhook, clock.Micros, error)
	ClaimDeliveries(ctx context.Context, grants []webhook.Grant, lease time.Duration) ([]store.ClaimedDelivery, error)
	SettleDeliveries(ctx context.Context, results []store.DeliveryResult, settle store.SettleFunc) ([]webhook.Delivery, error)
	TrimDeliveries(ctx context.Context, before clock.Micros, limit int) (int, error)
	Now(ctx context.Context) (clock.Micros, error)
}

// Config is what a deliverer works with. Zero durations take the defaults.
type Config struct {
	Store   Store
	Builder *payload.Builder
	Poster  *Poster
	Room    webhook.Room     // zero: see defaultRoom
	Settle  store.SettleFunc // nil: webhook.Settle
	Lease   time.Duration    // 45 s
	Every   time.Duration    // how often it looks for what is due if nobody calls Wake; 1 s
	Keep    time.Duration    // how long what was delivered is kept; 0: for ever
	Log     *slog.Logger
	Metrics *Metrics
}

const (
	// defaultLease is longer than a post, and as long as a few of one message's events, which go one after another.
	defaultLease = 45 * time.Second
	defaultEvery = time.Second
)

// defaultRoom is a node's. An endpoint gets no more than a few requests at a time, and a tenant no more than a quarter of
// the node; what hangs, at most half of it.
var defaultRoom = webhook.Room{All: 64, Tenant: 16, Endpoint: 4, Ailing: 32}

// Deliverer is one node's.
type Deliverer struct {
	cfg     Config
	wake    chan struct{}
	results chan ended
	cancel  context.CancelFunc // of looking for more
	kill    context.CancelFunc // of the posts under way
	looking sync.WaitGroup
	posting sync.WaitGroup
	storing sync.WaitGroup
	stopped chan struct{} // closed when nothing more is posted
	turn    int

	mu       sync.Mutex
	inFlight map[ident.Webhook]*hand
}

// hand is what this node has of an endpoint.
type hand struct {
	tenant ident.Partition
	n      int
	ailing bool
}

// ended is a delivery with its result.
type ended struct {
	store.DeliveryResult
	tenant ident.Partition
}

// New returns a deliverer that does nothing until it is started.
func New(cfg Config) *Deliverer {
	if cfg.Room == (webhook.Room{}) {
		cfg.Room = defaultRoom
	}
	if cfg.Lease == 0 {
		cfg.Lease = defaultLease
	}
	if cfg.Every == 0 {
		cfg.Every = defaultEvery
	}
	if cfg.Settle == nil {
		cfg.Settle = hastened(webhook.Settle)
	}
	return &Deliverer{cfg: cfg, wake: make(chan struct{}, 1), results: make(chan ended, cfg.Room.All), stopped: make(chan struct{}), inFlight: map[ident.Webhook]*hand{}}
}

// Start begins to work, until Stop is called.
func (d *Deliverer) Start(ctx context.Context) {
	posts, kill := context.WithCancel(ctx)
	d.kill = kill
	ctx, d.cancel = context.WithCancel(ctx)
	d.looking.Go(func() { d.look(ctx, posts) })
	d.storing.Go(d.store)
	if d.cfg.Keep > 0 {
		d.looking.Go(func() { d.trim(ctx) })
	}
}

// Stop looks for no more and waits for the posts under way, until ctx ends. Those that are cut off then are posted again
// once their lease has ended, since nobody knows what came of them.
func (d *Deliverer) Stop(ctx context.Context) {
	d.cancel()
	d.looking.Wait()
	unhook := context.AfterFunc(ctx, d.kill)
	d.posting.Wait()
	unhook()
	d.kill()
	close(d.results)
	close(d.stopped)
	d.storing.Wait()
	d.cfg.Poster.Client.CloseIdleConnections()
}

// Wake says that something may be due. It never blocks.
func (d *Deliverer) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *Deliverer) look(ctx, posts context.Context) {
	tick := time.NewTicker(d.cfg.Every)
	defer tick.Stop()
	for {
		if err := d.round(ctx, posts); err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("deliveries could not be claimed; the next look is in a moment", "error", err)
		}
		select {
		case <-d.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// round claims once and starts to post. What is left when there is no room is looked at again when a post has ended.
func (d *Deliverer) round(ctx, posts context.Context) error {
	due, now, err := d.cfg.Store.DueWebhooks(ctx)
	if err != nil {
		return err
	}
	d.cfg.Metrics.overdue(due, now)
	d.turn++
	grants := webhook.Deal(d.endpoints(due, now), d.cfg.Room, d.turn)
	if len(grants) == 0 {
		return nil
	}
	began := start{time.Now(), now.Time()} // the lease runs from a moment later
	claimed, err := d.cfg.Store.ClaimDeliveries(ctx, grants, d.cfg.Lease)
	if err != nil {
		return err
	}
	d.hold(claimed, 1)
	for _, chain := range chains(claimed) {
		d.posting.Go(func() { d.postAll(posts, chain, began) })
	}
	return nil
}

// start is when a round began: on this node's monotonic clock, and by the store's.
type start struct{ here, store time.Time }

// now is the store's time, as far as this node knows.
func (s start) now() time.Time { return s.store.Add(time.Since(s.here)) }

// endpoints are those with something due, and those of which this node has something in hand.
func (d *Deliverer) endpoints(due []store.DueWebhook, now clock.Micros) []webhook.Endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []webhook.Endpoint
	listed := map[ident.Webhook]bool{}
	for _, w := range due {
		e := webhook.Endpoint{ID: w.ID, Tenant: w.Tenant, Due: w.NextAt <= now}
		if h := d.inFlight[w.ID]; h != nil {
			e.InFlight, e.Ailing = h.n, h.ailing
		}
		listed[w.ID] = true
		all = append(all, e)
	}
	for id, h := range d.inFlight {
		switch {
		case listed[id]:
		case h.n == 0:
			delete(d.inFlight, id) // it failed last, and nothing of it is left to be tried
		default:
			all = append(all, webhook.Endpoint{ID: id, Tenant: h.tenant, InFlight: h.n, Ailing: h.ailing})
		}
	}
	return all
}

func (d *Deliverer) hold(claimed []store.ClaimedDelivery, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range claimed {
		w := &claimed[i].Webhook
		if d.inFlight[w.ID] == nil {
			d.inFlight[w.ID] = &hand{tenant: w.Tenant}
		}
		d.inFlight[w.ID].n += n
	}
}

// release notes how the last try of an endpoint ended. One that is well and has nothing in hand is forgotten.
func (d *Deliverer) release(id ident.Webhook, ailing bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.inFlight[id]
	h.n, h.ailing = h.n-1, ailing
	if h.n == 0 && !ailing {
		delete(d.inFlight, id)
	}
}

// chains groups what was claimed by endpoint and message: events of one message go one after another, as far as they were
// claimed together.
func chains(claimed []store.ClaimedDelivery) [][]store.ClaimedDelivery {
	type of struct {
		webhook ident.Webhook
		message ident.Message
	}
	var all [][]store.ClaimedDelivery
	at := map[of]int{}
	for _, c := range claimed {
		k := of{c.Webhook.ID, c.Event.Message}
		i, known := at[k]
		if !known {
			i, at[k] = len(all), len(all)
			all = append(all, nil)
		}
		all[i] = append(all[i], c)
	}
	return all
}

func (d *Deliverer) postAll(ctx context.Context, chain []store.ClaimedDelivery, began start) {
	for i := range chain {
		c := &chain[i]
		answer := webhook.Answer{Problem: webhook.NoTime}
		if ctx.Err() == nil && time.Since(began.here) < d.cfg.Lease-2*d.cfg.Poster.timeout() {
			answer = d.post(ctx, c, began)
		}
		if ctx.Err() != nil && answer.Verdict() != webhook.Took {
			d.release(c.Webhook.ID, false)
			continue // we were told to end: that is no answer
		}
		d.results <- ended{store.DeliveryResult{DeliveryID: c.DeliveryID,
			Result: webhook.Result{Fence: c.Fence, Answer: answer, Jitter: rand.Float64()}}, c.Webhook.Tenant}
	}
}

func (d *Deliverer) post(ctx context.Context, c *store.ClaimedDelivery, began start) webhook.Answer {
	body, err := d.cfg.Builder.Body(ctx, &c.Event)
	if err != nil {
		d.cfg.Log.Error("the body of a webhook could not be made", "webhook", c.Webhook.ID.String(), "event", payload.ID(&c.Event), "error", err)
		return webhook.Answer{Problem: ours(err)}
	}
	answer := d.cfg.Poster.Post(ctx, &c.Webhook, payload.ID(&c.Event), body, began.now())
	chaos.At(chaos.WebhookPosted)
	return answer
}
