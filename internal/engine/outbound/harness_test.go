package outbound

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	bg      = context.Background()
	discard = slog.New(slog.DiscardHandler)
)

const testPolicy = `policy: shop
version: 1
region: US
purposes:
  order:
    kind: confirmation
    key: [event.id, event.version, sender]
    window: {while: [delivered], at_most: 30d}
  alert:
    kind: alert
    key: [event.id]
    window: 15m
  sale:
    kind: campaign
    key: [event.id]
    window: 7d
  login:
    kind: authentication
    key: [event.id, event.version]
    window: {while: [], at_most: 5m}
`

func version(n int, source string) store.PolicyVersion {
	return store.PolicyVersion{Name: "shop", Version: n, Source: []byte(strings.Replace(source, "version: 1", fmt.Sprintf("version: %d", n), 1))}
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bench is a service over a store in memory.
type bench struct {
	*Service
	t       *testing.T
	store   *memory
	woken   atomic.Int64
	log     *lockedBuffer
	metrics *prometheus.Registry
}

// always is the route of a gateway with one connection.
func always(c Connection) func(context.Context, route.Question) (Connection, error) {
	return func(context.Context, route.Question) (Connection, error) { return c, nil }
}

func newBench(t *testing.T, change ...func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, store: newMemory(), log: &lockedBuffer{}, metrics: prometheus.NewRegistry()}
	cfg := Config{
		Store: b.store, Identity: secret.NewIdentity([secret.KeySize]byte{1}),
		Sealer: secret.NewSealer([secret.KeySize]byte{2}, b.store),
		Clock:  clock.NewManual(time.Unix(1_800_000_000, 0)), Policy: version(1, testPolicy),
		Route: always(Connection{ID: 7}), Simulated: func(int64) bool { return true }, Sender: "SHOP",
		Wake: func() { b.woken.Add(1) }, Metrics: b.metrics,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&cfg)
	}
	b.Service = New(cfg)
	t.Cleanup(b.Close)
	if err := b.Start(bg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.hides(b.log.String()) })
	return b
}

// Whatever a test submits is one of these, so that leaks are found by looking for them.
const (
	rawNumber = "(202) 555-0143"
	number    = "+12025550143"
	text      = "Your parcel 2718281828 is on its way."
)

// hides fails if a destination or a text is in s.
func (b *bench) hides(s string) {
	b.t.Helper()
	for _, clear := range []string{"5550143", "555-0143", "2718281828"} {
		if i := strings.Index(s, clear); i >= 0 {
			b.t.Errorf("a number or a text is shown after %q", s[max(i-80, 0):i])
		}
	}
}

// order is a request that is right.
func order(id string) Submission {
	return Submission{
		Tenant: 3, Caller: "key1", Operation: "messages", Members: request.Members{
			To: rawNumber, Purpose: "order", Event: intent.Event{Type: "order", ID: id, Version: "1"}, Text: text,
		}}
}

// keyed gives it an idempotency key and the canonical form of what it says.
func keyed(s Submission, key string) Submission {
	s.IdempotencyKey = key
	s.Canonical = map[string][]byte{}
	for name, v := range map[string]any{"to": s.To, "purpose": s.Purpose, "event": s.Event, "text": s.Text} {
		s.Canonical[name], _ = json.Marshal(v)
	}
	return s
}

// submit expects a decision.
func (b *bench) submit(s Submission) Answer {
	b.t.Helper()
	a, err := b.Submit(bg, s)
	if err != nil {
		b.t.Fatalf("submit: %v", err)
	}
	return a
}

// refused expects a fault of a code.
func (b *bench) refused(s Submission, code fault.Code) *fault.Fault {
	b.t.Helper()
	_, err := b.Submit(bg, s)
	return b.isFault(err, code)
}

func (b *bench) isFault(err error, code fault.Code) *fault.Fault {
	b.t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		b.t.Fatalf("got %v, want %s", err, code)
	}
	b.hides(fmt.Sprint(err, f.Fields))
	return f
}

func oneWriter(c *Config) { c.Batch = batch.Config{Max: 64, Writers: 1, Depth: 1000} }
