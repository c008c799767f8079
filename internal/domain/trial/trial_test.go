package trial

import (
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
)

const purposes = `policy: shop
version: 7
region: US
purposes:
  order: {kind: confirmation, key: [event.id, event.version], window: {while: [delivered], at_most: 30d}}
  alert: {kind: alert, key: [event.id], window: 15m}
  code: {kind: authentication, key: [event.version], window: {while: [], at_most: 10m}}
mapping:
  - {name: by_header, when: {api_key: old shop}, purpose: order, event: {id: {header: X-Order}, version: "1"}}
`

// run runs the tests of a policy.
func run(t testing.TB, source string) []Result {
	t.Helper()
	p, wrong := policy.Parse("shop.yaml", []byte(source))
	if wrong != nil {
		t.Fatal(wrong)
	}
	return Run(p)
}

func passes(t *testing.T, source string) {
	t.Helper()
	for _, r := range run(t, source) {
		for _, d := range r.Differences {
			t.Errorf("%s, line %d: want %s, got %s: %s", r.Test.Name, d.Line, d.Want, d.Got, d.Why)
		}
	}
}

// covers: X3, D3, D4, D6, D17, D18
func TestTestsThatPass(t *testing.T) {
	passes(t, purposes+`
tests:
  - name: a second click does not text twice
    send:
      - {at: 0s, purpose: order, to: "+12025550100", event: {id: A-1, version: "1"}}
      - {at: 3s, purpose: order, to: "(202) 555-0100", event: {id: A-1, version: 1}}
      - {at: 3s, purpose: order, to: "+12025550101", event: {id: A-1, version: "1"}}
    expect: [allow new_intent no_equivalent, suppress technical_duplicate same_intent_pending of 1, allow new_intent]
  - name: what was delivered stays the only one for thirty days
    send:
      - {at: 0s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 5s, outcome: delivered}
      - {at: 29d, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 31d, purpose: order, event: {id: A-1, version: "1"}}
    expect: [allow, suppress technical_duplicate same_intent_delivered, allow new_intent window_ended]
  - name: what was not delivered may be sent again
    send:
      - {at: 0s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 5s, outcome: sending}
      - {at: 5s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 6s, outcome: accepted}
      - {at: 6s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 7s, outcome: undelivered, of: 1}
      - {at: 8s, purpose: order, event: {id: A-1, version: "1"}}
    expect: [allow, suppress technical_duplicate same_intent_sending, suppress technical_duplicate same_intent_accepted, allow new_intent window_ended]
  - name: a duration holds back what failed, too
    send:
      - {at: 0s, purpose: alert, event: {id: A-1}}
      - {at: 1s, outcome: rejected}
      - {at: 2s, purpose: alert, event: {id: A-1}}
      - {at: 15m1s, purpose: alert, event: {id: A-1}}
    expect: [allow, suppress controlled_retry retry_not_permitted, allow new_intent window_ended]
  - name: a lost answer keeps the window open until no receipt can come
    send:
      - {at: 0s, purpose: alert, event: {id: A-1}}
      - {at: 1s, outcome: unknown}
      - {at: 3d, purpose: alert, event: {id: A-1}}
      - {at: 4d1s, purpose: alert, event: {id: A-1}}
    expect: [allow, suppress technical_duplicate same_intent_unknown, allow new_intent window_ended]
  - name: what waited too long is over
    send:
      - {at: 0s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 23h59m, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 24h1s, purpose: order, event: {id: A-1, version: "1"}}
    expect: [allow, suppress technical_duplicate same_intent_pending, allow new_intent window_ended]
  - name: another code is another message, and the same one is not
    send:
      - {at: 0s, purpose: code, event: {version: "1"}, text: "1111"}
      - {at: 1s, purpose: code, event: {version: "1"}, text: "2222"}
      - {at: 2s, purpose: code, event: {version: "1"}, text: "2222"}
      - {at: 3s, purpose: code, event: {version: "1"}, text: "1111"}
    expect: [allow new_intent, allow legitimate_repeat other_text_is_a_version of 1, suppress technical_duplicate of 2, suppress technical_duplicate of 1]
  - name: a caller without an intent is mapped, or only monitored
    send:
      - {at: 0s, api_key: old shop, header: {x-order: A-1}, text: "one"}
      - {at: 1s, purpose: order, event: {id: A-1, version: "1"}, text: "two"}
      - {at: 2s, text: "three"}
      - {at: 3s, text: "three"}
      - {at: 3s, text: "four", answer_lost: true}
      - {at: 4s, text: "four"}
    expect: [allow new_intent, suppress technical_duplicate of 1, allow new_intent, would suppress technical_duplicate of 3, allow new_intent, suppress technical_duplicate answer_not_received of 5]
  - name: what cannot be decided is refused
    send:
      - {at: 0s, purpose: order, event: {id: A-1}}
      - {at: 0s, purpose: alert, event: {id: A-1}, to: "none"}
      - {at: 0s, purpose: alert, event: {id: A-1}, sender: "far too long a sender"}
    expect: [invalid, invalid, invalid]
  - name: cancelled, failed, expired, en route
    send:
      - {at: 0s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 1s, outcome: cancelled}
      - {at: 2s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 3s, outcome: failed}
      - {at: 4s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 5s, outcome: en_route}
      - {at: 6s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 7s, outcome: expired, of: 3}
      - {at: 8s, purpose: order, event: {id: A-1, version: "1"}}
    expect: [allow, allow, allow, suppress technical_duplicate same_intent_en_route of 3, allow]
`)
}

