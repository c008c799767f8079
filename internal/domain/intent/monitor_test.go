package intent

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"pgregory.net/rapid"
)

// monitored is the request under a policy that only monitors.
func monitored(r *Request) *Request {
	m := *r
	m.Purpose.Mode = policy.Monitor
	return &m
}

// facts is what the world's store would read, with holders of its own.
func (w *world) facts() *Facts {
	f := &Facts{Now: w.now, Holders: map[Key]*Holder{}, Answered: maps.Clone(w.answered)}
	for k, h := range w.holders {
		one := *h
		f.Holders[k] = &one
	}
	return f
}

// Over equal facts a monitored request is decided as an enforced one, but for what is done: class, reason, rule,
// what it was compared with and until when are the same, and idempotency keys are kept as ever.
//
// covers: X3, D4, D8
func TestMonitorDiffersInTheActionAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for _, r := range rapid.SliceOfN(requests(), 0, 12).Draw(t, "before") {
			w.decide(r)
			if s := some(t, w); s != nil && rapid.Bool().Draw(t, "ends") {
				w.end(s, rapid.SampledFrom([]message.State{message.Delivered, message.Undelivered}).Draw(t, "state"))
			}
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 10).Draw(t, "minutes")) * time.Minute)
		}
		r := requests().Draw(t, "request")
		r.Purpose.Mode = policy.Enforce
		enforced, monitoring := w.facts(), w.facts()
		want, got := Decide(r, enforced), Decide(monitored(r), monitoring)
		if want.Kind == Decided {
			checkMonitored(t, &want, &got)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("enforced\n%+v\nmonitored\n%+v", want, got)
		}
		if !reflect.DeepEqual(enforced.Holders, monitoring.Holders) {
			t.Fatal("what is only monitored changed who holds a key")
		}
	})
}

// checkMonitored looks at what may differ, and makes it equal.
func checkMonitored(t *rapid.T, want, got *Result) {
	if got.Decision.Mode != policy.Monitor || got.Decision.Action != Allow {
		t.Fatalf("monitored: %+v", got.Decision)
	}
	got.Decision.Mode = want.Decision.Mode
	if want.Decision.Action == Allow {
		return
	}
	if got.Decision.Would != Suppress || got.Decision.Message.State != message.Pending || !strings.Contains(got.Decision.Explanation, "only monitors") {
		t.Fatalf("let through: %+v", got.Decision)
	}
	got.Decision.Would, got.Decision.Action = 0, want.Decision.Action
	got.Decision.Message, got.Decision.Explanation = want.Decision.Message, want.Decision.Explanation
}

