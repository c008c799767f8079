package intent

import (
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// storm is a key that a message holds, and its repeats.
type storm struct {
	facts *Facts
	first ident.Message
}

func newStorm() *storm {
	f := &Facts{Now: 1_000_000_000_000, Holders: map[Key]*Holder{}, Answered: map[Key]*Answered{}}
	r := stormRequest()
	Decide(r, f)
	return &storm{f, r.Message}
}

func stormRequest() *Request {
	return seal(&Request{Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: "A-1", Version: "1"}, Sender: "SHOP"}, "text")
}

// repeats sends n repeats at once and counts their kinds.
func (s *storm) repeats(t *testing.T, n int) map[Kind]int {
	t.Helper()
	kinds := map[Kind]int{}
	for range n {
		res := Decide(stormRequest(), s.facts)
		kinds[res.Kind]++
		if res.Decision.Action != Suppress || res.Decision.Message.ID != s.first {
			t.Fatalf("a repeat was %s and named message %s", res.Decision.Action, res.Decision.Message.ID)
		}
		if (res.Kind == Stormed) != (res.RetryAfter > 0) {
			t.Fatalf("kind %d with a wait of %s", res.Kind, res.RetryAfter)
		}
	}
	return kinds
}

func (s *storm) pass(d time.Duration) { s.facts.Now = s.facts.Now.Add(d) }

// covers: D7, D14
func TestStorm(t *testing.T) {
	s := newStorm()
	if got := s.repeats(t, RunAbove); got[Decided] != RunAbove {
		t.Fatalf("the first repeats: %v", got)
	}
	start := Decide(stormRequest(), s.facts)
	if start.Kind != Decided || !strings.Contains(start.Decision.Explanation, "repeat 101 within a minute") {
		t.Fatalf("the run begins with kind %d: %s", start.Kind, start.Decision.Explanation)
	}
	counted := Decide(stormRequest(), s.facts)
	if counted.Kind != Counted || counted.Decision.ID != start.Decision.ID || counted.Decision.Explanation == start.Decision.Explanation {
		t.Fatalf("a repeat of the run: kind %d, decision %s", counted.Kind, counted.Decision.ID)
	}
	if got := s.repeats(t, StormAbove-RunAbove-2); got[Counted] != StormAbove-RunAbove-2 {
		t.Fatalf("up to the limit: %v", got)
	}
	if got := s.repeats(t, 500); got[Stormed] != 500 {
		t.Fatalf("beyond it: %v", got)
	}
	if n := s.facts.Repeats[stormRequest().Keys.Intent]; n.Added != StormAbove-RunAbove+500 || n.Run != start.Decision.ID {
		t.Errorf("the run has %d repeats", n.Added)
	}
	s.pass(stormMinute)
	if got := s.repeats(t, 150); got[Counted] != 150 {
		t.Errorf("a storm that goes on: %v", got)
	}
	s.pass(stormMinute)
	if got := s.repeats(t, 3); got[Counted] != 3 {
		t.Errorf("its last repeats: %v", got)
	}
	s.pass(stormMinute)
	if got := s.repeats(t, 3); got[Decided] != 3 {
		t.Errorf("after a quiet minute: %v", got)
	}
}

// A storm that nobody heard of for two minutes is over, however strong it was.
func TestStormEnds(t *testing.T) {
	s := newStorm()
	s.repeats(t, 2000)
	s.pass(2 * stormMinute)
	if got := s.repeats(t, 3); got[Decided] != 3 {
		t.Errorf("after two minutes: %v", got)
	}
}

// A repeat with an idempotency key is recorded, so that its answer can be given again; too many are refused all the
// same, and a refusal takes no key.
//
// covers: D8
func TestStormWithIdempotencyKeys(t *testing.T) {
	s := newStorm()
	keyed := func(k string) Result {
		r := stormRequest()
		r.Idempotency = Idempotency{Key: hashed([]byte(k))}
		return Decide(r, s.facts)
	}
	s.repeats(t, RunAbove+50)
	if res := keyed("a"); res.Kind != Decided || len(res.Reserve) != 1 {
		t.Errorf("in a run: kind %d, %d reservations", res.Kind, len(res.Reserve))
	}
	s.repeats(t, StormAbove)
	if res := keyed("b"); res.Kind != Stormed || len(res.Reserve) != 0 {
		t.Errorf("in a storm: kind %d, %d reservations", res.Kind, len(res.Reserve))
	}
	if res := keyed("a"); res.Kind != Replayed {
		t.Errorf("a replay in a storm: kind %d", res.Kind)
	}
}

// What is meant counts as no repeat: a new window begins at nothing.
func TestNewWindowEndsAStorm(t *testing.T) {
	s := newStorm()
	s.repeats(t, 500)
	h := s.facts.Holders[stormRequest().Keys.Intent]
	h.Ends, h.Message.State, h.Message.Final = clock.Micros(1), message.Undelivered, true
	if res := Decide(stormRequest(), s.facts); res.Decision.Action != Allow {
		t.Fatalf("after the window: %s", res.Decision.Action)
	}
	if s.facts.Repeats[stormRequest().Keys.Intent] != nil {
		t.Error("the new message begins with the repeats of the old one")
	}
}
