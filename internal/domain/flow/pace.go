package flow

import "time"

const (
	slowest  = 1.0 / 16
	paceStep = 1.0 / 8
	paceRest = time.Second // between two steps, down or up
)

// Pace is the share of its rate and of its window that a connection is used with. A provider that asks for less
// halves it, once a second at most, since the answers to what was under way all say the same; each second without
// such a request gives an eighth back. The zero value is the full pace.
type Pace struct {
	missing float64 // to the full pace, when it was asked for less the last time
	halved  time.Time
	asked   time.Time
}

// Slow halves the pace.
func (p *Pace) Slow(now time.Time) {
	p.missing = 1 - p.Share(now)
	p.asked = now
	if p.halved.IsZero() || now.Sub(p.halved) >= paceRest {
		p.missing, p.halved = 1-max((1-p.missing)/2, slowest), now
	}
}

// Share is the pace now, from a sixteenth to 1.
func (p *Pace) Share(now time.Time) float64 {
	steps := float64(now.Sub(p.asked) / paceRest)
	return 1 - max(p.missing-steps*paceStep, 0)
}
