package dispatch

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// untouched is a provider that must not be given anything.
type untouched struct {
	*carrier
	t *testing.T
}

func (u untouched) Submit(s provider.Submission, _ provider.Report) {
	u.t.Errorf("submitted with the deadline %v and the validity %v", s.Deadline, s.Validity)
}

// What has no time left does not reach the provider, to whom no time may mean no limit.
//
// covers: I9
func TestWithoutTimeNothingIsSubmitted(t *testing.T) {
	at := time.Now()
	valid := store.Opened{OpenedAt: now(), ValidUntil: now() + 60e6}
	over, past := valid, valid
	over.ValidUntil, past.ValidUntil = valid.OpenedAt, valid.OpenedAt-1
	for name, c := range map[string]struct {
		opened store.Opened
		slot   time.Time
		code   string
	}{
		"no slot":             {valid, time.Time{}, CodeSlotLost},
		"slot over":           {valid, at, CodeSlotLost},
		"valid until opening": {over, at.Add(time.Hour), CodeValidityOver},
		"validity over":       {past, at.Add(time.Hour), CodeValidityOver},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(newMemory(), newCarrier(1))
			cfg.Provider = untouched{newCarrier(1), t}
			d := New(cfg)
			d.slots.set(c.slot)
			d.submit(t.Context(), c.opened, at.Add(time.Hour))
			if d.outcomes.close(); t.Failed() {
				return
			}
			news, _ := d.outcomes.take(2)
			if len(news) != 1 || news[0].Outcome != message.OutcomeNotSent || news[0].Code != c.code || news[0].GiveUp || d.flying.all.Load() != 0 {
				t.Errorf("the store is told %+v, %d are under way", news, d.flying.all.Load())
			}
		})
	}
}

// A slot that is lost between claim and submission leaves no submission behind.
func TestALostSlotSubmitsNothing(t *testing.T) {
	s := newMemory()
	cfg := config(s, newCarrier(1))
	cfg.Provider = untouched{newCarrier(1), t}
	d := New(cfg)
	d.shareSlots(t.Context(), time.Now())
	s.change(func() { s.noSlot = true })
	d.shareSlots(t.Context(), time.Now())
	d.submit(t.Context(), store.Opened{OpenedAt: now(), ValidUntil: now() + 60e6}, time.Now().Add(time.Hour))
}

// logged is a dispatcher with what it logs from warnings on.
func logged(s *memory, m *telemetry.Metrics) (*Dispatcher, *bytes.Buffer) {
	var log bytes.Buffer
	cfg := config(s, newCarrier(1))
	cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg.Metrics = NewMetrics(m)
	return New(cfg), &log
}

// lines returns what was logged since it was asked the last time.
func lines(log *bytes.Buffer) []string {
	defer log.Reset()
	return strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
}

func TestASlotThatIsNotFreeForLongIsToldOfOnce(t *testing.T) {
	d, log := logged(newMemory(), telemetry.NewMetrics())
	long, at := 2*d.cfg.Lease+d.cfg.ResponseTimeout, time.Now()
	ask := func(free bool, after time.Duration) string {
		got := store.SlotShare{Share: 1, Nodes: 2}
		if free {
			got.Held = []store.Slot{{}}
		}
		d.noteShare(got, at.Add(after))
		said := lines(log)
		if len(said) > 1 {
			t.Errorf("at %v: %q", after, said)
		}
		return said[0]
	}
	for range 2 { // one outage is as good as the next
		for _, c := range []struct {
			after time.Duration
			free  bool
			want  string
		}{
			{0, false, ""},
			{long, false, ""},
			{long + 1, false, "no bind slot is free"},
			{2 * long, false, ""},
			{9 * long, true, "a bind slot is free again"},
			{10 * long, false, ""},
			{11 * long, true, ""},
		} {
			if got := ask(c.free, c.after); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("after %v, free %t: logged %q, want %q", c.after, c.free, got, c.want)
			}
		}
		at = at.Add(20 * long)
	}
}

// A store that is away says nothing about other nodes: the outage that was told of goes on.
func TestAStoreThatIsAwayEndsNoOutage(t *testing.T) {
	s := newMemory()
	s.noSlot = true
	d, log := logged(s, telemetry.NewMetrics())
	at := time.Now()
	d.shareSlots(t.Context(), at)
	d.shareSlots(t.Context(), at.Add(time.Hour))
	s.fail = failFirst("KeepSlots", 3, away)
	d.shareSlots(t.Context(), at.Add(2*time.Hour))
	d.shareSlots(t.Context(), at.Add(3*time.Hour))
	if got := log.String(); strings.Count(got, "no bind slot is free") != 1 || strings.Contains(got, "free again") {
		t.Errorf("logged %s, want one outage without an end", got)
	}
}

// Claims that come too late are counted each, and told of once a minute with how many they were.
func TestLateClaimsAreToldOf(t *testing.T) {
	m := telemetry.NewMetrics()
	d, log := logged(newMemory(), m)
	d.open(t.Context(), []claim{{deadline: time.Now()}, {deadline: time.Now()}})
	if got := log.String(); !strings.Contains(got, "too late for an attempt") || !strings.Contains(got, "count=2") {
		t.Errorf("logged %q", got)
	}
	log.Reset()
	at := d.late.told
	d.noteLate(3, at.Add(time.Minute-1))
	if log.Len() > 0 {
		t.Errorf("within the minute: logged %q", log)
	}
	d.noteLate(0, at.Add(time.Minute))
	if got := log.String(); !strings.Contains(got, "count=3") {
		t.Errorf("after the minute: logged %q, want a count of 3", got)
	}
	log.Reset()
	if d.noteLate(0, at.Add(time.Hour)); log.Len() > 0 {
		t.Errorf("with nothing late: logged %q", log)
	}
	if !shows(m, `einmal_late_claims_total{connection="carrier"} 5`) {
		t.Error("five late claims were not counted")
	}
	d.outcomes.close()
	if news, _ := d.outcomes.take(10); len(news) != 2 || news[0].Kind != evidence.Returned {
		t.Errorf("the store is told %+v, want that two are returned", news)
	}
}
