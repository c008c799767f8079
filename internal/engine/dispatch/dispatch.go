// Package dispatch brings messages from the store to a provider and the answers back.
//
// A message passes four stages, each of which works on a batch of whatever came while the batch before it was
// committed: claim, open an attempt, submit, settle the outcome. An attempt is committed before its first byte
// leaves. What is not known after that is "unknown", and nothing here sends it again.
//
// Two ends of time bound a submission. The claim's lease, less a margin, counted on this node's monotonic clock
// from before the claim: after it the provider must not begin to write. And the time to answer: a worker that
// says nothing until then is taken for dead, and the sweep of any node calls its attempts unknown.
package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Connection is what dispatch knows about a connection.
type Connection struct {
	ID              int64
	IDSpace         int64
	Name            string
	EchoesReference bool // receipts carry our own reference
	Simulated       bool
	// Binds is how many binds all nodes together may have: 1. Own says that the far side is this node's alone: it has all
	// of them, and no other node is asked.
	Binds int
	Own   bool
	Rates flow.Rates // nil: as fast as the window lets
	// Together lets all parts of a long message leave at once; else the first has to be accepted before. OneReceipt
	// asks for a receipt with the first part alone: the connection sends no more than one for a message.
	Together, OneReceipt bool
}

// Store is the part of the store that is needed.
type Store interface {
	Claim(ctx context.Context, spec store.ClaimSpec) (store.Claims, error)
	OpenAttempts(ctx context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error)
	store.Settler
	store.Slots
}

// Opener unseals the text of an attempt's part. A fault of code Unavailable, and the end of the context, say that it may be
// tried again. Any other error is for good: nobody will ever read this text.
type Opener func(ctx context.Context, m store.Opened) (text string, err error)

// Config is a dispatcher's. Zero durations take the defaults.
type Config struct {
	Node       ident.Node
	Connection Connection
	Provider   Carrier // started and given its sink by the caller, without binds; stopped by Stop
	Store      Store
	Open       Opener
	Rules      store.Rules // what an outcome needs that meets a receipt which came before it
	// Addressing gives the addresses as the provider sends them, for the attempt's record; nil: as asked for.
	Addressing func(sender, destination string) (source, dest string)

	Lease           time.Duration // of a claim and of a bind slot; 2 s
	Margin          time.Duration // no write begins later than this before the lease ends; 0.5 s
	ResponseTimeout time.Duration // how long the provider waits for an answer before it reports Unknown; 60 s
	Poll            time.Duration // how long a message that became due by time alone may wait, and how long claims rest after "not now"; 250 ms
	Pause           time.Duration // first pause of a connection that is not set up rightly; 30 s, doubled up to 5 min

	// Committed is called after outcomes were committed; nil: nobody cares. It must not block.
	Committed func()
	Log       *slog.Logger
	Metrics   *Metrics
}

const (
	defaultLease    = 2 * time.Second
	defaultMargin   = 500 * time.Millisecond
	defaultResponse = 60 * time.Second
	defaultPoll     = 250 * time.Millisecond
	defaultPause    = 30 * time.Second
	longestPause    = 5 * time.Minute

	maxBatch     = flow.MostAtOnce // messages in one transaction of any stage
	maxUnsettled = 4096            // outcomes that wait for the store; beyond it nothing more is claimed
	// stages is how many transactions of one kind may run at the same time. On the embedded store they join one
	// commit; on a server a second one hides the round trip of the first.
	stages = 2
)

// Dispatcher serves one connection on one node.
type Dispatcher struct {
	cfg     Config
	claimer claimer
	slots   slots
	pause   pause
	late    lateness
	rest    remainder

	claims   *pile[claim]      // claimed, no attempt yet
	outcomes *pile[store.News] // reported, not committed yet
	stuck    *pile[store.News] // the store could not take them by themselves, because of a lock, say

	reserved  load         // claimed and not submitted yet: room at the provider that is taken
	flying    load         // submitted and not answered yet
	unsettled atomic.Int64 // in outcomes, in a transaction, or stuck

	wake     chan struct{} // a decision was committed
	room     chan struct{} // something that keeps claims from running has changed
	landed   chan struct{} // flying has become less
	stopping chan struct{}
	stopOnce sync.Once
	cancel   context.CancelFunc
	endSlots context.CancelFunc // ends their keeping alone

	claiming, openers, settlers, retrier, renewer sync.WaitGroup

	firstBackoff time.Duration
}

