package dispatch

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// shareOf is what a node has that holds so many of the slots, of which it may hold some.
func shareOf(share, nodes int, held ...int) *store.SlotShare {
	s := &store.SlotShare{Share: share, Nodes: nodes}
	for _, n := range held {
		s.Held = append(s.Held, store.Slot{Connection: 1, N: n, Fence: 1})
	}
	return s
}

// keeper is a dispatcher whose slots the test keeps.
func keeper(t *testing.T) (*Dispatcher, *memory, *carrier) {
	t.Helper()
	s, p := newMemory(), newCarrier(50)
	cfg := config(s, p)
	cfg.Connection.Binds = 3
	cfg.ResponseTimeout = patience
	d := New(cfg)
	t.Cleanup(d.slots.left.Wait)
	return d, s, p
}

func (d *Dispatcher) expectHeld(t *testing.T, what string, want ...int) {
	t.Helper()
	if got := d.cfg.Provider.(*carrier).held(); !slices.Equal(got, want) {
		t.Errorf("%s: the binds %v are held, want %v", what, got, want)
	}
}

// Each slot has its bind, and every bind the time of the lease, less the margin, from before the store was asked.
//
// covers: I9
func TestEachSlotHasItsBind(t *testing.T) {
	d, s, p := keeper(t)
	asked := time.Now()
	s.share = shareOf(3, 1, 0, 2)
	d.shareSlots(t.Context(), asked)
	d.expectHeld(t, "two slots", 0, 2)
	for n, until := range p.holds {
		if want := asked.Add(d.cfg.Lease - d.cfg.Margin); !until.Equal(want) || !d.slots.validUntil().Equal(want) {
			t.Errorf("bind %d is held for %v after the lease less the margin", n, until.Sub(want))
		}
	}
}

// A new node gets a slot once what is under way over its bind is answered, and not before.
func TestASlotTooManyIsGivenBackInOrder(t *testing.T) {
	d, s, p := keeper(t)
	p.left = make(chan struct{})
	s.share = shareOf(2, 2, 0, 1, 2)
	d.shareSlots(t.Context(), time.Now())
	if n := <-p.leaving; n != 2 {
		t.Errorf("bind %d ends, want the latest one", n)
	}
	d.shareSlots(t.Context(), time.Now()) // it is still held, and renewed
	if s.countCalls("GiveSlot") != 0 || len(p.leaving) != 0 {
		t.Error("the slot was given back before its bind had ended, or the bind ended twice")
	}
	close(p.left)
	d.slots.left.Wait()
	if len(s.given) != 1 || s.given[0].N != 2 {
		t.Errorf("given back: %v", s.given)
	}
	d.expectHeld(t, "afterwards", 0, 1)
}

// An answer of the store that is older than the giving back does not bring the bind back: another node has it by now.
//
// covers: I9
func TestASlotThatWasGivenBackIsNotHeldByAnOldAnswer(t *testing.T) {
	d, s, _ := keeper(t)
	s.share = shareOf(1, 2, 0, 1)
	d.shareSlots(t.Context(), time.Now())
	asked := time.Now()
	d.slots.left.Wait()
	d.shareSlots(t.Context(), asked)
	d.expectHeld(t, "by the old answer", 0)
	if s.countCalls("GiveSlot") != 1 {
		t.Errorf("given back %d times", s.countCalls("GiveSlot"))
	}
	s.share = shareOf(2, 1, 0, 1)
	d.shareSlots(t.Context(), time.Now())
	d.expectHeld(t, "taken again", 0, 1)
}

// A slot that could not be given back is surplus still, and is given back the next time.
func TestAFailedGivingBackIsTriedAgain(t *testing.T) {
	d, s, _ := keeper(t)
	s.fail = failFirst("GiveSlot", 1, away)
	s.share = shareOf(1, 2, 0, 1)
	for range 2 {
		d.shareSlots(t.Context(), time.Now())
		d.slots.left.Wait()
	}
	if s.countCalls("GiveSlot") != 2 {
		t.Errorf("given back %d times, want once in vain and once more", s.countCalls("GiveSlot"))
	}
}

// A bind whose slot another node has taken ends: the carrier may allow no more at a time.
func TestALostSlotEndsItsBind(t *testing.T) {
	d, s, _ := keeper(t)
	s.share = shareOf(3, 1, 0, 1, 2)
	d.shareSlots(t.Context(), time.Now())
	s.share = shareOf(2, 2, 0, 2)
	d.shareSlots(t.Context(), time.Now())
	d.slots.left.Wait()
	d.expectHeld(t, "after one was lost", 0, 2)
	if s.countCalls("GiveSlot") != 0 {
		t.Error("a slot that is another's was given back")
	}
	if !d.slots.valid(time.Now()) {
		t.Error("the others are of no use any more")
	}
}

