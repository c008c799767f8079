package dispatch

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

func sweeper(s *memory) (*Sweeper, *telemetry.Metrics) {
	m := telemetry.NewMetrics()
	return NewSweeper(SweepConfig{Store: s, Every: time.Millisecond, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(m)}), m
}

// shows reports whether the metrics have a line.
func shows(m *telemetry.Metrics, line string) bool {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return strings.Contains(w.Body.String(), "\n"+line+"\n")
}

// A node died with messages in hand. What it had only claimed is pending again, what it had opened is unknown
// and is not sent again.
//
// covers: O6, I5, I6, I16
func TestSweepAfterACrash(t *testing.T) {
	s := newMemory()
	opened, claimed := s.put(16), s.put(16)
	got, _ := s.Claim(t.Context(), store.ClaimSpec{Room: flow.Room{All: 2, Lower: 2}, Lease: 20 * time.Millisecond})
	if _, err := s.OpenAttempts(t.Context(), store.OpenSpec{AnswerBy: 20 * time.Millisecond}, got.Taken[:1]); err != nil {
		t.Fatal(err)
	}
	w, metrics := sweeper(s)
	w.Start(t.Context())
	s.awaitState(t, message.Unknown, opened)
	s.awaitState(t, message.Pending, claimed)
	w.Stop()
	if !shows(metrics, "einmal_orphans_total 1") {
		t.Error("the orphan was not counted")
	}
}

// covers: D5
func TestSweepEndsValidityAndReceiptTime(t *testing.T) {
	s := newMemory()
	valid, over, waiting := s.put(16), s.put(16), s.put(16)
	s.change(func() {
		s.cases[over].ValidUntil = now()
		c := s.cases[waiting]
		c.State, c.ReceiptUntil = message.Accepted, now()
	})
	w, _ := sweeper(s)
	w.Start(t.Context())
	defer w.Stop()
	s.awaitState(t, message.Expired, over)
	s.await(t, "for the end of the receipt time", func() bool { return s.cases[waiting].Final })
	s.awaitState(t, message.Accepted, waiting)
	s.awaitState(t, message.Pending, valid)
}

// A sweep that fails goes on with the next one.
func TestASweepThatFailsIsTriedAgain(t *testing.T) {
	s := newMemory()
	s.fail = failFirst("Settle", 3, fault.New(fault.Unavailable, "away"))
	over := s.put(16)
	s.change(func() { s.cases[over].ValidUntil = clock.Micros(1) })
	w, _ := sweeper(s)
	w.Start(t.Context())
	defer w.Stop()
	s.awaitState(t, message.Expired, over)
}
