package dispatch

import (
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/provider"
)

// pause keeps claims from a connection whose account or bind is wrong: the next message would fare no better.
type pause struct {
	mu    sync.Mutex
	first time.Duration
	next  time.Duration // how long the next one will be
	until time.Time
	rests time.Time // until when claims rest, see rest
	pace  flow.Pace
}

func (p *pause) on(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Before(p.until) || now.Before(p.rests)
}

// rest holds claims for a moment after "not now". The message itself waits by the store's clock, but the next
// one would get the same answer, and each such answer costs an attempt.
func (p *pause) rest(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rests = until
}

// slow lowers the pace: the provider asks for less.
func (p *pause) slow(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.Slow(now)
}

// share is the pace now.
func (p *pause) share(now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pace.Share(now)
}

// begin starts a pause and reports how long it is. The answers to what was under way say the same thing again:
// they neither lengthen a pause that runs nor double the next one.
func (p *pause) begin(now time.Time) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.until) {
		return 0, false
	}
	length := p.next
	p.until, p.next = now.Add(length), min(2*length, max(longestPause, p.first))
	return length, true
}

// accepted says that the connection works.
func (p *pause) accepted(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.until) {
		p.next = p.first
	}
}

// notePause looks at what an outcome says about the connection as a whole.
func (d *Dispatcher) notePause(o provider.Outcome, now time.Time) {
	switch o.Kind {
	case provider.Accepted:
		d.pause.accepted(now)
	case provider.Throttled, provider.NotSent:
		d.pause.rest(now.Add(d.cfg.Poll))
	}
	if o.SlowDown {
		d.cfg.Metrics.slowed.WithLabelValues(d.cfg.Connection.Name).Inc()
		d.pause.slow(now)
	}
	if !o.PauseConnection {
		return
	}
	if length, begun := d.pause.begin(now); begun {
		d.cfg.Metrics.pauses.WithLabelValues(d.cfg.Connection.Name).Inc()
		d.log().Error("the provider refuses this connection as a whole; nothing is sent over it for a while. Look at its account, its bind and its settings",
			"pause", length, "status", o.Code, "name", o.CodeName)
	}
}
