package storetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// covers: D3, D4, D14
func testDecideOne(t *testing.T, h Harness) {
	w := newWorld(t, h)
	first := w.decide(ask{event: "A-1", version: "1", to: 43})[0].Decision
	again := w.decide(ask{event: "A-1", version: "1", to: 43})[0].Decision
	if first.Action != intent.Allow || first.Class != intent.NewIntent || first.Reason != intent.ReasonNoEquivalent {
		t.Errorf("the first was %s %s %s", first.Action, first.Class, first.Reason)
	}
	if again.Action != intent.Suppress || again.Class != intent.TechnicalDuplicate || again.Reason != "same_intent_pending" || again.Message.ID != first.Message.ID {
		t.Errorf("the second was %s %s %s about %s", again.Action, again.Class, again.Reason, again.Message.ID)
	}
	stored, err := w.Store.Decision(context.Background(), w.tenant, again.ID)
	must(t, err)
	if stored.Explanation != again.Explanation || stored.Destination != number(43) || stored.IntentKey.IsZero() || stored.PolicyID != "test@1" ||
		stored.Caller != "key1" || stored.SameText == nil || !*stored.SameText || stored.WindowEnds != first.WindowEnds ||
		stored.Compared != first.Message.ID || !stored.MatchedKey.IsZero() || stored.Mode != policy.Enforce {
		t.Errorf("the stored decision is not the one that was made: %+v", stored)
	}
	m := w.state(first.Message.ID, message.Pending)
	if m.Decision != first.ID || m.Destination != number(43) || m.IntentKey != stored.IntentKey {
		t.Errorf("the message does not belong to its decision: %+v", m)
	}
}

// covers: D7, D17
func testDecideBatch(t *testing.T, h Harness) {
	w := newWorld(t, h)
	out := w.decide(
		ask{event: "B-1", version: "1", to: 1}, ask{event: "B-1", version: "1", to: 1}, ask{event: "B-1", version: "2", to: 1},
		ask{event: "B-1", version: "1", to: 2}, ask{event: "B-1", version: "1", to: 1, text: "Another text."}, ask{purpose: "brief", event: "B-1", to: 1},
	)
	want := []intent.Action{intent.Allow, intent.Suppress, intent.Allow, intent.Allow, intent.Suppress, intent.Allow}
	for i, o := range out {
		if o.Decision.Action != want[i] {
			t.Errorf("request %d: %s, want %s", i, o.Decision.Action, want[i])
		}
	}
	if same := out[4].Decision.SameText; same == nil || *same {
		t.Error("another text under the same key was not told")
	}
	if out[1].Decision.Message.ID != out[0].Decision.Message.ID {
		t.Error("a duplicate in the batch does not name the first one's message")
	}
}

// covers: D8
func testIdempotencyKey(t *testing.T, h Harness) {
	w := newWorld(t, h)
	first := w.decide(ask{event: "I-1", version: "1", to: 3, idempotency: "k1"})[0]
	replay := w.decide(ask{event: "I-1", version: "1", to: 3, idempotency: "k1"})[0]
	other := w.decide(ask{event: "I-2", version: "1", to: 3, idempotency: "k1"})[0]
	batch := w.decide(ask{event: "I-3", version: "1", to: 3, idempotency: "k2"}, ask{event: "I-3", version: "1", to: 3, idempotency: "k2"})
	if replay.Kind != intent.Replayed || replay.Decision.ID != first.Decision.ID || replay.Decision.Message != first.Decision.Message || replay.Decision.Message.Connection != w.conn {
		t.Errorf("the same request under its key was not replayed: %+v", replay)
	}
	if other.Kind != intent.Mismatched || len(other.Differing) != 1 || other.Differing[0] != "event" {
		t.Errorf("another request under the key was not an error that names the field: %+v", other.Result)
	}
	if batch[1].Kind != intent.Replayed || batch[1].Decision.ID != batch[0].Decision.ID {
		t.Errorf("two equal requests in a batch did not meet: %+v", batch[1])
	}
	// The mismatch reserved nothing: its intent is still free.
	if d := w.decide(ask{event: "I-2", version: "1", to: 3})[0].Decision; d.Action != intent.Allow {
		t.Errorf("a refused request held its intent: %s", d.Reason)
	}
}

// covers: D6, D14
func testWindowEnds(t *testing.T, h Harness) {
	w := newWorld(t, h)
	bound := w.attempt(ask{purpose: "bound", event: "W-1", to: 4}) // an attempt is open
	brief := w.attempt(ask{purpose: "brief", event: "W-1", to: 4})
	w.settle(w.outcome(brief, message.OutcomeAccepted, "x1"))
	w.advance(4 * time.Second)
	if d := w.decide(ask{purpose: "bound", event: "W-1", to: 4})[0].Decision; d.Action != intent.Suppress {
		t.Error("the upper bound ended a window while an attempt was open")
	}
	if d := w.decide(ask{purpose: "brief", event: "W-1", to: 4})[0].Decision; d.Action != intent.Suppress {
		t.Error("a duration ended a window while a receipt was owed")
	}
	w.settle(w.outcome(bound, message.OutcomeAccepted, "x2"), w.receipt("x1", -1, "delivered", 4))
	for _, purpose := range []string{"bound", "brief"} {
		d := w.decide(ask{purpose: purpose, event: "W-1", to: 4})[0].Decision
		if d.Action != intent.Allow || d.Reason != intent.ReasonWindowEnded {
			t.Errorf("%s: after the window: %s %s", purpose, d.Action, d.Reason)
		}
	}
	first := w.decide(ask{purpose: "bound", event: "W-2", to: 4})[0].Decision
	w.cancel(first.Message.ID)
	again := w.decide(ask{purpose: "bound", event: "W-2", to: 4})[0].Decision
	d, err := w.Decision(context.Background(), w.tenant, again.ID)
	must(t, err)
	if d.Action != intent.Allow || d.Reason != intent.ReasonWindowEnded || d.Compared != first.Message.ID || d.Message.ID == first.Message.ID ||
		d.PreviousState != message.Cancelled || d.SameText == nil || !*d.SameText || d.StateSource == nil || !strings.Contains(d.Explanation, "was cancelled") {
		t.Errorf("after the first was cancelled: %+v", d)
	}
	if d := w.decide(ask{purpose: "bound", event: "W-2", to: 4})[0].Decision; d.Action != intent.Suppress || d.Message.ID != again.Message.ID {
		t.Errorf("and once more: %+v", d)
	}
}

