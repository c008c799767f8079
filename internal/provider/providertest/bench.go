// Package providertest is the conformance suite of package provider: what the gateway relies on, whatever
// carries the messages. Each adapter runs it against a far side of its own.
package providertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider"
)

// Behaviour is what the far side does with a message.
type Behaviour int

// The behaviours. Each far side offers a destination for every one of them.
const (
	Accepts       Behaviour = iota // takes it and reports it delivered
	Rejects                        // refuses it for good
	Throttles                      // refuses it once, then as Accepts
	LosesAnswer                    // takes it and never answers
	Cuts                           // takes it and closes the connection in place of an answer
	ReportsBefore                  // reports it delivered, then answers that it is taken
)

// Bench is one provider, not started, with its far side.
type Bench struct {
	Provider provider.Provider
	// Destination returns a number with the behaviour, in E.164.
	Destination func(Behaviour) string
	// Taken is how many messages the far side took so far.
	Taken func() int
	// Inbound makes the far side send a message from a handset.
	Inbound func(text string)
	// Patience is longer than anything in the suite takes; the provider's own timers must be well below.
	Patience time.Duration
}

// sink records events, and refuses them as long as it is told to.
type sink struct {
	mu      sync.Mutex
	refuse  int // so many Takes more
	refused []provider.RawEvent
	taken   []provider.RawEvent
	arrived chan struct{}
}

var errRefused = errors.New("the store cannot be reached")

func newSink() *sink { return &sink{arrived: make(chan struct{}, 1)} }

func (s *sink) Take(_ context.Context, events []provider.RawEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		select {
		case s.arrived <- struct{}{}:
		default:
		}
	}()
	if s.refuse > 0 {
		s.refuse--
		s.refused = append(s.refused, events...)
		return errRefused
	}
	s.taken = append(s.taken, events...)
	return nil
}

func (s *sink) events() []provider.RawEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]provider.RawEvent(nil), s.taken...)
}

// run is a started provider.
type run struct {
	t *testing.T
	Bench
	sink *sink
}

func start(t *testing.T, open func(*testing.T) Bench) *run {
	t.Helper()
	r := &run{t, open(t), newSink()}
	if r.Provider.Free() != 0 {
		t.Fatal("Free is not 0 before Start")
	}
	if err := r.Provider.Start(t.Context(), r.sink); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	r.ready()
	return r
}

func (r *run) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), r.Patience)
	defer cancel()
	if err := r.Provider.Stop(ctx); err != nil {
		r.t.Errorf("Stop: %v", err)
	}
}

// ready waits until submissions are possible.
func (r *run) ready() {
	r.t.Helper()
	deadline := time.After(r.Patience)
	for r.Provider.Free() == 0 {
		select {
		case <-r.Provider.Changed():
		case <-deadline:
			r.t.Fatalf("not ready: %s", r.Provider.Status())
		}
	}
}

// events waits for n events.
func (r *run) events(n int) []provider.RawEvent {
	r.t.Helper()
	deadline := time.After(r.Patience)
	for {
		if got := r.sink.events(); len(got) >= n {
			return got
		}
		select {
		case <-r.sink.arrived:
		case <-deadline:
			r.t.Fatalf("%d events, want %d", len(r.sink.events()), n)
		}
	}
}

// submission is a message with the behaviour.
func (r *run) submission(b Behaviour) provider.Submission {
	return provider.Submission{
		Attempt: "att_1", Source: "EINMAL", Destination: r.Destination(b), Text: "Your order is confirmed.",
		Reference: 4711, HasReference: true, Validity: time.Hour, Deadline: time.Now().Add(r.Patience),
	}
}

// tally collects the outcomes of one submission.
type tally struct {
	mu    sync.Mutex
	all   []provider.Outcome
	first chan struct{}
}

func newTally() *tally { return &tally{first: make(chan struct{})} }

func (t *tally) report(o provider.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all = append(t.all, o); len(t.all) == 1 {
		close(t.first)
	}
}

// outcomes returns those that are not late, and those that are.
func (t *tally) outcomes() (prompt, late []provider.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.all {
		if o.Late {
			late = append(late, o)
		} else {
			prompt = append(prompt, o)
		}
	}
	return prompt, late
}

// submit submits and waits for the outcome.
func (r *run) submit(s provider.Submission) provider.Outcome {
	r.t.Helper()
	t := newTally()
	r.Provider.Submit(s, t.report)
	return r.wait(t)
}

func (r *run) wait(t *tally) provider.Outcome {
	r.t.Helper()
	select {
	case <-t.first:
	case <-time.After(r.Patience):
		r.t.Fatal("no outcome")
	}
	prompt, _ := t.outcomes()
	return prompt[0]
}

func (r *run) expect(got provider.Outcome, kind provider.OutcomeKind) {
	r.t.Helper()
	if got.Kind != kind || got.Late {
		r.t.Fatalf("%v, late %v (%s %s), want %v", got.Kind, got.Late, got.Code, got.Detail, kind)
	}
}
