package outbound

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/store"
)

const orderKey = "key: [event.id, event.version, sender]"

// keyedBy is a version of the policy with another key of the purpose order.
func keyedBy(n int, parts string) store.PolicyVersion {
	return version(n, strings.Replace(testPolicy, orderKey, "key: ["+parts+"]", 1))
}

// put makes versions the policy in force, one after the other; the first of them is version 2.
func (b *bench) put(parts ...string) {
	b.t.Helper()
	for i, p := range parts {
		b.store.put(keyedBy(i+2, p))
	}
}

// However many versions came in between, a window that began under the first one still runs.
//
// covers: D6
func TestVersionsThatAlternateReopenNothing(t *testing.T) {
	b := newBench(t)
	first := b.submit(order("A-1"))
	b.put("event.id", "event.id, event.version", "event.id", "event.id, event.version", "event.id")
	var older [][]intent.OlderKey
	b.store.before = func(batch []store.Submission) { older = append(older, batch[0].Keys.Older) }
	a := b.submit(order("A-1"))
	if a.Decision.PolicyID != "shop@6" || a.Decision.Action != intent.Suppress || a.Decision.Message.ID != first.Decision.Message.ID {
		t.Errorf("under the first version's key: %+v", a.Decision)
	}
	// Six versions have three definitions, of which one is the current.
	if got := older[len(older)-1]; len(got) != 2 || got[0].Key == got[1].Key {
		t.Errorf("%d older keys", len(got))
	}
	if a := b.submit(order("A-2")); a.Decision.Action != intent.Allow {
		t.Errorf("another intent: %+v", a.Decision)
	}
}

// A version that changes something else, or the order of the parts, makes no other key and costs none. After a
// restart it is the same.
//
// covers: D6
func TestEqualDefinitionsCostNoKey(t *testing.T) {
	b := newBench(t)
	first := b.submit(order("A-1"))
	b.put("event.id", "sender, event.version, event.id", "event.id", "event.version, event.id, sender", "event.version, sender, event.id")
	cfg := b.cfg
	cfg.Metrics, cfg.Policy = nil, keyedBy(6, "event.version, sender, event.id")
	again := New(cfg)
	defer again.Close()
	if err := again.Start(bg); err != nil {
		t.Fatal(err)
	}
	p, err := again.policies.inForce(bg)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.older["order"]; len(p.older) != 1 || len(got) != 1 || !slices.Equal(got[0].Key, []policy.KeyPart{policy.KeyEventID}) {
		t.Errorf("%+v", p.older)
	}
	a, err := again.Submit(bg, order("A-1"))
	if err != nil || a.Decision.PolicyID != "shop@6" || a.Decision.Message.ID != first.Decision.Message.ID {
		t.Errorf("%+v, %v", a.Decision, err)
	}
}

// A definition that needs what the request does not have cannot have seen this intent.
func TestOlderDefinitionsThatNeedMore(t *testing.T) {
	b := newBench(t)
	b.put("event.id, correlation_id", "event.id")
	var older []intent.OlderKey
	b.store.before = func(batch []store.Submission) { older = batch[0].Keys.Older }
	b.submit(alert("A-1")) // by which the service learns of the new policy
	b.submit(order("A-1"))
	if len(older) != 1 {
		t.Errorf("%d older keys, of which one needs a correlation id", len(older))
	}
	s := order("A-2")
	s.CorrelationID = "c"
	b.submit(s)
	if len(older) != 2 {
		t.Errorf("%d older keys", len(older))
	}
}

// A version that was read is not read again: versions may be many, and all wait for the first after a change.
func TestVersionsAreReadOnce(t *testing.T) {
	b := newBench(t)
	b.put("event.id", "event.id, sender")
	b.submit(order("A-1"))
	first := b.policies.read["shop@2"]
	b.store.put(keyedBy(4, "event.id"))
	b.submit(order("A-2"))
	if first == nil || b.policies.read["shop@2"] != first || b.policies.read["shop@3"] == nil {
		t.Errorf("read: %v", b.policies.read)
	}
}

// BenchmarkPolicyLoaded is what a node pays once for each new policy, with the most versions that it reads.
func BenchmarkPolicyLoaded(b *testing.B) {
	m := newMemory()
	parts := []string{"event.id", "event.id, event.version", "event.id, sender", "event.id, event.type"}
	for n := range maxVersions {
		m.put(keyedBy(n+1, parts[n%len(parts)]))
	}
	for b.Loop() {
		p := &policies{store: m}
		if now, err := p.inForce(bg); err != nil || len(now.older["order"]) != len(parts)-1 {
			b.Fatal(err)
		}
	}
}

// A version that ends the keys of single texts does not end their windows: a code that was a version of its own under
// the old rule is still known by its text.
//
// covers: D6, D17
func TestWindowsOfTextsOutliveTheirRule(t *testing.T) {
	b := newBench(t)
	code := func(text string) Answer {
		s := login("1")
		s.Text = text
		return b.submit(s)
	}
	code("1111")
	b.pass(4 * time.Minute)
	second := code("2222")
	if second.Decision.Class != intent.LegitimateRepeat {
		t.Fatalf("another code: %+v", second.Decision)
	}
	strict := strings.Replace(testPolicy, "window: {while: [], at_most: 5m}", "window: {while: [], at_most: 5m}\n    on_other_text: suppress", 1)
	b.store.put(version(2, strict))
	b.pass(90 * time.Second)
	if d := code("2222").Decision; d.PolicyID != "shop@2" || d.Action != intent.Suppress || d.Message.ID != second.Decision.Message.ID {
		t.Errorf("the second code again, inside its own window: %+v", d)
	}
}
