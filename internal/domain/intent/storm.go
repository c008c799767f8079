package intent

import (
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// A key that is asked for again and again is a fault of the caller's, a loop most often. Each repeat is still
// answered with the message that exists, but it does not get a record of its own for ever, and beyond any use it is
// told to wait. Both limits are far above what people and retries do.
const (
	// RunAbove is how many repeats of one key in a minute are recorded one by one; further ones are counted in the
	// run that the first of them begins.
	RunAbove = 100
	// StormAbove is how many are answered; further ones are refused until the minute is over.
	StormAbove = 1000
)

const stormMinute = time.Minute

// Repeats counts the repeats of one key.
type Repeats struct {
	Since clock.Micros // when the minute began that is being counted
	Count int          // repeats in it
	// Run is the decision that stands for the run; zero: there is none.
	Run ident.Decision
	// Added is how many repeats this batch adds to the run. The store adds it to what it has.
	Added   int
	Changed bool
}

// add counts one repeat. A run goes on into the next minute if the last one was full of repeats too.
func (n *Repeats) add(now clock.Micros) {
	if now >= n.Since.Add(stormMinute) {
		if n.Count <= RunAbove || now >= n.Since.Add(2*stormMinute) {
			n.Run = ident.Decision{}
		}
		n.Since, n.Count = now, 0
	}
	n.Count++
	n.Changed = true
}

// repeat counts a repeat under its key and says what it is: recorded, counted in a run, or too many. A repeat with
// an idempotency key of its own is recorded while it is answered, since its answer must be given again (D8).
func (f *Facts) repeat(k Key, r *Request, res *Result) {
	n := f.Repeats[k]
	if n == nil {
		if f.Repeats == nil {
			f.Repeats = map[Key]*Repeats{}
		}
		n = &Repeats{}
		f.Repeats[k] = n
	}
	n.add(f.Now)
	d := &res.Decision
	switch {
	case n.Count <= RunAbove && n.Run.IsZero():
	case n.Run.IsZero():
		n.Run, n.Added = d.ID, n.Added+1
		d.Explanation += fmt.Sprintf(" This %s repeat %d within a minute: further ones are counted with %s and not recorded one by one.",
			r.says("is", "would be"), n.Count, r.says("this decision", "the first of them"))
	case n.Count > StormAbove:
		res.Kind, d.ID, n.Added = Stormed, n.Run, n.Added+1
		res.RetryAfter = time.Duration(n.Since.Add(stormMinute)-f.Now) * time.Microsecond
	case r.Idempotency.Key.IsZero():
		res.Kind, d.ID, n.Added = Counted, n.Run, n.Added+1
	}
}
