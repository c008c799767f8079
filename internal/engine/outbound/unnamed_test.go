package outbound

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/fault"
)

// bare is a request that names nothing.
func bare(text string) Submission {
	return Submission{Tenant: 3, Caller: "key1", Operation: "messages", To: rawNumber, Text: text}
}

// covers: D18
func TestRequestsWithoutAPurpose(t *testing.T) {
	b := newBench(t)
	first, again, other := b.submit(bare(text)), b.submit(bare(text)), b.submit(bare(text+"!"))
	if first.Decision.Action != intent.Allow || first.Decision.Would != 0 || first.Decision.Rule != "unnamed.window" {
		t.Errorf("the first: %+v", first.Decision)
	}
	if d := again.Decision; d.Action != intent.Allow || d.Would != intent.Suppress || d.Compared != first.Decision.Message.ID {
		t.Errorf("again: %+v", d)
	}
	if other.Decision.Would != 0 {
		t.Errorf("another text: %+v", other.Decision)
	}
	if n := len(b.store.messages); n != 3 {
		t.Errorf("%d messages of three requests", n)
	}
	if got := b.counters()["einmal_decisions_total allow technical_duplicate monitor unnamed same_intent_pending suppress"]; got != 1 {
		t.Errorf("counted: %v", b.counters())
	}
	if m := b.store.saved(first.Decision.Message.ID); m.Purpose.Name != "unnamed" || m.OwnKey != nil {
		t.Errorf("stored: %+v", m.Purpose)
	}
}

// covers: D18
func TestAPolicyMayRefuseThem(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Policy = version(1, strings.Replace(testPolicy, "region: US", "region: US\nunnamed: refuse", 1)) })
	f := b.refused(bare(text), fault.Invalid)
	if len(f.Fields) != 1 || f.Fields[0].Pointer != "#/purpose" || !strings.Contains(f.Fields[0].Detail, "alert, login, order, sale") {
		t.Errorf("fields %q", f.Fields)
	}
	if b.store.reserved() != 0 {
		t.Error("something was reserved")
	}
}

// A policy that only monitors lets repeats through, and keeps idempotency keys.
//
// covers: X3, D8
func TestModeMonitor(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Policy = version(1, strings.Replace(testPolicy, "region: US", "region: US\nmode: monitor", 1)) })
	first, again := b.submit(keyed(order("A-1"), "k")), b.submit(order("A-1"))
	if d := again.Decision; d.Action != intent.Allow || d.Would != intent.Suppress || d.Compared != first.Decision.Message.ID || !strings.Contains(d.Explanation, "shop@1 only monitors") {
		t.Errorf("a repeat: %+v", d)
	}
	if replay := b.submit(keyed(order("A-1"), "k")); !replay.Replayed || replay.Decision.ID != first.Decision.ID {
		t.Errorf("the same idempotency key: %+v", replay)
	}
	b.refused(keyed(order("A-2"), "k"), fault.IdempotencyMismatch)
	code := login("1")
	if a, c := b.submit(code), b.submit(code); c.Decision.Would != intent.Suppress || a.Decision.Would != 0 {
		t.Errorf("a code: %+v", c.Decision)
	}
}

// A node that has not heard of a new policy neither refuses what that one takes, nor shows a dry run of the old one.
//
// covers: X3, D6
func TestNoAnswerUnderAPolicyThatWasReplaced(t *testing.T) {
	b := newBench(t)
	b.submit(order("A-1"))
	renamed := func(n int, to string) {
		if err := b.store.PutPolicy(bg, version(n, strings.Replace(testPolicy, "  order:", "  "+to+":", 1))); err != nil {
			t.Fatal(err)
		}
	}
	renamed(2, "new_name")
	s := order("A-2")
	s.Purpose = "new_name"
	if a := b.submit(s); a.Decision.PolicyID != "shop@2" {
		t.Errorf("under %s", a.Decision.PolicyID)
	}
	renamed(3, "newer_name")
	s.Purpose, s.DryRun = "newer_name", true
	if a := b.submit(s); a.Decision.PolicyID != "shop@3" {
		t.Errorf("a dry run under %s", a.Decision.PolicyID)
	}
	renamed(4, "newest_name")
	if f := b.refused(s, fault.Invalid); !strings.Contains(f.Fields[0].Detail, "newest_name") {
		t.Errorf("fields %q", f.Fields)
	}
}
