package storetest

import (
	"reflect"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

// A receipt waits in vain for its message id, and a person attaches it. Then the answer comes that it waited for: of the
// message that was meant, or of another one. The receipt has had its effect, and has none again.
//
// covers: R5, R6, R10, I8
func testAnswerAfterAttaching(t *testing.T, h Harness) {
	for name, c := range map[string]struct {
		lost  bool // the attempt's answer counts as lost when the person decides, else it is awaited
		other bool // the answer is that of another message
		want  string
	}{
		"awaited":            {false, false, "taken resolved outcome"},
		"lost":               {true, false, "taken outcome resolved outcome"},
		"another's, awaited": {false, true, "taken resolved"},
		"another's, lost":    {true, true, "taken outcome resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, h)
			meant, other := w.attempt(ask{event: "AA", version: "1", to: 71}), w.attempt(ask{event: "AA", version: "2", to: 72})
			kind := "unmatched"
			if c.lost {
				w.settle(w.outcome(meant, message.OutcomeUnknown, ""))
				kind = "lost_answer"
			}
			r := w.over("aa-1", "delivered", 71)
			x := w.exceptions(kind)[0]
			if out := w.resolve(x, exception.Attach, exception.Part{Message: meant.Message, Attempt: 1, Part: 1}); out.Err != nil {
				t.Fatal(out.Err)
			}
			before := w.read(x, exception.Attached)
			answered := meant
			if c.other {
				answered = other
			}
			must(t, w.settle(w.outcome(answered, message.OutcomeAccepted, "aa-1"))[0].Err)
			w.settle(r) // whoever had it on a list of work
			if got := w.kinds(meant.Message); got != c.want {
				t.Errorf("the history is %s, want %s", got, c.want)
			}
			if m := w.state(meant.Message, message.Delivered); !m.Final || m.Attempts[0].StatusRaw != "delivered" {
				t.Errorf("final %v, the attempt is %+v", m.Final, m.Attempts[0])
			}
			w.untouched(other, c.other)
			w.exceptions(kind)
			if after := w.read(x, exception.Attached); !reflect.DeepEqual(after, before) {
				t.Errorf("the exception was\n%+v and is\n%+v", before, after)
			}
		})
	}
}

// untouched checks that no receipt had an effect on a message, which has been answered or not.
func (w *world) untouched(o store.Opened, answered bool) {
	w.t.Helper()
	state, history := message.Sending, "taken"
	if answered {
		state, history = message.Accepted, "taken outcome"
	}
	if m := w.state(o.Message, state); m.Attempts[0].Delivery != message.DeliveryNone || w.kinds(o.Message) != history {
		w.t.Errorf("the other message has the history %s, and its attempt is %+v", w.kinds(o.Message), m.Attempts[0])
	}
}
