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
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Store is the part of the store that is needed.
type Store interface {
	DueWebhooks(ctx context.Context) ([]store.DueWebhook, clock.Micros, error)
	ClaimDeliveries(ctx context.Context, grants []webhook.Grant, lease time.Duration) ([]store.ClaimedDelivery, error)
	EnabledWebhooks(ctx context.Context, ids []ident.Webhook) ([]store.Webhook, error)
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
	Fresh   time.Duration    // for how long what was read of an endpoint holds; 1 s
	Every   time.Duration    // how often it looks for what is due if nobody calls Wake; 1 s
	Keep    time.Duration    // how long what was delivered is kept; 0: for ever
	Log     *slog.Logger
	Metrics *Metrics
}

const (
	// defaultLease is longer than a post, and as long as a few of one message's events, which go one after another.
	defaultLease = 45 * time.Second
	defaultEvery = time.Second
	// defaultFresh is for how long an endpoint that was removed or moved may still be told as before.
	defaultFresh = time.Second
)

// defaultRoom is a node's, in deliveries that it has claimed. A tenant gets no more than a quarter of the node, and one
// endpoint half of that; what hangs, at most an eighth of it.
var defaultRoom = webhook.Room{All: 512, Tenant: 128, Endpoint: webhook.MostPace, Ailing: 64}

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
	hands   hands
	more    atomic.Bool // the last round left something that is due
}

// ended is a delivery with its result.
type ended struct{ store.DeliveryResult }

// New returns a deliverer that does nothing until it is started.
func New(cfg Config) *Deliverer {
	if cfg.Room == (webhook.Room{}) {
		cfg.Room = defaultRoom
	}
	if cfg.Lease == 0 {
		cfg.Lease = defaultLease
	}
	if cfg.Fresh == 0 {
		cfg.Fresh = defaultFresh
	}
	if cfg.Every == 0 {
		cfg.Every = defaultEvery
	}
	if cfg.Settle == nil {
		cfg.Settle = hastened(webhook.Settle)
	}
	return &Deliverer{cfg: cfg, wake: make(chan struct{}, 1), results: make(chan ended, cfg.Room.All), stopped: make(chan struct{}), hands: hands{of: map[ident.Webhook]*hand{}}}
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

// round claims once and starts to post. What is left when there is no room is looked at again when results are stored.
func (d *Deliverer) round(ctx, posts context.Context) error {
	due, now, err := d.cfg.Store.DueWebhooks(ctx)
	if err != nil {
		return err
	}
	d.cfg.Metrics.overdue(due, now)
	d.turn++
	d.more.Store(true) // until it is known: what is released meanwhile is not seen by this round
	grants := webhook.Deal(d.hands.endpoints(due, now), d.cfg.Room, d.turn)
	if len(grants) == 0 {
		d.more.Store(len(due) > 0)
		return nil
	}
	began := start{time.Now(), now.Time()} // the lease runs from a moment later
	claimed, err := d.cfg.Store.ClaimDeliveries(ctx, grants, d.cfg.Lease)
	if err != nil {
		return err
	}
	d.more.Store(left(due, now, grants, claimed))
	for _, id := range d.hands.take(chains(claimed, began)) {
		d.posting.Go(func() { d.work(posts, id) })
	}
	return nil
}

// left reports whether something due is left after a claim: an endpoint that got less than it was granted has nothing more.
func left(due []store.DueWebhook, now clock.Micros, grants []webhook.Grant, claimed []store.ClaimedDelivery) bool {
	short := map[ident.Webhook]int{}
	for _, g := range grants {
		short[g.ID] += g.N
	}
	for i := range claimed {
		short[claimed[i].Webhook.ID]--
	}
	return slices.ContainsFunc(due, func(w store.DueWebhook) bool { return w.NextAt <= now && short[w.ID] <= 0 })
}

// start is when a round began: on this node's monotonic clock, and by the store's.
type start struct{ here, store time.Time }

// now is the store's time, as far as this node knows.
func (s start) now() time.Time { return s.store.Add(time.Since(s.here)) }

// chains groups what was claimed by endpoint and message: events of one message go one after another, as far as they were
// claimed together.
func chains(claimed []store.ClaimedDelivery, began start) []chain {
	type of struct {
		webhook ident.Webhook
		message ident.Message
	}
	var all []chain
	at := map[of]int{}
	for _, c := range claimed {
		k := of{c.Webhook.ID, c.Event.Message}
		i, known := at[k]
		if !known {
			i, at[k] = len(all), len(all)
			all = append(all, chain{began: began})
		}
		all[i].all = append(all[i].all, c)
	}
	return all
}
