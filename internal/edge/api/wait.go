package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/einmal/einmal/internal/ground/fault"
)

const (
	// maxWait is the longest that a request may wait for something to happen: what proxies commonly let pass.
	maxWait = 60 * time.Second
	// maxWaiters bounds the requests that wait at the same time, each of which holds a connection.
	maxWaiters = 1000
)

// wait reads a duration of a query.
func (d *decoder) wait(parameter, value string) time.Duration {
	if value == "" {
		return 0
	}
	got, err := time.ParseDuration(value)
	if err != nil || got <= 0 || got > maxWait {
		d.wrong(parameter, "write a duration up to %s, such as 10s or 500ms", maxWait)
		return 0
	}
	return got
}

// waiting are the requests that wait.
type waiting struct {
	slots chan struct{}
	over  context.Context // ends when the gateway stops
	end   context.CancelFunc
}

func newWaiting() waiting {
	w := waiting{slots: make(chan struct{}, maxWaiters)}
	w.over, w.end = context.WithCancel(context.Background())
	return w
}

// Release ends the waits of all requests, which are then answered with how things are. A gateway that stops does
// so first, since it awaits the requests under way.
func (a *API) Release() { a.waiting.end() }

// begin returns a context that ends after the duration, with the request, or when the gateway stops. done must be
// called.
func (w *waiting) begin(ctx context.Context, d time.Duration) (_ context.Context, done func(), err error) {
	select {
	case w.slots <- struct{}{}:
	default:
		return nil, nil, fault.New(fault.Unavailable, "%d requests wait already: ask without wait, or later", maxWaiters).After(time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	unhook := context.AfterFunc(w.over, cancel)
	return ctx, func() {
		unhook()
		cancel()
		<-w.slots
	}, nil
}

// patient marks an operation whose answer may take as long as its parameter wait says.
func patient(op huma.Operation) huma.Operation {
	op.Metadata = map[string]any{"patient": true}
	return op
}

// takesItsTime gives a patient operation the time that its parameter wait asks for.
func takesItsTime(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if ctx.Operation().Metadata["patient"] != nil && strings.Contains(r.URL.RawQuery, "wait=") {
		postpone(w, (&decoder{}).wait("", r.URL.Query().Get("wait")))
	}
	next(ctx)
}

// postpone moves the server's own deadlines back. Not every writer has some; one without needs no moving. The one
// for reading is moved too: at its end the server would take the client for gone.
func postpone(w http.ResponseWriter, d time.Duration) {
	if d == 0 {
		return
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(d + writeTimeout))
	_ = c.SetWriteDeadline(time.Now().Add(d + writeTimeout))
}
