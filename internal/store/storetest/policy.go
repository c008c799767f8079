package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func monitor(r *intent.Request) { r.Purpose.Mode = policy.Monitor }

// testMonitor lets repeats through and records what would have been done. The key stays the first message's:
// neither what is let through nor its end moves the window.
//
// covers: X3, D6, D14, I2
func testMonitor(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ask := ask{event: "M-1", version: "1", to: 44, change: monitor, idempotency: "one"}
	first := w.decide(ask)[0].Decision
	replay := w.decide(ask)[0]
	if replay.Kind != intent.Replayed || replay.Decision.ID != first.ID {
		t.Errorf("an idempotency key in mode monitor: %+v", replay.Result)
	}
	ask.idempotency = ""
	again := w.decide(ask)[0].Decision
	if again.Action != intent.Allow || again.Would != intent.Suppress || again.Compared != first.Message.ID || again.Message.ID == first.Message.ID {
		t.Fatalf("a repeat in mode monitor: %+v", again)
	}
	stored, err := w.Store.Decision(context.Background(), w.tenant, again.ID)
	must(t, err)
	if stored.Mode != policy.Monitor || stored.Would != intent.Suppress || stored.Compared != first.Message.ID || stored.Class != intent.TechnicalDuplicate {
		t.Errorf("stored: %+v", stored.Decision)
	}
	// The repeat ends in a state that closes its window; the first one is still pending, and holds the key.
	w.settle(cancelled(again.Message.ID))
	w.state(again.Message.ID, message.Cancelled)
	ask.change = nil
	if d := w.decide(ask)[0].Decision; d.Action != intent.Suppress || d.Message.ID != first.Message.ID || d.Mode != policy.Enforce {
		t.Errorf("once it is enforced: %+v", d)
	}
}

// testOlderKey finds a message under the key of an older policy version, says so, and lets the intent go once that
// window is over.
//
// covers: D6, D14
func testOlderKey(t *testing.T, h Harness) {
	w := newWorld(t, h)
	first := w.submission(ask{event: "K-1", version: "1", to: 45})
	_, err := w.Decide(context.Background(), []store.Submission{first}, intent.Decide)
	must(t, err)
	other := ask{event: "K-1", version: "1", to: 45, change: func(r *intent.Request) {
		r.Purpose.Key = []policy.KeyPart{policy.KeyEventID}
		r.Keys.Older = []intent.OlderKey{{Key: first.Keys.Intent}}
	}}
	other.change = mappedBy("legacy", other.change)
	d := w.decide(other)[0].Decision
	stored, err := w.Store.Decision(context.Background(), w.tenant, d.ID)
	must(t, err)
	if d.Action != intent.Suppress || d.Message.ID != first.Message || stored.MatchedKey != first.Keys.Intent || stored.IntentKey == stored.MatchedKey || stored.MappedBy != "legacy" {
		t.Errorf("under another definition of the key: %+v", stored)
	}
	// No rule is for it any more: the purpose under whose key it is found decides, and not the unnamed one.
	mappedNoMore := ask{event: "K-1", version: "1", to: 45, change: func(r *intent.Request) {
		r.Keys.Older = []intent.OlderKey{{Key: first.Keys.Intent, Purpose: first.Purpose}}
		r.Purpose, _ = policy.Builtin().Unnamed()
	}}
	d = w.decide(mappedNoMore)[0].Decision
	stored, err = w.Store.Decision(context.Background(), w.tenant, d.ID)
	must(t, err)
	if d.Action != intent.Suppress || stored.Message.ID != first.Message || stored.Rule != "order.window" || stored.MatchedKey != first.Keys.Intent {
		t.Errorf("mapped no more: %+v", stored)
	}
	w.settle(cancelled(first.Message)) // a state that this window does not list
	if d := w.decide(other)[0].Decision; d.Action != intent.Allow || d.Reason != intent.ReasonWindowEnded || d.Compared != first.Message || d.MatchedKey != first.Keys.Intent {
		t.Errorf("after that window: %+v", d)
	}
}

func mappedBy(rule string, change func(*intent.Request)) func(*intent.Request) {
	return func(r *intent.Request) {
		change(r)
		r.MappedBy = rule
	}
}

// testOlderVariant finds a text that was a version of its own under the key of an older policy version.
//
// covers: D6, D17
func testOlderVariant(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ask := ask{purpose: "code", event: "C-1", version: "1", to: 46, text: "1111"}
	first := w.submission(ask)
	ask.text = "2222"
	second := w.submission(ask)
	_, err := w.Decide(context.Background(), []store.Submission{first, second}, intent.Decide)
	must(t, err)
	ask.change = func(r *intent.Request) {
		r.Purpose.Key = []policy.KeyPart{policy.KeyEventVersion}
		r.Keys.Older, r.Keys.OlderVariants = []intent.OlderKey{{Key: first.Keys.Intent}}, []intent.OlderKey{{Key: second.Keys.Variant}}
	}
	if d := w.decide(ask)[0].Decision; d.Action != intent.Suppress || d.Message.ID != second.Message || d.MatchedKey != second.Keys.Variant {
		t.Errorf("the second text under another key: %+v", d)
	}
}

// cancelled is the news that a message is taken back.
func cancelled(id ident.Message) store.News {
	return store.News{Evidence: evidence.Evidence{Kind: evidence.Cancel, Message: id}, Reference: -1}
}
