package smpp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// Provider is one bind of one connection, or two that belong together: see Config.SeparateBinds.
type Provider struct {
	cfg     Config
	changed chan struct{}
	session atomic.Pointer[wire.Session] // takes submissions; nil while none does
	live    atomic.Pointer[link]         // the latest one that was bound
	status  atomic.Value                 // string
	far     atomic.Bool                  // the latest try found nobody who answers
	taker   *taker

	mu       sync.Mutex
	started  bool
	stopping bool
	cancel   context.CancelFunc
	ended    chan struct{}
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider that Start connects.
func New(cfg Config) *Provider {
	p := &Provider{cfg: cfg.withDefaults(), changed: make(chan struct{}, 1), ended: make(chan struct{})}
	p.status.Store("not started")
	return p
}

// Start implements provider.Provider.
func (p *Provider) Start(ctx context.Context, sink provider.Sink) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started || p.stopping {
		return errors.New("smpp: a provider can be started once")
	}
	p.started = true
	ctx, p.cancel = context.WithCancel(ctx)
	p.taker = newTaker(sink)
	p.status.Store("connecting")
	go p.run(ctx)
	return nil
}

// Submit implements provider.Provider. The report is never given before Submit returns.
func (p *Provider) Submit(sub provider.Submission, report provider.Report) {
	refuse := func(kind provider.OutcomeKind, err error) {
		go report(provider.Outcome{Kind: kind, Detail: detail(err)})
	}
	if err := inTime(sub, time.Now()); err != nil {
		refuse(provider.NotSent, err)
		return
	}
	pdu, err := p.build(sub)
	if err != nil {
		refuse(provider.Rejected, err)
		return
	}
	s := p.session.Load()
	if s == nil {
		refuse(provider.NotSent, wire.ErrClosed)
		return
	}
	err = s.Request(&wire.Request{
		PDU: pdu, Expires: sub.Deadline, Written: wireWritten,
		Done: func(r wire.Result) { p.report(s, r, report) },
	})
	if err != nil {
		refuse(provider.NotSent, err)
	}
}

var errValidity = errors.New("smpp: the validity is over")

// inTime refuses what the session or the message centre would take for a time without end: a zero Deadline, and
// a validity that leaves no period to write.
func inTime(sub provider.Submission, now time.Time) error {
	switch {
	case !now.Before(sub.Deadline):
		return wire.ErrExpired
	case sub.Validity < 0:
		return errValidity
	}
	return nil
}

func wireWritten() { chaos.At(chaos.WireWritten) }

func (p *Provider) report(s *wire.Session, r wire.Result, report provider.Report) {
	o := p.outcomeOf(r)
	if r.Written && p.cfg.Bind != p.cfg.Name {
		o.Bind = p.cfg.Bind
	}
	report(o)
	if r.PDU != nil && r.PDU.Status == wire.StatusInvBindStatus {
		s.Hangup() // the other side does not hold this session for bound: a new bind is the only way on
	}
}

// Free implements provider.Provider.
func (p *Provider) Free() int {
	if s := p.session.Load(); s != nil {
		return s.Free()
	}
	return 0
}

// Changed implements provider.Provider.
func (p *Provider) Changed() <-chan struct{} { return p.changed }

func (p *Provider) freed() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Status implements provider.Provider.
func (p *Provider) Status() string { return p.status.Load().(string) }

// Stop implements provider.Provider.
func (p *Provider) Stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopping = true
	started := p.started
	p.mu.Unlock()
	if !started {
		p.status.Store("stopped")
		return nil
	}
	p.status.Store("stopping")
	p.session.Store(nil)
	if l := p.live.Load(); l != nil {
		l.unbind(ctx)
	}
	p.cancel()
	<-p.ended
	err := p.taker.stop(ctx)
	p.status.Store("stopped")
	return err
}

// Unreachable reports whether the latest try to bind found nobody who answers. A refusal is an answer.
func (p *Provider) Unreachable() bool { return p.far.Load() }

func (p *Provider) isStopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping
}

// pause waits, or ends early with ctx.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
