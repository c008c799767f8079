package outbound

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// mappedPolicy is the test policy with rules.
func mappedPolicy(n int, rules string) store.PolicyVersion {
	return version(n, testPolicy+"mapping:\n"+rules)
}

const (
	byHeader = "  - {name: by_header, when: {api_key: old shop}, purpose: order, event: {id: {header: X-Order-Id}, version: {member: metadata.v}}}\n"
	byText   = "  - {name: by_text, when: {text: {matches: 'parcel (?P<parcel>[0-9]+)'}}, purpose: alert, event: {id: {capture: parcel}}}\n"
)

// unnamed is a request of a caller who cannot name an intent.
func unnamed(order string) Submission {
	s := bare(text)
	s.CallerName, s.Header, s.Metadata = "old shop", map[string][]string{"X-Order-Id": {order}}, map[string]string{"v": "1"}
	return s
}

// covers: D18, D14
func TestCallersAreMappedToIntents(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Policy = mappedPolicy(1, byHeader+byText) })
	first, again, other := b.submit(unnamed("A-1")), b.submit(unnamed("A-1")), b.submit(unnamed("A-2"))
	if d := first.Decision; d.Action != intent.Allow || d.MappedBy != "by_header" || d.Rule != "order.window" || string(d.Mode) != "enforce" {
		t.Errorf("the first: %+v", d)
	}
	if d := again.Decision; d.Action != intent.Suppress || d.Message.ID != first.Decision.Message.ID || d.MappedBy != "by_header" {
		t.Errorf("again: %+v", d)
	}
	if other.Decision.Action != intent.Allow {
		t.Errorf("another order: %+v", other.Decision)
	}
	saved := b.store.saved(first.Decision.Message.ID)
	if saved.Event != (intent.Event{ID: "A-1", Version: "1"}) || saved.Purpose.Name != "order" || saved.MappedBy != "by_header" {
		t.Errorf("stored: %+v %s", saved.Event, saved.Purpose.Name)
	}
	plain := bare(text)
	if d := b.submit(plain).Decision; d.MappedBy != "by_text" || d.Rule != "alert.window" {
		t.Errorf("by its text: %+v", d)
	}
	plain.Text = "Hello."
	if d := b.submit(plain).Decision; d.MappedBy != "" || d.Rule != "unnamed.window" {
		t.Errorf("by nothing: %+v", d)
	}
	// Who names a purpose is not mapped, and a mapped intent is the one that others name.
	named := order("A-1")
	if d := b.submit(named).Decision; d.Action != intent.Suppress || d.Message.ID != first.Decision.Message.ID || d.MappedBy != "" {
		t.Errorf("named: %+v", d)
	}
	if got := b.counters()["einmal_decisions_total suppress technical_duplicate enforce order same_intent_pending "]; got != 2 {
		t.Errorf("counted: %v", b.counters())
	}
}

// A version that maps other wise reopens no window: what earlier rules made of the request is looked at, too.
//
// covers: D6, D18
func TestEarlierMappingsReopenNothing(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Policy = mappedPolicy(1, byHeader) })
	first := b.submit(unnamed("A-1"))
	toAlert := strings.NewReplacer("by_header", "to_alert", "purpose: order", "purpose: alert").Replace(byHeader)
	b.store.put(mappedPolicy(2, toAlert))
	if d := b.submit(unnamed("A-1")).Decision; d.PolicyID != "shop@2" || d.Action != intent.Suppress || d.Message.ID != first.Decision.Message.ID || d.MatchedKey.IsZero() {
		t.Errorf("mapped to another purpose: %+v", d)
	}
	second := b.submit(unnamed("A-2"))
	if second.Decision.Action != intent.Allow || second.Decision.Rule != "alert.window" {
		t.Errorf("a new intent: %+v", second.Decision)
	}
	b.store.put(version(3, testPolicy)) // no rules any more
	if d := b.submit(unnamed("A-2")).Decision; d.Action != intent.Suppress || d.Message.ID != second.Decision.Message.ID || d.Rule != "alert.window" || d.Mode != policy.Enforce || d.MappedBy != "" || !strings.Contains(d.Explanation, "an earlier version of the policy takes it for alert") {
		t.Errorf("mapped no more: %+v", d)
	}
	if d := b.submit(unnamed("A-3")).Decision; d.Action != intent.Allow || d.Rule != "unnamed.window" {
		t.Errorf("nothing was sent for it under the rules: %+v", d)
	}
	b.store.put(mappedPolicy(4, strings.Replace(byHeader, "by_header", "renamed", 1)))
	var older []intent.OlderKey
	b.store.before = func(batch []store.Submission) { older = batch[0].Keys.Older }
	if d := b.submit(unnamed("A-1")).Decision; d.Action != intent.Suppress || d.Message.ID != first.Decision.Message.ID || d.MappedBy != "renamed" {
		t.Errorf("mapped as in the beginning: %+v", d)
	}
	if len(older) != 1 { // of version 2; those of version 1 are the same
		t.Errorf("%d older keys", len(older))
	}
}

// A text that was a version of its own under an older key is not sent again under another.
//
// covers: D6, D17
func TestEarlierVersionsOfATextReopenNothing(t *testing.T) {
	b := newBench(t)
	one, two := login("1"), login("1")
	two.Text = "Your code is 2718281828, again"
	b.submit(one)
	second := b.submit(two)
	if second.Decision.Class != intent.LegitimateRepeat {
		t.Fatalf("another code: %+v", second.Decision)
	}
	b.store.put(version(2, strings.Replace(testPolicy, "key: [event.id, event.version]", "key: [event.version]", 1)))
	if d := b.submit(two).Decision; d.PolicyID != "shop@2" || d.Action != intent.Suppress || d.Message.ID != second.Decision.Message.ID {
		t.Errorf("the same code under another key: %+v", d)
	}
	three := two
	three.Text = "Your code is 2718281828, a third"
	if d := b.submit(three).Decision; d.Action != intent.Allow || d.Class != intent.LegitimateRepeat {
		t.Errorf("a third one: %+v", d)
	}
}

// What a rule cannot complete is served as unnamed, or refused where the policy refuses that.
//
// covers: D18
func TestWhatNoRuleCanComplete(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Policy = mappedPolicy(1, byHeader)
		c.Policy.Source = []byte(strings.Replace(string(c.Policy.Source), "region: US", "region: US\nunnamed: refuse", 1))
	})
	s := unnamed("A-1")
	s.Metadata = nil
	if f := b.refused(s, fault.Invalid); f.Fields[0].Pointer != "#/purpose" {
		t.Errorf("fields %q", f.Fields)
	}
	if a := b.submit(unnamed("A-1")); a.Decision.MappedBy != "by_header" {
		t.Errorf("%+v", a.Decision)
	}
}
