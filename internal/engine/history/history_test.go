package history

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a store with so many old things of each kind, two of which go a step.
type shelf struct {
	mu                         sync.Mutex
	messages, records, keys    int
	fails                      error
	length                     time.Duration
	beforeMessages, beforeKeys clock.Micros
	messageFroms, keyFroms     int
	after                      chan struct{} // receives a value at the end of each round
}

const now = clock.Micros(1_000_000_000_000_000)

func (s *shelf) Now(context.Context) (clock.Micros, error) { return now, nil }

func (s *shelf) PartitionHistory(_ context.Context, length time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.length = length
	err := s.fails
	s.fails = nil
	return err
}

func take(n *int) int {
	k := min(*n, 2)
	*n -= k
	return k
}

func (s *shelf) ForgetMessages(_ context.Context, before clock.Micros, from ident.Message, _ int, _ store.Rules) (int, ident.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !from.IsZero() {
		s.messageFroms++
	}
	s.beforeMessages = before
	gone, next := take(&s.messages), ident.Message{}
	if s.messages > 0 {
		next = ident.NewMessage(0)
	}
	return gone, next, nil
}

func (s *shelf) ForgetRecords(context.Context, clock.Micros, int) (store.Forgotten, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.Forgotten{Gone: take(&s.records), HeldBack: time.Hour}, nil
}

func (s *shelf) ForgetKeys(_ context.Context, before clock.Micros, from store.KeyCursor, _ int) (int, store.KeyCursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from != (store.KeyCursor{}) {
		s.keyFroms++
	}
	s.beforeKeys = before
	gone, next := take(&s.keys), store.KeyCursor{}
	if s.keys > 0 {
		next = store.KeyCursor{Space: intent.SpaceIntent}
	} else {
		s.after <- struct{}{}
	}
	return gone, next, nil
}

func run(t *testing.T, s *shelf, keep time.Duration) *telemetry.Metrics {
	t.Helper()
	s.after = make(chan struct{}, 100)
	m := telemetry.NewMetrics()
	w := New(Config{
		Store: s, Rules: func() store.Rules { return store.Rules{} }, Keep: keep, Keys: time.Hour, Every: time.Millisecond, Rest: time.Nanosecond,
		Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(m),
	})
	w.Start(t.Context())
	select {
	case <-s.after:
	case <-time.After(10 * time.Second):
		t.Fatal("no round ended within ten seconds")
	}
	w.Stop()
	return m
}

func TestARoundForgetsAllThatMayGo(t *testing.T) {
	s := &shelf{messages: 5, records: 3, keys: 3}
	m := run(t, s, 100*24*time.Hour)
	if s.messages+s.records+s.keys != 0 || s.messageFroms != 2 || s.keyFroms != 1 {
		t.Errorf("left: %d messages, %d records, %d keys", s.messages, s.records, s.keys)
	}
	if s.beforeMessages != now.Add(-100*24*time.Hour) || s.beforeKeys != now.Add(-time.Hour) || s.length != 2*week {
		t.Errorf("messages before %d, keys before %d, partitions of %s", s.beforeMessages, s.beforeKeys, s.length)
	}
	page := httptest.NewRecorder()
	m.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{`einmal_history_forgotten_total{kind="message"} 5`, "einmal_history_held_back_seconds 3600"} {
		if !strings.Contains(page.Body.String(), line+"\n") {
			t.Errorf("the metrics do not say %s", line)
		}
	}
}

// What is kept for ever still has keys whose windows are over, and partitions.
func TestHistoryThatIsKept(t *testing.T) {
	s := &shelf{messages: 2, records: 2, keys: 2}
	run(t, s, 0)
	if s.messages != 2 || s.records != 2 || s.keys != 0 || s.length != halfYear {
		t.Errorf("left: %d messages, %d records, %d keys; partitions of %s", s.messages, s.records, s.keys, s.length)
	}
}

// A round that fails is followed by one that does not.
func TestARoundThatFails(t *testing.T) {
	s := &shelf{messages: 2, fails: errors.New("no connection")}
	run(t, s, week)
	if s.messages != 0 {
		t.Error("nothing was forgotten after a failure")
	}
}

func TestPartitionLength(t *testing.T) {
	for keep, want := range map[time.Duration]time.Duration{
		0: halfYear, week: week, 84 * 24 * time.Hour: week, 85 * 24 * time.Hour: 2 * week, 400 * 24 * time.Hour: 5 * week, 20 * 365 * 24 * time.Hour: halfYear,
	} {
		if got := PartitionLength(keep); got != want {
			t.Errorf("of %s kept a partition is %s, want %s", keep, got, want)
		}
	}
}