// While the store is away binds stay for a lease after their slots have ended, unused, and end then.
//
// covers: I9
func TestBindsEndWhenTheStoreStaysAway(t *testing.T) {
	d, s, _ := keeper(t)
	at := time.Now()
	s.share = shareOf(2, 1, 0, 1)
	d.shareSlots(t.Context(), at)
	s.fail = func(string, int) error { return away }
	d.shareSlots(t.Context(), at.Add(2*d.cfg.Lease-1))
	d.expectHeld(t, "a little before", 0, 1)
	if d.slots.valid(at.Add(d.cfg.Lease - d.cfg.Margin)) {
		t.Error("they are used after their lease")
	}
	d.shareSlots(t.Context(), at.Add(2*d.cfg.Lease))
	d.slots.left.Wait()
	d.expectHeld(t, "when it is over")
	s.fail = func(string, int) error { return nil }
	d.shareSlots(t.Context(), time.Now())
	d.expectHeld(t, "when the store is back", 0, 1)
}

// A node that has no share because there are more nodes than binds is as it should be: no warning.
func TestStandingByIsToldOfOnceAndIsNoAlarm(t *testing.T) {
	var log bytes.Buffer
	s := newMemory()
	cfg := config(s, newCarrier(1))
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	cfg.Metrics = NewMetrics(telemetry.NewMetrics())
	d := New(cfg)
	at := time.Now()
	for i := range 5 {
		s.share = shareOf(0, 2)
		d.shareSlots(t.Context(), at.Add(time.Duration(i)*time.Hour))
	}
	if said := log.String(); strings.Count(said, "more nodes than binds") != 1 || strings.Contains(said, "WARN") {
		t.Errorf("logged %s", said)
	}
}

// A connection whose far side is the node's own has all its binds at once and for ever, and asks no store.
func TestOwnBindsAreNotShared(t *testing.T) {
	d, s, _ := keeper(t)
	d.cfg.Connection.Own = true
	d.Start(t.Context())
	m := s.put(16)
	d.cfg.Provider.(*carrier).next(t).report(accepted)
	s.awaitState(t, message.Accepted, m)
	d.expectHeld(t, "its own", 0, 1, 2)
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, method := range []string{"KeepSlots", "GiveSlot", "LeaveSlots"} {
		if s.countCalls(method) != 0 {
			t.Errorf("%s was called", method)
		}
	}
}

// A stop gives the slots back before it waits for outcomes to be stored: another node takes them meanwhile.
func TestAStopGivesTheSlotsBackBeforeItWaits(t *testing.T) {
	s, p := newMemory(), newCarrier(2)
	d := New(config(s, p))
	d.Start(t.Context())
	s.put(16)
	flying := p.next(t)
	stopped := make(chan error)
	go func() { stopped <- d.Stop(t.Context()) }()
	s.awaitCall(t, "LeaveSlots", 1)
	keeps := s.countCalls("KeepSlots")
	flying.report(accepted)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if s.countCalls("KeepSlots") != keeps {
		t.Error("slots were asked for after they were given back")
	}
}

// A node that finds nobody at the carrier's address lets another node try, which may have another way there. It comes back
// later, and does not leave as long as there is no other.
func TestANodeThatReachesNobodyStandsBack(t *testing.T) {
	d, s, p := keeper(t)
	at := time.Now()
	p.far = true
	s.share = shareOf(2, 1, 0, 1)
	d.shareSlots(t.Context(), at)
	d.shareSlots(t.Context(), at.Add(time.Hour))
	d.expectHeld(t, "without another node", 0, 1)
	p.far = false
	d.shareSlots(t.Context(), at.Add(time.Hour))
	p.far, s.share = true, shareOf(2, 2, 0, 1)
	d.shareSlots(t.Context(), at.Add(2*time.Hour))
	d.shareSlots(t.Context(), at.Add(2*time.Hour+aloneFor-1))
	if d.expectHeld(t, "not yet long enough", 0, 1); s.countCalls("LeaveSlots") != 0 {
		t.Error("slots were given back too soon")
	}
	back := at.Add(2*time.Hour + aloneFor)
	d.shareSlots(t.Context(), back)
	d.expectHeld(t, "standing back")
	keeps := s.countCalls("KeepSlots")
	if d.shareSlots(t.Context(), back.Add(standsBack-1)); s.countCalls("LeaveSlots") != 1 || s.countCalls("KeepSlots") != keeps || d.slots.valid(back) {
		t.Error("the slots were not given back once, or are wanted still")
	}
	d.shareSlots(t.Context(), back.Add(standsBack))
	d.expectHeld(t, "back again", 0, 1)
}

// Two dispatchers of a node, as there are for a moment when a connection gets other settings, are two holders: the one that
// ends does not give back what the other has.
//
// covers: I9
func TestEachDispatcherHoldsItsOwnSlots(t *testing.T) {
	s := newMemory()
	var holders []string
	for range 2 {
		d := New(config(s, newCarrier(1)))
		d.shareSlots(t.Context(), time.Now())
		holders = append(holders, s.holder.String())
	}
	if holders[0] == holders[1] {
		t.Error("two dispatchers are one holder")
	}
}
