package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/trial"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// trialSource has tests whose expectations are complete, so that a store can be held against them.
const trialSource = `policy: trial
version: 1
purposes:
  order: {kind: confirmation, key: [event.id], window: {while: [delivered], at_most: 4s}}
  alert: {kind: alert, key: [event.id], window: 2s}
  code: {kind: authentication, key: [event.version], window: {while: [], at_most: 10m}}
tests:
  - name: bound to states
    send:
      - {at: 0s, purpose: order, event: {id: a}, text: x}
      - {at: 0s, purpose: order, event: {id: a}, text: y}
      - {at: 0s, outcome: sending}
      - {at: 0s, purpose: order, event: {id: a}, text: x}
      - {at: 0s, outcome: accepted}
      - {at: 0s, outcome: delivered}
      - {at: 1s, purpose: order, event: {id: a}, text: x}
      - {at: 6s, purpose: order, event: {id: a}, text: x}
    expect:
      - allow new_intent no_equivalent
      - suppress technical_duplicate same_intent_pending
      - suppress technical_duplicate same_intent_sending
      - suppress technical_duplicate same_intent_delivered
      - allow new_intent window_ended
  - name: out of the window
    send:
      - {at: 0s, purpose: order, event: {id: b}, text: x}
      - {at: 0s, outcome: undelivered}
      - {at: 0s, purpose: order, event: {id: b}, text: x}
      - {at: 0s, outcome: cancelled}
      - {at: 0s, purpose: order, event: {id: b}, text: x}
      - {at: 0s, outcome: rejected}
      - {at: 0s, purpose: order, event: {id: b}, text: x}
    expect: [allow new_intent no_equivalent, allow new_intent window_ended, allow new_intent window_ended, allow new_intent window_ended]
  - name: a duration
    send:
      - {at: 0s, purpose: alert, event: {id: c}, text: x}
      - {at: 0s, outcome: rejected}
      - {at: 0s, purpose: alert, event: {id: c}, text: x}
      - {at: 4s, purpose: alert, event: {id: c}, text: x}
      - {at: 4s, outcome: unknown}
      - {at: 7s, purpose: alert, event: {id: c}, text: x}
    expect:
      - allow new_intent no_equivalent
      - suppress controlled_retry retry_not_permitted
      - allow new_intent window_ended
      - suppress technical_duplicate same_intent_unknown
  - name: every text a version
    send:
      - {at: 0s, purpose: code, event: {version: d}, text: x}
      - {at: 0s, purpose: code, event: {version: d}, text: y}
      - {at: 0s, purpose: code, event: {version: d}, text: y}
      - {at: 0s, outcome: delivered, of: 1}
      - {at: 0s, purpose: code, event: {version: d}, text: x}
      - {at: 0s, purpose: code, event: {version: d}, text: y}
    expect:
      - allow new_intent no_equivalent
      - allow legitimate_repeat other_text_is_a_version
      - suppress technical_duplicate same_intent_pending
      - allow new_intent window_ended
      - suppress technical_duplicate same_intent_pending
`

// testTrial runs the tests of a policy through the store: what they say without one is what the store does.
//
// covers: X3, D3, D6, D17
func testTrial(t *testing.T, h Harness) {
	p, wrong := policy.Parse("trial.yaml", []byte(trialSource))
	if wrong != nil {
		t.Fatal(wrong)
	}
	for _, failure := range trial.Failures(trial.Run(p)) {
		t.Error("without a store: " + failure)
	}
	w := newWorld(t, h)
	w.put(p.Name, p.Version, trialSource)
	for i := range p.Tests {
		w.runTest(p, &p.Tests[i])
	}
}

// tried is a request of a test with the message that it made.
type tried struct {
	id      ident.Message
	attempt *store.Opened
}

func (w *world) runTest(p *policy.Policy, test *policy.Test) {
	w.t.Helper()
	var sends []*tried
	var now time.Duration
	for _, step := range test.Steps {
		if step.At > now {
			w.advance(step.At - now)
			now = step.At
		}
		if step.Send == nil {
			of := step.Of
			if of == 0 {
				of = lastMade(sends)
			}
			w.bring(sends[of-1], step.Outcome)
			continue
		}
		d := w.try(p, step.Send)
		sends = append(sends, &tried{})
		if d.Action == intent.Allow {
			sends[len(sends)-1].id = d.Message.ID
		}
		got := strings.Join([]string{d.Action.String(), d.Class.String(), string(d.Reason)}, " ")
		if want := test.Expect[len(sends)-1].Text; got != want {
			w.t.Errorf("%s: request %d: %s, want %s", test.Name, len(sends), got, want)
		}
	}
}

func lastMade(sends []*tried) int {
	for i := len(sends); i > 0; i-- {
		if !sends[i-1].id.IsZero() {
			return i
		}
	}
	return 0
}

func (w *world) try(p *policy.Policy, s *policy.Send) intent.Decision {
	w.t.Helper()
	sub := w.submission(ask{policy: p.ID(), text: s.Text, to: 47})
	sub.Purpose, sub.Event, sub.ValidFor = p.Purposes[s.Purpose], intent.Event(s.Event), 10*time.Minute
	sub.MakeKeys(s.Text, key)
	out, err := w.Decide(context.Background(), []store.Submission{sub}, intent.Decide)
	must(w.t, err)
	must(w.t, out[0].Err)
	return out[0].Decision
}

// bring takes a message to a state, as a worker and a provider do.
func (w *world) bring(m *tried, to message.State) {
	w.t.Helper()
	if to == message.Cancelled {
		w.settle(cancelled(m.id))
		w.state(m.id, to)
		return
	}
	if m.attempt == nil {
		m.attempt = w.attemptOf(m.id)
	}
	id := m.id.String()
	switch to {
	case message.Sending:
	case message.Rejected:
		w.settle(w.outcome(*m.attempt, message.OutcomeRejected, ""))
	case message.Unknown:
		w.settle(w.outcome(*m.attempt, message.OutcomeUnknown, ""))
	case message.Accepted:
		w.settle(w.outcome(*m.attempt, message.OutcomeAccepted, id))
	default: // the state's name is that of the report
		w.settle(w.outcome(*m.attempt, message.OutcomeAccepted, id))
		w.settle(w.receipt(id, -1, to.String(), 47))
	}
	w.state(m.id, to)
}

// attemptOf opens an attempt of a message, and gives back what else was claimed.
func (w *world) attemptOf(id ident.Message) *store.Opened {
	w.t.Helper()
	var mine *store.Opened
	for _, c := range w.claim(100) {
		if c.Message != id {
			w.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.Returned, Message: c.Message, Fence: c.Fence}, Reference: -1})
			continue
		}
		if opened := w.open([]store.Claimed{c}); len(opened) == 1 {
			mine = &opened[0]
		}
	}
	if mine == nil {
		w.t.Fatalf("%s was not to be had", id)
	}
	return mine
}
