package api

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
)

// fakeWatch tells who waits when the test says so.
type fakeWatch struct {
	mu      sync.Mutex
	changed chan struct{}
	began   chan struct{} // receives when somebody begins to watch
	watched int
}

func newFakeWatch() *fakeWatch {
	return &fakeWatch{changed: make(chan struct{}, 1), began: make(chan struct{}, 100)}
}

func (f *fakeWatch) Watch(ident.Message) (<-chan struct{}, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watched++
	f.began <- struct{}{}
	return f.changed, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watched--
	}
}

// tell is what the hub does.
func (f *fakeWatch) tell() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// stand sets the message's state.
func (w *world) stand(s message.State, final bool) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	m := *w.store.message
	m.State, m.Final = s, final
	w.store.message = &m
}

func (w *world) waiting(query string) chan *httptest.ResponseRecorder {
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		done <- w.call("GET", "/v1/messages/"+w.store.message.ID.String()+"?"+query, w.admin, "")
	}()
	<-w.watch.began
	return done
}

// A question that waits is answered when the message is as it was asked for, or final; what happens in between is
// looked at and waited through.
func TestAMessageIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		query string
		past  []message.State
		then  message.State
		final bool
	}{
		{"wait=60s&state=accepted", []message.State{message.Sending}, message.Accepted, false},
		{"wait=60s&state=accepted,%20delivered", nil, message.Accepted, false},
		{"wait=60s", []message.State{message.Sending, message.Accepted, message.Unknown}, message.Delivered, true},
		{"wait=60s&state=accepted", []message.State{message.Sending}, message.Rejected, true}, // it never will be
	} {
		w.stand(message.Pending, false)
		done := w.waiting(c.query)
		for _, s := range c.past {
			w.stand(s, false)
			w.watch.tell()
		}
		select {
		case rec := <-done:
			t.Fatalf("%s: answered early with %s", c.query, rec.Body)
		default:
		}
		w.stand(c.then, c.final)
		w.watch.tell()
		var m OneMessageView
		w.decode(<-done, 200, &m)
		if m.State != c.then.String() || m.Final != c.final {
			t.Errorf("%s: %s", c.query, m.State)
		}
	}
	if w.watch.watched != 0 || len(w.api.waiting.slots) != 0 {
		t.Error("somebody still waits")
	}
}

// At the end of the wait the answer is how things are; so it is when the gateway stops.
func TestAWaitEnds(t *testing.T) {
	w := newWorld(t)
	w.stand(message.Pending, false)
	var m OneMessageView
	w.decode(<-w.waiting("wait=5ms"), 200, &m)
	if m.State != "pending" {
		t.Error(m.State)
	}
	done := w.waiting("wait=60s&state=delivered")
	w.api.Release()
	w.decode(<-done, 200, &m)
}

// A client that goes away leaves nothing behind.
func TestAWaitEndsWithItsClient(t *testing.T) {
	w := newWorld(t)
	w.stand(message.Pending, false)
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "/v1/messages/"+w.store.message.ID.String()+"?wait=60s", nil)
	r.Header.Set("Authorization", "Bearer "+w.admin)
	done := make(chan struct{})
	go func() {
		w.api.ServeHTTP(httptest.NewRecorder(), r)
		close(done)
	}()
	<-w.watch.began
	cancel()
	<-done
	if w.watch.watched != 0 || len(w.api.waiting.slots) != 0 {
		t.Error("it still waits")
	}
}

func TestWrongWaitsAreRefused(t *testing.T) {
	w := newWorld(t)
	path := "/v1/messages/" + w.store.message.ID.String()
	for query, want := range map[string][]string{
		"wait=10": {"wait"}, "wait=2m": {"wait"}, "wait=-1s": {"wait"}, "wait=1s&state=gone": {"state"}, "state=delivered": {"state"}, "wait=x&state=y": {"state", "wait"}, "waits=1s": {"waits"},
	} {
		if got := pointers(w.problem(w.call("GET", path+"?"+query, w.admin, ""), 400, fault.Invalid)); !slices.Equal(got, want) {
			t.Errorf("%s: %v", query, got)
		}
	}
	began := time.Now()
	w.problem(w.call("GET", "/v1/messages/msg_00000000000000000000000000000001?wait=60s", w.admin, ""), 404, fault.NotFound)
	w.api.waiting.slots = make(chan struct{})
	p := w.problem(w.call("GET", path+"?wait=60s", w.admin, ""), 503, fault.Unavailable)
	if !strings.Contains(p.Detail, "wait") || time.Since(began) > 30*time.Second {
		t.Errorf("%+v", p)
	}
}
