// Package binds makes one provider of the binds that this node may use of a connection. Each runs as long as its holder
// says, and no submission begins over one whose time is over.
package binds

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/provider"
)

// Provider is a connection's binds on this node. It begins with none: Hold opens them.
type Provider struct {
	open    func(bind int) provider.Provider
	changed chan struct{}

	mu       sync.Mutex
	ctx      context.Context // of Start; nil: not started
	sink     provider.Sink
	stopping bool
	binds    map[int]*bind
}

// bind is one of them.
type bind struct {
	provider.Provider
	until   time.Time     // no first byte is written over it later
	leaving bool          // nothing more is submitted over it
	gone    chan struct{} // closed when it has ended
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider without binds. open makes one, which is not started yet, each time that one is to be had.
func New(open func(bind int) provider.Provider) *Provider {
	return &Provider{open: open, changed: make(chan struct{}, 1), binds: map[int]*bind{}}
}

// Start implements provider.Provider.
func (p *Provider) Start(ctx context.Context, sink provider.Sink) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx != nil || p.stopping {
		return errors.New("binds: a provider can be started once")
	}
	p.ctx, p.sink = ctx, sink
	return nil
}

// Hold lets a bind be used until an instant, and opens it if it is not there. One that is leaving leaves all the same.
// Before Start and after Stop it does nothing.
func (p *Provider) Hold(n int, until time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil || p.stopping {
		return nil
	}
	b := p.binds[n]
	if b == nil {
		b = &bind{Provider: p.open(n), gone: make(chan struct{})}
		if err := b.Start(p.ctx, p.sink); err != nil {
			return err
		}
		p.binds[n] = b
		go p.forward(b)
	}
	b.until = until
	p.signal() // it may have been without time
	return nil
}

// forward tells of a bind's news as of the whole's.
func (p *Provider) forward(b *bind) {
	for {
		select {
		case <-b.Changed():
			p.signal()
		case <-b.gone:
			return
		}
	}
}

func (p *Provider) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Leave ends a bind in order, as Stop ends all: nothing more is submitted over it, and what is under way is awaited until
// ctx ends. Then it is gone, and may be held anew.
func (p *Provider) Leave(ctx context.Context, n int) error {
	p.mu.Lock()
	b := p.binds[n]
	first := b != nil && !b.leaving
	if first {
		b.leaving = true
	}
	p.mu.Unlock()
	switch {
	case b == nil:
		return nil
	case !first: // who came first ends it
		select {
		case <-b.gone:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := b.Stop(ctx)
	p.mu.Lock()
	delete(p.binds, n)
	p.mu.Unlock()
	close(b.gone)
	return err
}

// Submit implements provider.Provider. It goes over the bind that is the freest of those that have time.
func (p *Provider) Submit(s provider.Submission, report provider.Report) {
	p.mu.Lock()
	defer p.mu.Unlock() // until it is handed over: two must not count on the same place
	var best *bind
	most, now := 0, time.Now()
	for _, b := range p.binds {
		if n := b.usable(now); n > most {
			best, most = b, n
		}
	}
	if best == nil {
		go report(provider.Outcome{Kind: provider.NotSent, Detail: "no bind of the connection is to be had"})
		return
	}
	if best.until.Before(s.Deadline) {
		s.Deadline = best.until
	}
	best.Submit(s, report)
}

// usable is how much may be submitted over the bind.
func (b *bind) usable(now time.Time) int {
	if b.leaving || !now.Before(b.until) {
		return 0
	}
	return b.Free()
}

// Free implements provider.Provider.
func (p *Provider) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, now := 0, time.Now()
	for _, b := range p.binds {
		n += b.usable(now)
	}
	return n
}

// Changed implements provider.Provider.
func (p *Provider) Changed() <-chan struct{} { return p.changed }

// Bound is what the status of a bind says that takes submissions.
const Bound = "bound"

// Status implements provider.Provider. One bind that works is enough for the connection to be bound; else the first
// says what keeps it.
func (p *Provider) Status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, status := -1, "without a bind"
	switch {
	case p.stopping:
		status = "stopped"
	case p.ctx == nil:
		status = "not started"
	}
	for n, b := range p.binds {
		s := b.Status()
		if s == Bound {
			return s
		}
		if first < 0 || n < first {
			first, status = n, s
		}
	}
	return status
}

// Unreachable reports whether none of the binds that there are finds anybody who answers, as far as they can tell.
func (p *Provider) Unreachable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.binds {
		if u, tells := b.Provider.(interface{ Unreachable() bool }); !tells || !u.Unreachable() {
			return false
		}
	}
	return len(p.binds) > 0
}

// Stop implements provider.Provider.
func (p *Provider) Stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopping = true
	var all []int
	for n := range p.binds {
		all = append(all, n)
	}
	p.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() { errs[i] = p.Leave(ctx, n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