// covers: X3
func TestMonitorAndRefusal(t *testing.T) {
	source := strings.Replace(purposes, "region: US", "mode: monitor\nunnamed: refuse", 1)
	passes(t, source+`
tests:
  - name: monitored
    send:
      - {at: 0s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 1s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 2s, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 2s, text: "hello"}
    expect: [allow new_intent, would suppress technical_duplicate of 1, suppress technical_duplicate same_intent_pending of 1, invalid]
`)
	enforced := strings.Replace(source, "mode: monitor", "mode: enforce", 1)
	for name, c := range map[string]struct {
		source, expect string
		fails          bool
	}{
		"only monitored":              {source, "would suppress", false},
		"whatever the mode":           {source, "suppress", false},
		"enforced":                    {enforced, "suppress", false},
		"enforced, and so not would":  {enforced, "would suppress", true},
		"let through is no new one":   {source, "allow new_intent", true},
		"what is decided is no allow": {source, "allow", true},
	} {
		results := run(t, c.source+"tests: [{name: a, send: [{at: 0s, purpose: alert, event: {id: A}}, {at: 1s, purpose: alert, event: {id: A}}], expect: [allow, "+c.expect+"]}]\n")
		if results[0].Failed() != c.fails {
			t.Errorf("%s: %+v", name, results[0].Differences)
		}
	}
	unnamed := strings.Replace(source, "unnamed: refuse", "unnamed: allow", 1)
	if r := run(t, unnamed+"tests: [{name: a, send: [{at: 0s, text: x}, {at: 1s, text: x}], expect: [allow, suppress]}]\n"); !r[0].Failed() {
		t.Error("what names no purpose is not held back in any mode")
	}
}