// New returns a dispatcher that does nothing until it is started.
func New(cfg Config) *Dispatcher {
	cfg = cfg.withDefaults()
	return &Dispatcher{
		cfg:      cfg,
		slots:    slots{holder: ident.NewNode()},
		pause:    pause{first: cfg.Pause, next: cfg.Pause},
		claims:   newPile(func(c claim) bool { return urgent(c.Claimed) }),
		outcomes: newPile(func(store.News) bool { return false }),
		stuck:    newPile(func(store.News) bool { return false }),
		wake:     make(chan struct{}, 1),
		room:     make(chan struct{}, 1),
		landed:   make(chan struct{}, 1),
		stopping: make(chan struct{}),
		cancel:   func() {},
		endSlots: func() {},

		firstBackoff: firstBackoff,
	}
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&c.Lease, defaultLease}, {&c.Margin, defaultMargin}, {&c.ResponseTimeout, defaultResponse},
		{&c.Poll, defaultPoll}, {&c.Pause, defaultPause},
	} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	c.Connection.Binds = max(c.Connection.Binds, 1)
	return c
}

// Start begins to work. When ctx ends, everything ends where it stands; Stop ends it in order.
func (d *Dispatcher) Start(ctx context.Context) {
	ctx, d.cancel = context.WithCancel(ctx)
	context.AfterFunc(ctx, func() {
		d.claims.abandon()
		d.outcomes.abandon()
		d.stuck.abandon()
	})
	var slots context.Context
	slots, d.endSlots = context.WithCancel(ctx)
	d.renewer.Go(func() { d.keepSlots(slots) })
	d.retrier.Go(func() { d.stuckLoop(ctx) })
	d.claiming.Go(func() { d.claimLoop(ctx) })
	for range stages {
		d.openers.Go(func() { d.openLoop(ctx) })
		d.settlers.Go(func() { d.settleLoop(ctx) })
	}
}

// Wake says that a decision was committed for this connection. It never blocks.
func (d *Dispatcher) Wake() { signal(d.wake) }

// Stop ends the work in order: no new claims; what was claimed and not opened is given back; the provider waits
// for its answers; the bind slots are given back at once, for others to take; outcomes are committed. When ctx ends
// first, the rest is left to the sweeps: messages without an attempt are due again, attempts without an outcome become
// unknown.
func (d *Dispatcher) Stop(ctx context.Context) error {
	d.stopOnce.Do(func() { close(d.stopping) })
	defer d.cancel()
	stop := context.AfterFunc(ctx, d.cancel)
	defer stop()

	d.claiming.Wait()
	d.giveBackRest()
	d.claims.close()
	d.openers.Wait()
	err := d.cfg.Provider.Stop(ctx)
	d.endSlots()
	d.renewer.Wait()
	err = errors.Join(err, d.leaveSlots(ctx))
	d.awaitLanding(ctx)
	d.outcomes.close()
	d.settlers.Wait()
	d.stuck.close()
	d.retrier.Wait()
	return errors.Join(err, ctx.Err())
}

// awaitLanding waits for the reports that a provider gives while or after it stops.
func (d *Dispatcher) awaitLanding(ctx context.Context) {
	for d.flying.all.Load() > 0 {
		select {
		case <-d.landed:
		case <-ctx.Done():
			return
		}
	}
}

func (d *Dispatcher) isStopping() bool {
	select {
	case <-d.stopping:
		return true
	default:
		return false
	}
}

// signal leaves a message for a single receiver that looks for itself what there is to do.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
