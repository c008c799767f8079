// Package trial runs the tests of a policy file: its requests are decided by intent.Decide and what is said of their
// messages goes through evidence.Case, as in the gateway, in virtual time and with nothing beside.
//
// A test that passes here says what the policy does there: the conformance suite of the stores runs the same steps
// through both.
package trial

import (
	"fmt"
	"strings"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
)

// Result is what became of one test.
type Result struct {
	Test *policy.Test
	// Differences are where it went otherwise than expected; none: the test passes.
	Differences []Difference
}

// Difference is one thing that was expected otherwise.
type Difference struct {
	Line      int // in the file: of the expectation, or of the step that could not be done
	Send      int // the request, counted from 1; 0: news of a message
	Want, Got string
	Why       string // the decision's explanation, or why the step could not be done
	// Wrong is for what the request would be refused.
	Wrong []Wrong
}

// Failed reports whether a test went otherwise than expected.
func (r *Result) Failed() bool { return len(r.Differences) > 0 }

// Run runs all tests of a policy, each in a world of its own.
func Run(p *policy.Policy) []Result {
	results := make([]Result, len(p.Tests))
	for i := range p.Tests {
		results[i] = runTest(p, &p.Tests[i])
	}
	return results
}

// Failures are the tests that failed, each in one line: where, and what was expected.
func Failures(results []Result) []string {
	var all []string
	for i := range results {
		for _, d := range results[i].Differences {
			line := fmt.Sprintf("line %d: the test %q expects %s, and it is %s", d.Line, results[i].Test.Name, d.Want, d.Got)
			if len(d.Wrong) > 0 {
				line += ": " + d.Why
			}
			all = append(all, line)
		}
	}
	return all
}

// began is the moment at which every test begins; nothing depends on it.
const began clock.Micros = 1_767_225_600_000_000 // 2026-01-01 00:00:00 UTC

func runTest(p *policy.Policy, t *policy.Test) Result {
	w := newWorld(p)
	result := Result{Test: t}
	for i := range t.Steps {
		step := &t.Steps[i]
		w.advance(began.Add(step.At))
		if step.Send == nil {
			if err := w.news(step); err != nil {
				result.Differences = append(result.Differences, Difference{Line: step.Line, Want: step.Outcome.String(), Got: "impossible", Why: err.Error()})
			}
			continue
		}
		answer := w.send(step.Send)
		want := &t.Expect[len(w.sent)-1]
		if !w.meets(want, &answer) {
			result.Differences = append(result.Differences, Difference{
				Line: want.Line, Send: len(w.sent), Want: want.Text, Got: w.words(&answer), Why: w.why(&answer), Wrong: answer.invalid,
			})
		}
	}
	return result
}

// answer is what a request got: a decision, or a refusal.
type answer struct {
	intent.Decision
	unnamed bool    // the request names no purpose, and no rule is for it
	invalid []Wrong // what is missing or wrong
}

// decided is the action that deduplication decides on, whatever the policy's mode does with it: a file keeps its tests
// when its mode is switched. What names no purpose is monitored in every mode.
func (a *answer) decided() intent.Action {
	if a.Would != 0 && !a.unnamed {
		return a.Would
	}
	return a.Action
}

// why is the decision's explanation, in which messages are known by their requests.
func (w *world) why(a *answer) string {
	if len(a.invalid) > 0 {
		return refusal(a.invalid)
	}
	words := a.Explanation
	for i, id := range w.sent {
		if !id.IsZero() {
			words = strings.ReplaceAll(words, "Message "+id.String(), fmt.Sprintf("Message of request %d", i+1))
		}
	}
	return words
}

// refusal says what is wrong with a request, and where.
func refusal(wrong []Wrong) string {
	all := make([]string, len(wrong))
	for i, m := range wrong {
		all[i] = fmt.Sprintf("%s (line %d, column %d): %s", m.Member, m.Line, m.Column, m.Detail)
	}
	return strings.Join(all, "; ")
}

// meets compares an answer with what was expected of it.
func (w *world) meets(e *policy.Expectation, a *answer) bool {
	if refused := len(a.invalid) > 0; e.Invalid || refused {
		return e.Invalid && refused
	}
	action := a.decided()
	if e.Would {
		action = a.Would
	}
	said := func(want, got string) bool { return want == "" || want == got }
	return said(e.Action, action.String()) && said(e.Class, a.Class.String()) && said(e.Reason, string(a.Reason)) &&
		(e.Of == 0 || w.sent[e.Of-1] == a.Compared && !a.Compared.IsZero())
}

// words writes an answer as expectations are written.
func (w *world) words(a *answer) string {
	if len(a.invalid) > 0 {
		return "invalid"
	}
	words := []string{a.Action.String(), a.Class.String(), string(a.Reason)}
	if a.Would != 0 {
		words = append([]string{"would"}, append([]string{a.Would.String()}, words[1:]...)...)
	}
	for i, id := range w.sent {
		if id == a.Compared && !id.IsZero() {
			words = append(words, fmt.Sprintf("of %d", i+1))
		}
	}
	return strings.Join(words, " ")
}