// What went otherwise is told with its line, what was expected and why it is as it is.
//
// covers: X3
func TestTestsThatFail(t *testing.T) {
	results := run(t, purposes+`tests:
  - name: wrong
    send:
      - {at: 0s, purpose: alert, event: {id: A-1}}
      - {at: 1s, purpose: alert, event: {id: A-1}}
      - {at: 1s, outcome: delivered}
      - {at: 2s, outcome: cancelled}
      - {at: 2s, purpose: alert}
      - {at: 2s, outcome: delivered, of: 2}
    expect:
      - suppress
      - suppress technical_duplicate same_intent_delivered
      - allow
  - name: right
    send: [{at: 0s, purpose: alert, event: {id: A-1}}]
    expect: [allow]
  - name: of another
    send:
      - {at: 0s, purpose: alert, event: {id: A-1}}
      - {at: 0s, purpose: alert, event: {id: A-2}}
      - {at: 0s, purpose: alert, event: {id: A-1}}
    expect: [allow, allow, suppress of 2]
`)
	type difference struct {
		line, send      int
		want, got, says string
	}
	want := [][]difference{{
		{16, 0, "cancelled", "impossible", "the message is delivered"},
		{18, 0, "delivered", "impossible", "made no message"},
		{20, 1, "suppress", "allow new_intent no_equivalent", "No message for the same"},
		{21, 2, "suppress technical_duplicate same_intent_delivered", "suppress technical_duplicate same_intent_pending of 1", "Message of request 1 for the same purpose, destination and event is waiting to be sent"},
		{22, 3, "allow", "invalid", "event.id (line 17, column 9): the purpose alert needs it"},
	}, {}, {{31, 3, "suppress of 2", "suppress technical_duplicate same_intent_pending of 1", "is waiting"}}}
	for i, r := range results {
		if r.Failed() != (len(want[i]) > 0) || len(r.Differences) != len(want[i]) {
			t.Fatalf("%s: %+v", r.Test.Name, r.Differences)
		}
		for _, w := range want[i] {
			found := false
			for _, d := range r.Differences {
				found = found || d.Line == w.line && d.Send == w.send && d.Want == w.want && d.Got == w.got && strings.Contains(d.Why, w.says)
			}
			if !found {
				t.Errorf("%s: no %+v in %+v", r.Test.Name, w, r.Differences)
			}
		}
	}
	if lines := Failures(results); len(lines) != 6 || !strings.Contains(lines[5], `line 31: the test "of another" expects suppress of 2, and it is suppress`) {
		t.Errorf("%q", lines)
	}
}

// The words of expectations are those of decisions: one that is renamed or added there is here as well.
func TestWords(t *testing.T) {
	actions, classes := map[string]bool{}, map[string]bool{}
	for n := range uint8(255) {
		actions[intent.Action(n).String()], classes[intent.Class(n).String()] = true, true
	}
	delete(actions, "")
	delete(actions, intent.Refused.String()) // by rules beside deduplication, which a policy's tests are not about
	delete(classes, "")
	same := func(what string, have map[string]bool, words []string) {
		if len(have) != len(words) {
			t.Errorf("%s: %v, and expectations know %v", what, have, words)
		}
		for _, w := range words {
			if !have[w] {
				t.Errorf("no %s is called %s", what, w)
			}
		}
	}
	same("action", actions, policy.ExpectedActions())
	same("class", classes, policy.ExpectedClasses())
	reasons := map[string]bool{
		string(intent.ReasonNoEquivalent): true, string(intent.ReasonWindowEnded): true, string(intent.ReasonOtherText): true,
		string(intent.ReasonRetryNotPermitted): true, string(intent.ReasonUnanswered): true,
	}
	for _, s := range message.States() {
		reasons["same_intent_"+s.String()] = true
	}
	same("reason", reasons, policy.ExpectedReasons())
}

// Whatever a file says, its tests end, and say the same each time.
func FuzzRun(f *testing.F) {
	f.Add(purposes + "tests:\n  - {name: a, send: [{at: 0s, purpose: order, event: {id: A, version: 1}}, {at: 1s, outcome: delivered}, {at: 2d, api_key: old shop, header: {x-order: A}}], expect: [allow, suppress]}\n")
	f.Add(purposes + "tests:\n  - {name: b, send: [{at: 0s, text: x}, {at: 1s, text: x, answer_lost: true}, {at: 1s, outcome: unknown, of: 1}, {at: 9d, text: x}], expect: [allow, would suppress, allow]}\n")
	f.Fuzz(func(t *testing.T, source string) {
		p, wrong := policy.Parse("fuzz.yaml", []byte(source))
		if wrong != nil {
			return
		}
		if a, b := Failures(Run(p)), Failures(Run(p)); !slices.Equal(a, b) {
			t.Fatalf("%q, then %q", a, b)
		}
	})
}
