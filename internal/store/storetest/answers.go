package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/store"
)

// testAnswersSent asks again for what names no purpose, before and after its answer got out.
//
// covers: D18
func testAnswersSent(t *testing.T, h Harness) {
	w := newWorld(t, h)
	unnamed, _ := policy.Builtin().Unnamed()
	ask := func() (store.Submission, intent.Decision) {
		s := w.submission(ask{event: "U-1", version: "1", to: 46})
		s.Purpose = unnamed
		s.Keys.Intent = key(intent.KeyForm(unnamed, s.Request))
		s.Keys.Unanswered = key(intent.UnansweredForm(s.Keys.Intent))
		out, err := w.Decide(context.Background(), []store.Submission{s}, intent.Decide)
		must(t, err)
		must(t, out[0].Err)
		return s, out[0].Decision
	}
	got := func(s store.Submission) store.AnswerSent {
		return store.AnswerSent{Key: s.Keys.Unanswered, Message: s.Message}
	}
	first, _ := ask()
	if _, d := ask(); d.Action != intent.Suppress || d.Reason != intent.ReasonUnanswered || d.Message.ID != first.Message {
		t.Fatalf("before the answer got out: %+v", d)
	}
	must(t, w.AnswersSent(context.Background(), nil))
	must(t, w.AnswersSent(context.Background(), []store.AnswerSent{got(first)}))
	second, d := ask()
	if d.Action != intent.Allow || d.Would != intent.Suppress || d.Compared != first.Message {
		t.Fatalf("after it got out: %+v", d)
	}
	must(t, w.AnswersSent(context.Background(), []store.AnswerSent{got(first)}))
	if _, d := ask(); d.Action != intent.Suppress || d.Message.ID != second.Message {
		t.Errorf("what was said of the first answer freed the second one's key: %+v", d)
	}
	w.advance(time.Second)
	must(t, w.AnswersSent(context.Background(), []store.AnswerSent{got(second)}))
	if _, d := ask(); d.Action != intent.Allow {
		t.Errorf("after the second answer: %+v", d)
	}
}
