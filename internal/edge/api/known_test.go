package api

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

// While the store is held, nobody is told that a message waits which may have been sent, nor what it waits for:
// neither by the message, nor by a list, nor by a timeline.
//
// covers: D20, I19
func TestMessagesOfAHeldStoreAreUnknown(t *testing.T) {
	w := newWorld(t)
	path := "/v1/messages/" + w.store.message.ID.String()
	w.store.stops = []store.Stop{{Scope: flow.Scope{}, Owner: tenantA, Person: "ann"}}
	for state, want := range map[message.State]string{
		message.Pending: "unknown", message.Sending: "unknown", message.RetryDue: "unknown", message.Accepted: "accepted", message.Delivered: "delivered",
	} {
		w.store.message.State = state
		for held, shown := range map[bool]string{true: want, false: state.String()} {
			w.restore.held.Store(held)
			var one OneMessageView
			w.get(path, 200, &one)
			var list List[MessageView]
			w.get("/v1/messages", 200, &list)
			var history Timeline
			w.get(path+"/timeline", 200, &history)
			if doubted := held && want == "unknown"; one.State != shown || list.Data[0].State != shown || strings.Contains(one.Outlook, "einmal restored") != doubted {
				t.Errorf("%s, held %v: %s, in a list %s: %s", state, held, one.State, list.Data[0].State, one.Outlook)
			}
			if stopped := !held && state == message.Pending; history.Outlook != one.Outlook || (one.Stopped != nil) != stopped || (list.Data[0].Stopped != nil) != stopped {
				t.Errorf("%s, held %v: stopped by %v, in a list %v; the timeline says %s", state, held, one.Stopped, list.Data[0].Stopped, history.Outlook)
			}
		}
	}
	if w.store.message.State == message.Unknown {
		t.Error("the message itself was changed")
	}
}

// A list of a state holds what is told as that state. What nothing is told as is not looked for.
//
// covers: D20
func TestAHeldStoreIsFilteredByWhatIsTold(t *testing.T) {
	w := newWorld(t)
	for state, want := range map[string][]message.State{
		"unknown": {message.Pending, message.Sending, message.RetryDue, message.Unknown}, "delivered": {message.Delivered}, "pending": nil, "sending": nil, "retry_due": nil,
	} {
		stored, _ := message.ParseState(state)
		for held, asked := range map[bool][]message.State{true: want, false: {stored}} {
			w.store.filter = store.MessageFilter{}
			w.restore.held.Store(held)
			var list List[MessageView]
			w.get("/v1/messages?"+url.Values{"state": {state}}.Encode(), 200, &list)
			if !slices.Equal(w.store.filter.States, asked) || list.Data == nil || (len(list.Data) == 0) != (len(asked) == 0) {
				t.Errorf("%s, held %v: looked for %v, and found %d", state, held, w.store.filter.States, len(list.Data))
			}
		}
	}
}

// Who waits for a state waits for what is told: a message of a held store is unknown at once, and pending never. A hold
// that comes meanwhile is in the answer.
//
// covers: D20
func TestAHeldStoreIsAwaitedByWhatIsTold(t *testing.T) {
	w := newWorld(t)
	w.stand(message.Pending, false)
	w.restore.held.Store(true)
	var m OneMessageView
	if w.decode(<-w.waiting("wait=60s&state=unknown"), 200, &m); m.State != "unknown" {
		t.Errorf("awaited as unknown it is %s", m.State)
	}
	done := w.waiting("wait=60s&state=pending")
	w.watch.tell()
	select {
	case rec := <-done:
		t.Fatalf("told as pending: %s", rec.Body)
	default:
	}
	w.restore.held.Store(false)
	w.watch.tell()
	if w.decode(<-done, 200, &m); m.State != "pending" {
		t.Errorf("after the release it is %s", m.State)
	}
	done = w.waiting("wait=60s&state=accepted")
	w.restore.held.Store(true)
	w.api.Release()
	if w.decode(<-done, 200, &m); m.State != "unknown" || m.Outlook != waitsForRelease {
		t.Errorf("held while it was awaited, it is %s: %s", m.State, m.Outlook)
	}
}
