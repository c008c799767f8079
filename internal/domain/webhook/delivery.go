package webhook

import (
	"slices"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
)

// State is where the delivery of an event to an endpoint stands. The numbers are stored.
type State uint8

// The states.
const (
	Pending    State = 1
	Delivering State = 2
	Delivered  State = 3
	Dead       State = 4
)

// states is the table: spellings, meanings, and where each may move. Delivered wins whatever is learned in which order:
// the endpoint has it. A person may have either end told again.
var states = []struct {
	name, about string
	to          []State
}{
	Pending:    {"pending", "It waits for its first try or for the next one.", []State{Delivering, Delivered, Dead}},
	Delivering: {"delivering", "A node has it in hand until its lease ends; then another one takes it.", []State{Pending, Delivering, Delivered, Dead}},
	Delivered:  {"delivered", "The endpoint answered with a status from 200 to 299.", []State{Pending}},
	Dead:       {"dead", "A dead letter: the last try has failed, the endpoint answered 410, or it was disabled for as long as tries go on. It is kept, and tried again when somebody asks for it.", []State{Pending, Delivered}},
}

// States lists them, in the order of their numbers.
func States() []State { return []State{Pending, Delivering, Delivered, Dead} }

// String returns the state's spelling, "" for a number that is none.
func (s State) String() string {
	if int(s) >= len(states) {
		return ""
	}
	return states[s].name
}

// ParseState reads a spelling.
func ParseState(name string) (State, bool) {
	for _, s := range States() {
		if states[s].name == name {
			return s, true
		}
	}
	return 0, false
}

// Allowed reports whether a delivery may move from one state to another.
func Allowed(from, to State) bool {
	return int(from) < len(states) && slices.Contains(states[from].to, to)
}

// Delivery is what changes of one.
type Delivery struct {
	State    State
	Fence    int64        // how often it was claimed: each time it is posted at most once
	Failures int          // tries that failed, since it was made or asked for again
	NextAt   clock.Micros // when it is due; while it is delivering, when the lease ends
	DoneAt   clock.Micros // when it was delivered or given up; 0: it is neither
	Status   int          // of the last answer; 0: there was none
	Problem  Problem      // of the last try; "": none
}

// Result is how a try ended.
type Result struct {
	Fence  int64 // of the claim that it was made under
	Answer Answer
	Jitter float64 // from 0 up to 1: chance, drawn by whoever reports
}

// Settle says what becomes of a delivery by a result. A delivered event stays so, and becomes so whoever reports it: a
// worker that was paused past its lease knows, too. Every other result counts only under the claim that it belongs to.
func Settle(d Delivery, r Result, now clock.Micros) Delivery {
	verdict := r.Answer.Verdict()
	if d.State == Delivered || verdict != Took && (d.State != Delivering || d.Fence != r.Fence) {
		return d
	}
	if verdict == Unsent {
		d.State, d.NextAt = Pending, now
		if r.Answer.Problem == NoStore {
			d.NextAt = now.Add(noStoreAgain)
		}
		return d
	}
	d.Status, d.Problem = r.Answer.Status, r.Answer.Problem
	switch verdict {
	case Took:
		d.State, d.DoneAt = Delivered, now
	case Refused:
		d.Failures++
		d.State, d.DoneAt = Dead, now
	case Failed:
		d.Failures++
		after, more := Next(d.Failures, r.Answer.RetryAfter, r.Jitter)
		if !more {
			d.State, d.DoneAt = Dead, now
			return d
		}
		d.State, d.NextAt = Pending, now.Add(after)
	}
	return d
}

// Abandon gives a delivery up whose endpoint was disabled for longer than Patience.
func Abandon(d Delivery, now clock.Micros) Delivery {
	if Allowed(d.State, Dead) {
		d.State, d.DoneAt, d.Problem = Dead, now, Disabled
	}
	return d
}

// Again is a delivery that a person wants to be told once more, with all its tries before it.
func Again(d Delivery, now clock.Micros) (Delivery, bool) {
	if d.State != Dead && d.State != Delivered {
		return d, false
	}
	return Delivery{State: Pending, Fence: d.Fence, NextAt: now, Status: d.Status, Problem: d.Problem}, true
}

// schedule is how long a try that failed is followed by the next one: quickly where an endpoint restarts, and for three
// days in all, so that a weekend loses nothing.
var schedule = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 24 * time.Hour, 30 * time.Hour,
}

// Patience is how long an event is tried in all. One whose endpoint is disabled waits as long to be tried.
func Patience() (all time.Duration) {
	for _, pause := range schedule {
		all += pause
	}
	return all
}

// Tries is how often an event is tried at most.
func Tries() int { return len(schedule) + 1 }

const (
	// noStoreAgain is the pause after the gateway could not read what it needs: it is no reason to ask it all the time.
	noStoreAgain = time.Second
	// spread is how much of a pause is left to chance, so that what failed together does not come back together.
	spread = 0.2
	// longestAsked bounds what an endpoint may ask for with Retry-After.
	longestAsked = 24 * time.Hour
)

// Next is the pause after so many failures, false if there is no other try. An endpoint may ask for a longer one.
func Next(failures int, asked time.Duration, jitter float64) (time.Duration, bool) {
	if failures > len(schedule) {
		return 0, false
	}
	pause := schedule[max(failures, 1)-1]
	pause += time.Duration((jitter - 0.5) * 2 * spread * float64(pause))
	return max(pause, min(asked, longestAsked)), true
}
