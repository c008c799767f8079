package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/domain/message"
)

// Bounds of tests: they run whenever the file is brought into force.
const (
	maxTests = 200
	maxSteps = 100
	maxAt    = 120 * 24 * time.Hour // beyond the longest window and the last receipt
)

const exampleTest = "{name: a second click, send: [{at: 0s, purpose: alert, event: {id: A-1}}], expect: [allow new_intent]}"

// tests reads the tests. Which purposes there are is known when the whole file has been read.
func (r *reader) tests(n ast.Node, p *Policy) {
	s, ok := n.(*ast.SequenceNode)
	switch {
	case !ok:
		r.fail(n, "expected a list of tests, such as [%s]", exampleTest)
		return
	case len(s.Values) > maxTests:
		r.fail(n, "too many tests: at most %d", maxTests)
		return
	}
	names := map[string]bool{}
	for _, v := range s.Values {
		line, _ := position(v)
		t := Test{Line: line}
		r.test(v, &t, p)
		if t.Name != "" && names[t.Name] {
			r.fail(v, "%s comes twice: each test has a name of its own", quoted(t.Name))
		}
		names[t.Name] = true
		p.Tests = append(p.Tests, t)
	}
}

func (r *reader) test(n ast.Node, t *Test, p *Policy) {
	var expect ast.Node
	r.fields(n, n, exampleTest, []field{
		{"name", "what it shows, such as name: a second click texts once", func(n ast.Node) { t.Name = r.phrase(n) }},
		{"send", "the requests, such as send: [{at: 0s, purpose: alert, event: {id: A-1}}]", func(n ast.Node) { r.steps(n, t, p) }},
		{"expect", "what becomes of each request, such as expect: [allow new_intent]", func(n ast.Node) { expect = n }},
	})
	if expect != nil { // after the requests, which it may name
		r.expectations(expect, t)
	}
}

// phrase reads words for people.
func (r *reader) phrase(n ast.Node) string {
	w, ok := word(n)
	if w = strings.TrimSpace(w); !ok || !usable(w) {
		r.fail(n, "expected a few words, at most %d characters", MaxName)
	}
	return w
}

// steps reads the requests and the news, in the order in which they happen.
func (r *reader) steps(n ast.Node, t *Test, p *Policy) {
	s, ok := n.(*ast.SequenceNode)
	if !ok || len(s.Values) == 0 || len(s.Values) > maxSteps {
		r.fail(n, "expected a list of 1 to %d steps, such as [{at: 0s, purpose: alert, event: {id: A-1}}]", maxSteps)
		return
	}
	var last time.Duration
	for _, v := range s.Values {
		line, _ := position(v)
		step := Step{Line: line, At: last}
		r.step(v, &step, t, p)
		if step.At < last {
			r.fail(v, "earlier than the step before: steps are written in the order in which they happen")
		}
		last = max(last, step.At)
		t.Steps = append(t.Steps, step)
	}
}

// step reads one step: with an outcome it is news of a message, else a request.
func (r *reader) step(n ast.Node, step *Step, t *Test, p *Policy) {
	at := field{"at", "when it happens, such as at: 0s", func(n ast.Node) { step.At = r.moment(n, step.At) }}
	if has(n, "outcome") {
		r.fields(n, n, "{at: 5s, outcome: delivered}", []field{at,
			{"outcome", "", func(n ast.Node) { step.Outcome = r.outcome(n) }},
			{"of", "", func(n ast.Node) { step.Of = r.number(n, t.sends()) }},
		})
		if t.sends() == 0 {
			r.fail(n, "news of a message, and no request before it")
		}
		return
	}
	s := &Send{Written: map[string]Written{}}
	s.wrote(n, "#")
	step.Send = s
	r.fields(n, n, "{at: 0s, purpose: alert, event: {id: A-1}}", append([]field{at}, r.sendFields(s, p)...))
}

// has reports whether a mapping has a key.
func has(n ast.Node, key string) bool {
	m, ok := n.(ast.MapNode)
	if !ok {
		return false
	}
	for it := m.MapRange(); it.Next(); {
		if it.Key().GetToken().Value == key {
			return true
		}
	}
	return false
}

// sends is how many requests the test has so far.
func (t *Test) sends() int {
	n := 0
	for _, s := range t.Steps {
		if s.Send != nil {
			n++
		}
	}
	return n
}

// moment reads when a step happens; before is what stands for a time that cannot be read.
func (r *reader) moment(n ast.Node, before time.Duration) time.Duration {
	w, ok := word(n)
	d, readable := parseDuration(w)
	if !ok || !readable || d > maxAt {
		r.fail(n, "not a time since the test's beginning: write a whole number and a unit of s, m, h or d, such as 0s, 15m or 7d")
		return before
	}
	return d
}

// reached are the states that news can bring a message to.
var reached = []message.State{
	message.Sending, message.Accepted, message.EnRoute, message.Delivered, message.Undelivered, message.Rejected,
	message.Failed, message.Expired, message.Cancelled, message.Unknown,
}

func (r *reader) outcome(n ast.Node) message.State {
	var names []string
	for _, s := range reached {
		names = append(names, s.String())
	}
	w, _ := r.oneOf(n, "outcome", names)
	s, _ := message.ParseState(w)
	return s
}

// number reads which request is meant, from 1.
func (r *reader) number(n ast.Node, most int) int {
	w, _ := word(n)
	i, err := strconv.Atoi(w)
	if err != nil || i < 1 || i > most {
		r.fail(n, "not a request of this test: they are counted from 1, and %d came before", most)
		return 0
	}
	return i
}
