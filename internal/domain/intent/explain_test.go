package intent

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
)

// What is held back for its text alone is told what would make it another message: something that the key has.
//
// covers: D17
func TestWhatWouldMakeItAnother(t *testing.T) {
	for i, want := range []string{"give the event another version.", "give it another event."} {
		w := newWorld()
		first := &Request{Tenant: 1, Purpose: purposes[i], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"}
		other := *first
		d := w.decide(seal(first, "text"), seal(&other, "other"))[1].Decision
		if d.Action != Suppress || !strings.HasSuffix(d.Explanation, want) {
			t.Errorf("%s: %s", purposes[i].Name, d.Explanation)
		}
	}
}

// A dry run is decided like the request itself, and its words claim nothing that was not done.
//
// covers: D14, X3
func TestADryRunSaysWould(t *testing.T) {
	unnamed, _ := policy.Builtin().Unnamed()
	order, unanswered := purposes[0], hashed([]byte("unanswered"))
	ask := func(p policy.Purpose, text string, answer Key) *Request {
		r := seal(&Request{Tenant: 1, PolicyID: "test@1", Purpose: p, To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"}, text)
		r.Keys.Unanswered = answer
		return r
	}
	inBatch := ask(unnamed, "text", unanswered)
	taken := ask(unnamed, "text", unanswered)
	inBatch.Before = append(inBatch.Before, taken.Message)
	for _, c := range []struct {
		before, asked *Request
		did, would    string
	}{
		{nil, ask(unnamed, "text", Key{}), "that is meant: it is sent.", "that is meant: it would be sent."},
		{taken, ask(unnamed, "text", unanswered), "This request is taken for its caller asking again: nothing is sent", "This request would be taken for its caller asking again: nothing would be sent"},
		{taken, inBatch, "it is made once", "it would be made once"},
		{taken, ask(unnamed, "text", Key{}), "this one was sent all the same. With a purpose and an event it would have been held", "this one would be sent all the same. With a purpose and an event it would be held"},
		{ask(order, "text", Key{}), monitored(ask(order, "text", Key{})), "this request was sent all the same. Under mode enforce it would have been held", "this request would be sent all the same. Under mode enforce it would be held"},
		{ask(order, "text", Key{}), ask(order, "other", Key{}), "it was not sent", "it would not be sent"},
	} {
		w := newWorld()
		if c.before != nil {
			w.decide(c.before)
		}
		dry := *c.asked
		dry.DryRun = true
		done, got := Decide(c.asked, w.facts()), Decide(&dry, w.facts())
		if !strings.Contains(done.Decision.Explanation, c.did) || got.Decision.Explanation != strings.Replace(done.Decision.Explanation, c.did, c.would, 1) {
			t.Errorf("done: %s\ndry:  %s", done.Decision.Explanation, got.Decision.Explanation)
		}
		if got.Decision.Explanation = done.Decision.Explanation; !reflect.DeepEqual(done.Decision, got.Decision) {
			t.Errorf("done: %+v\ndry:  %+v", done.Decision, got.Decision)
		}
	}
}

// What is sent because a window is over names the message whose window that was, and what had become of it.
//
// covers: D6, D14
func TestAnEndedWindowIsNamed(t *testing.T) {
	w := newWorld()
	first := &Request{Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"}
	w.decide(seal(first, "text"))
	w.end(w.sent[0], message.Cancelled)
	w.now = w.now.Add(5 * time.Second)
	for text, same := range map[string]bool{"text": true, "other": false} {
		again := *first
		d := Decide(seal(&again, text), w.facts()).Decision
		if d.Reason != ReasonWindowEnded || d.Compared != first.Message || d.PreviousState != message.Cancelled || d.SameText == nil || *d.SameText != same ||
			d.MatchedKey != (Key{}) || !strings.Contains(d.Explanation, first.Message.String()) || !strings.Contains(d.Explanation, "was cancelled 5 s ago; its window") {
			t.Errorf("%s: %+v", text, d)
		}
	}
}

// What nobody knows to have left is not said to have been handed over: a restore makes unknown what only waited.
//
// covers: D17, D20
func TestUnknownIsNotSaidToHaveLeft(t *testing.T) {
	w := newWorld()
	r := &Request{Tenant: 1, Purpose: purposes[1], To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"}
	again := *r
	w.decide(seal(r, "text"))
	w.end(w.sent[0], message.Unknown)
	w.now = w.now.Add(time.Second)
	d := w.decide(seal(&again, "text"))[0].Decision
	if want := " became unknown 1 s ago: it may have left, and nobody knows whether the provider has it. "; !strings.Contains(d.Explanation, want) {
		t.Errorf("%q is missing in: %s", want, d.Explanation)
	}
}
