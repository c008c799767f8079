package webhook

import (
	"slices"
	"time"
)

// Problem is why a try gave no answer, or none that counts. The words are stored and public, and hold nothing of the
// endpoint's: what it or a resolver wrote may be anything.
type Problem string

// The problems.
const (
	Timeout     Problem = "timeout"           // no answer within the time
	Unreachable Problem = "unreachable"       // no connection
	Unresolved  Problem = "unresolved"        // the name has no address
	BadTLS      Problem = "tls"               // no trusted encryption
	Broken      Problem = "connection_broken" // it ended, or was no HTTP; the endpoint may have the event
	Forbidden   Problem = "forbidden_address" // the address is none that the gateway goes to
	Unbuilt     Problem = "unbuilt"           // the gateway could not make the body
	Disabled    Problem = "disabled"          // the endpoint was switched off or removed meanwhile
	NoTime      Problem = "no_time"           // the lease would have ended on the way
	Waits       Problem = "waits"             // the endpoint failed before its turn
	NoStore     Problem = "no_store"          // the gateway could not read what it needs
)

// Answer is what came of a POST.
type Answer struct {
	Status     int // HTTP; 0: there was none
	Problem    Problem
	RetryAfter time.Duration // what the endpoint asked for; 0: nothing
}

// Verdict is what an answer means.
type Verdict uint8

// The verdicts.
const (
	Took    Verdict = iota + 1 // the endpoint has the event
	Failed                     // another try
	Refused                    // no other try: it says that it is gone
	Unsent                     // it was not posted: nothing is known of the endpoint
)

const gone = 410

var unsent = []Problem{NoTime, Waits, Disabled, NoStore}

// Verdict says what an answer means. Only a 2xx is a yes: a redirect is not followed, and an address that a tenant may
// not reach stays one whatever stands behind it.
func (a Answer) Verdict() Verdict {
	switch {
	case slices.Contains(unsent, a.Problem):
		return Unsent
	case a.Problem == "" && a.Status >= 200 && a.Status < 300:
		return Took
	case a.Problem == "" && a.Status == gone:
		return Refused
	}
	return Failed
}
