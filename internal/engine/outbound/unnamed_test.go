package outbound

import (
	"context"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// bare is a request that names nothing.
func bare(text string) Submission {
	return Submission{Tenant: 3, Caller: "key1", Operation: "messages", Members: request.Members{To: rawNumber, Text: text}}
}

// covers: D18
func TestRequestsWithoutAPurpose(t *testing.T) {
	b := newBench(t)
	first, again, other := b.told(bare(text)), b.told(bare(text)), b.told(bare(text+"!"))
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

// told submits a request whose answer gets out.
func (b *bench) told(s Submission) Answer {
	b.t.Helper()
	a := b.submit(s)
	b.AnswerSent(&a)
	return a
}

// The same request before its answer got out is its caller asking again; after that it is meant.
//
// covers: D18
func TestAnswersThatNeverGotOut(t *testing.T) {
	b := newBench(t)
	first := b.submit(bare(text))
	if !first.Awaited() {
		t.Fatal("nobody waits for the answer to get out")
	}
	again := b.submit(bare(text))
	if d := again.Decision; d.Action != intent.Suppress || d.Reason != intent.ReasonUnanswered || d.Message.ID != first.Decision.Message.ID {
		t.Fatalf("the caller's next try: %+v", d)
	}
	b.AnswerSent(&first)
	second := b.submit(bare(text))
	if d := second.Decision; d.Action != intent.Allow || d.Would != intent.Suppress {
		t.Errorf("after the answer got out: %+v", d)
	}
	if d := b.submit(bare(text)).Decision; d.Action != intent.Suppress || d.Message.ID != second.Decision.Message.ID {
		t.Errorf("before the second answer got out: %+v", d)
	}
	b.AnswerSent(&first) // again, and late: the key is the second message's now
	if d := b.submit(bare(text)).Decision; d.Action != intent.Suppress {
		t.Errorf("an old answer freed the key: %+v", d)
	}
	// What tells the caller of the message may be the answer to its next try, or to a retry under its key.
	b.submit(bare("another"))
	if a := b.told(bare("another")); a.Decision.Action != intent.Suppress {
		t.Errorf("the next try: %+v", a.Decision)
	}
	if d := b.submit(bare("another")).Decision; d.Action != intent.Allow {
		t.Errorf("after the answer to the next try got out: %+v", d)
	}
	b.submit(keyed(bare("a third"), "k"))
	b.told(keyed(bare("a third"), "k"))
	if d := b.submit(bare("a third")).Decision; d.Action != intent.Allow {
		t.Errorf("after a replayed answer got out: %+v", d)
	}
	if named := b.submit(order("A-1")); named.Awaited() {
		t.Error("an answer is awaited for a request with a purpose")
	}
}

// What is known of answers is written down without anybody asking, and at the end.
//
// covers: D18
func TestAnswersAreWrittenDown(t *testing.T) {
	b := newBench(t)
	told := make(chan []store.AnswerSent, 1)
	b.answers.store = recorded(told)
	first := b.submit(bare(text))
	b.AnswerSent(&first)
	if got := <-told; len(got) != 1 || got[0].Message != first.Decision.Message.ID {
		t.Errorf("written down: %v", got)
	}
	last := b.submit(bare("another"))
	b.AnswerSent(&last)
	b.Close()
	if got := <-told; len(got) != 1 || got[0].Message != last.Decision.Message.ID {
		t.Errorf("at the end: %v", got)
	}
}

type recorded chan []store.AnswerSent

func (r recorded) AnswersSent(_ context.Context, sent []store.AnswerSent) error {
	r <- sent
	return nil
}

// covers: D18
func TestAPolicyMayRefuseThem(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Policy = version(1, strings.Replace(testPolicy, "region: US", "region: US\nunnamed: refuse", 1))
	})
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
	b := newBench(t, func(c *Config) {
		c.Policy = version(1, strings.Replace(testPolicy, "region: US", "region: US\nmode: monitor", 1))
	})
	first, again := b.submit(keyed(order("A-1"), "k")), b.submit(order("A-1"))
	if d := again.Decision; d.Action != intent.Allow || d.Would != intent.Suppress || d.Compared != first.Decision.Message.ID || !strings.Contains(d.Explanation, "shop@1 only monitors") {
		t.Errorf("a repeat: %+v", d)
	}
	dry := order("A-1")
	dry.DryRun = true
	if d := b.submit(dry).Decision; d.Would != intent.Suppress || !strings.Contains(d.Explanation, "would be sent all the same") {
		t.Errorf("a dry run: %+v", d)
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
		b.store.put(version(n, strings.Replace(testPolicy, "  order:", "  "+to+":", 1)))
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