// covers: D17
func testOtherTextIsVersion(t *testing.T, h Harness) {
	w := newWorld(t, h)
	first := w.decide(ask{purpose: "code", event: "C-1", version: "1", to: 5, text: "1111"})[0].Decision
	second := w.decide(ask{purpose: "code", event: "C-1", version: "1", to: 5, text: "2222"})[0].Decision
	third := w.decide(ask{purpose: "code", event: "C-1", version: "1", to: 5, text: "2222"})[0].Decision
	if second.Action != intent.Allow || second.Class != intent.LegitimateRepeat || second.Message.ID == first.Message.ID {
		t.Errorf("another code was not a version of its own: %s %s", second.Action, second.Class)
	}
	if third.Action != intent.Suppress || third.Message.ID != second.Message.ID {
		t.Errorf("the same other code twice: %s about %s", third.Action, third.Message.ID)
	}
}

func testPreview(t *testing.T, h Harness) {
	w := newWorld(t, h)
	sub := w.submission(ask{event: "P-1", version: "1", to: 6})
	for range 2 { // the second would be a duplicate if the first had left anything
		r, err := w.Preview(context.Background(), sub, intent.Decide)
		must(t, err)
		if r.Decision.Action != intent.Allow {
			t.Errorf("a preview said %s", r.Decision.Action)
		}
	}
	id := w.taken(ask{event: "P-1", version: "1", to: 6})
	r, err := w.Preview(context.Background(), sub, intent.Decide)
	must(t, err)
	if r.Decision.Action != intent.Suppress || r.Decision.Message.ID != id {
		t.Errorf("a preview of a duplicate said %s", r.Decision.Action)
	}
}

// testPoisonedRequest puts one request that the engine refuses among others: an id that exists already.
func testPoisonedRequest(t *testing.T, h Harness) {
	w := newWorld(t, h)
	used := w.taken(ask{event: "Q-0", version: "1", to: 7})
	var subs []store.Submission
	for i := range 7 {
		subs = append(subs, w.submission(ask{event: "Q-1", version: string(rune('a' + i)), to: 7}))
	}
	subs[3].Message = used // breaks the message table's primary key
	out, err := w.Decide(context.Background(), subs, intent.Decide)
	must(t, err)
	for i, o := range out {
		if bad := i == 3; bad != (o.Err != nil) || bad && fault.CodeOf(o.Err) != fault.Internal {
			t.Errorf("request %d: error %v", i, o.Err)
		}
		if i != 3 {
			w.state(o.Decision.Message.ID, message.Pending)
		}
	}
	if d := w.decide(ask{event: "Q-1", version: "d", to: 7})[0].Decision; d.Action != intent.Allow {
		t.Error("the poisoned request held its intent")
	}
}

// testStuckRequest holds a key for longer than a lock is waited for: the request in the batch that needs it gets
// its own answer, and the others are decided.
//
// covers: D8
func testStuckRequest(t *testing.T, h Harness) {
	if h.Deadlocks == nil {
		return // the embedded engine has one writer: nobody waits for a lock
	}
	w := newWorld(t, h)
	holding, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := w.Decide(context.Background(), []store.Submission{w.submission(ask{event: "T-1", version: "1", to: 9})},
			func(r *intent.Request, f *intent.Facts) intent.Result {
				close(holding) // the key's row is locked now
				<-release
				return intent.Decide(r, f)
			})
		done <- err
	}()
	<-holding
	// Two seconds in all: the holder's own session would be ended after three without a word.
	var bare []store.Decided
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if bare, err = w.Decide(context.Background(), []store.Submission{w.submission(ask{event: "T-1", version: "1", to: 9})}, intent.Decide); err != nil {
			t.Error(err)
		}
	})
	subs := []store.Submission{w.submission(ask{event: "T-0", version: "1", to: 9}), w.submission(ask{event: "T-1", version: "1", to: 9, idempotency: "stuck"})}
	out, err := w.Decide(context.Background(), subs, intent.Decide)
	wg.Wait()
	must(t, err)
	if fault.CodeOf(out[1].Err) != fault.InProgress || fault.CodeOf(bare[0].Err) != fault.Unavailable {
		t.Errorf("the stuck requests got %v and %v", out[1].Err, bare[0].Err)
	}
	if out[0].Err != nil {
		t.Errorf("its neighbour got %v", out[0].Err)
	}
	close(release)
	must(t, <-done)
	if d := w.decide(ask{event: "T-1", version: "1", to: 9, idempotency: "stuck"})[0].Decision; d.Action != intent.Suppress {
		t.Errorf("afterwards the stuck request is %s", d.Action)
	}
}