// What is let through takes no key: the first message stays the holder, its window ends when it would have, and once
// the policy enforces, a repeat is answered with it.
//
// covers: X3, D6, I2
func TestWhatIsLetThroughHoldsNothing(t *testing.T) {
	w := newWorld()
	first := monitored(&Request{Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"})
	w.decide(seal(first, "text"))
	ends := w.holders[first.Keys.Intent].Ends
	w.now = w.now.Add(10 * time.Minute)
	second := *first
	res := w.decide(seal(&second, "other"))[0]
	if d := res.Decision; d.Action != Allow || d.Would != Suppress || d.Compared != first.Message || d.Message.ID != second.Message || *d.SameText {
		t.Errorf("let through: %+v", d)
	}
	if strings.Contains(res.Decision.Explanation, "not sent") {
		t.Errorf("it was sent: %s", res.Decision.Explanation)
	}
	if h := w.holders[first.Keys.Intent]; len(res.Reserve) != 0 || h.Message.ID != first.Message || h.Ends != ends {
		t.Errorf("held until %d by %s, reserved %v", h.Ends, h.Message.ID, res.Reserve)
	}
	third := *first
	third.Purpose.Mode = policy.Enforce
	if d := w.decide(seal(&third, "text"))[0].Decision; d.Action != Suppress || d.Message.ID != first.Message || d.Would != 0 {
		t.Errorf("enforced: %+v", d)
	}
}

// A request that names no purpose is held back while the answer to an equal one may be lost, and no longer.
//
// covers: D18
func TestUnnamedAndUnanswered(t *testing.T) {
	purpose, _ := policy.Builtin().Unnamed()
	w := newWorld()
	ask := func() (*Request, Decision) {
		r := seal(&Request{Tenant: 1, PolicyID: "builtin@1", Purpose: purpose, To: number("+12025550143"), Sender: "s"}, "text")
		r.Keys.Unanswered = hashed(UnansweredForm(r.Keys.Intent))
		return r, w.decide(r)[0].Decision
	}
	first, _ := ask()
	w.now = w.now.Add(policy.UnnamedWindow - time.Second)
	if _, d := ask(); d.Action != Suppress || d.Reason != ReasonUnanswered || d.Message.ID != first.Message || d.MatchedKey != first.Keys.Unanswered {
		t.Fatalf("while the answer may be lost: %+v", d)
	}
	w.now = w.now.Add(2 * time.Second)
	second, d := ask()
	if d.Action != Allow {
		t.Fatalf("after two minutes: %+v", d)
	}
	w.holders[second.Keys.Unanswered].Message.State = message.Delivered
	if _, d := ask(); d.Action != Suppress || !strings.Contains(d.Explanation, "was reported delivered") {
		t.Errorf("delivered, and the answer lost: %+v", d)
	}
	w.holders[second.Keys.Unanswered].Ends = w.now // its answer got out
	if _, d := ask(); d.Action != Allow || d.Would != Suppress || d.Compared != first.Message {
		t.Errorf("once the answer got out: %+v", d)
	}
	if h := w.holders[second.Keys.Unanswered]; h.Ends <= w.now {
		t.Error("the last answer is not awaited")
	}
}

// However often it is repeated, each that is let through has a decision of its own: it has a message of its own.
//
// covers: X3, I11
func TestWhatIsLetThroughIsNoStorm(t *testing.T) {
	w := newWorld()
	ask := func() Result {
		r := monitored(&Request{Tenant: 1, Purpose: purposes[1], To: number("+12025550143"), Event: Event{ID: "a"}})
		return w.decide(seal(r, "text"))[0]
	}
	first := ask()
	for i := range 2 * RunAbove {
		if res := ask(); res.Kind != Decided || res.Decision.Action != Allow || res.Decision.Compared != first.Decision.Message.ID {
			t.Fatalf("repeat %d: %+v", i, res)
		}
	}
}

// A request that names no purpose is told from others by all that it has.
//
// covers: D1, D18
func TestUnnamed(t *testing.T) {
	purpose, ok := policy.Builtin().Unnamed()
	if !ok {
		t.Fatal("refused by the built-in policy")
	}
	w := newWorld()
	ask := func(to, text string, change func(*Request)) Decision {
		r := &Request{Tenant: 1, PolicyID: "builtin@1", Purpose: purpose, To: number(to), Sender: "s"}
		if change != nil {
			change(r)
		}
		return w.decide(seal(r, text))[0].Decision
	}
	first := ask("+12025550143", "text", nil)
	if first.Action != Allow || first.Class != NewIntent || first.Would != 0 || first.Rule != "unnamed.window" || first.Mode != policy.Monitor {
		t.Errorf("the first: %+v", first)
	}
	again := ask("+12025550143", "text", nil)
	if again.Action != Allow || again.Class != TechnicalDuplicate || again.Would != Suppress || again.Compared != first.Message.ID || again.Message.ID == first.Message.ID {
		t.Errorf("the same again: %+v", again)
	}
	for name, d := range map[string]Decision{
		"another destination": ask("+12025550144", "text", nil),
		"another text":        ask("+12025550143", "other", nil),
		"another sender":      ask("+12025550143", "text", func(r *Request) { r.Sender = "x" }),
		"an event":            ask("+12025550143", "text", func(r *Request) { r.Event.ID = "x" }),
		"a correlation id":    ask("+12025550143", "text", func(r *Request) { r.CorrelationID = "x" }),
	} {
		if d.Action != Allow || d.Would != 0 || d.Class != NewIntent {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
