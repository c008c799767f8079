package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

var away = fault.New(fault.Unavailable, "the store is away")

// failFirst makes the first n calls of a method fail.
func failFirst(method string, n int, err error) func(string, int) error {
	return func(m string, call int) error {
		if m == method && call <= n {
			return err
		}
		return nil
	}
}

// covers: D9, I7
func TestAStoreThatIsAwayLosesNoOutcome(t *testing.T) {
	s, p := newMemory(), newCarrier(50)
	s.fail = failFirst("Settle", 4, away)
	start(t, config(s, p))
	var all []ident.Message
	for range 50 {
		all = append(all, s.put(16))
	}
	for range all {
		p.next(t).report(accepted)
	}
	s.awaitState(t, message.Accepted, all...)
}

// An outcome that the store calls a defect, or cannot take because of a lock, does not take the others of its batch with
// it, nor those that come later: however often it is tried it is kept, and it is stored when that can be.
//
// covers: I10
func TestAStuckOutcomeHoldsUpNobody(t *testing.T) {
	for name, why := range map[string]*spoiler{
		"defect": {whole: fault.New(fault.Internal, "a defect")}, "its own defect": {own: fault.New(fault.Internal, "a defect")},
		"lock": {own: fault.New(fault.Unavailable, "locked")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemory()
			d := New(config(s, newCarrier(50)))
			good, bad, later := s.put(16), s.put(16), s.put(16)
			s.Claim(t.Context(), store.ClaimSpec{Room: flow.Room{All: 3, Lower: 3}, Lease: time.Minute})
			why.memory, why.bad, why.until, why.often = s, bad, make(chan struct{}), make(chan struct{})
			d.cfg.Store, d.firstBackoff = why, time.Microsecond
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d.retrier.Go(func() { d.stuckLoop(ctx) })
			d.settlers.Go(func() { d.settleLoop(ctx) })
			d.owe(returned(bad))
			d.owe(returned(good))
			s.awaitState(t, message.Pending, good)
			select { // more often than anything was ever tried before it was given up
			case <-why.often:
			case <-time.After(10 * time.Second):
				t.Fatalf("it was tried %d times in ten seconds", why.tries.Load())
			}
			d.owe(returned(later))
			s.awaitState(t, message.Pending, later)
			if d.unsettled.Load() == 0 {
				t.Error("what is kept does not count as unsettled")
			}
			close(why.until)
			s.awaitState(t, message.Pending, bad)
			d.outcomes.close()
			d.settlers.Wait()
			d.stuck.close()
			d.retrier.Wait()
			if n := d.unsettled.Load(); n != 0 {
				t.Errorf("%d are unsettled in the end", n)
			}
		})
	}
}

func returned(m ident.Message) store.News {
	return store.News{Evidence: evidence.Evidence{Kind: evidence.Returned, Message: m, Fence: 1}}
}

// spoiler cannot settle one message until it is told to: with an error of the whole batch, or of that message's own.
type spoiler struct {
	*memory
	bad        ident.Message
	whole, own error
	until      chan struct{}
	tries      atomic.Int64
	often      chan struct{} // closed when it was tried twenty times
}

func (s *spoiler) Settle(ctx context.Context, news []store.News, r store.Rules) ([]store.Settled, error) {
	i := slices.IndexFunc(news, func(n store.News) bool { return n.Message == s.bad })
	select {
	case <-s.until:
		i = -1
	default:
	}
	if i < 0 {
		return s.memory.Settle(ctx, news, r)
	}
	if s.tries.Add(1) == 20 {
		close(s.often)
	}
	if s.whole != nil {
		return nil, s.whole
	}
	settled, err := s.memory.Settle(ctx, slices.Delete(slices.Clone(news), i, i+1), r)
	return slices.Insert(settled, i, store.Settled{Err: s.own}), err
}

// An item that is stuck alone is tried again alone.
func TestAStuckItemIsTriedAgain(t *testing.T) {
	s, p := newMemory(), newCarrier(50)
	d := New(config(s, p))
	news := []store.News{returned(s.put(16)), returned(s.put(16))}
	again := d.settled(t.Context(), news, []store.Settled{{}, {Err: fault.New(fault.InProgress, "locked")}})
	if len(again) != 1 || again[0].Message != news[1].Message {
		t.Errorf("%d are tried again, want the second one", len(again))
	}
}

// The claims of an OpenAttempts that failed are free again at once.
func TestClaimsAreGivenBackWhenNoAttemptCanBeOpened(t *testing.T) {
	s, p := newMemory(), newCarrier(50)
	s.fail = failFirst("OpenAttempts", 1, away)
	start(t, config(s, p))
	m := s.put(16)
	p.next(t).report(accepted)
	s.awaitState(t, message.Accepted, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.news[0].Kind != evidence.Returned {
		t.Errorf("the store was first told %v, want Returned", s.news[0].Kind)
	}
}

func TestClaimsGoOnAfterTheStoreWasAway(t *testing.T) {
	s, p := newMemory(), newCarrier(50)
	s.fail = func(m string, call int) error {
		return errors.Join(failFirst("Claim", 2, away)(m, call), failFirst("KeepSlots", 2, away)(m, call))
	}
	cfg := config(s, p)
	cfg.Lease = 40 * time.Millisecond
	cfg.Margin = time.Millisecond
	start(t, cfg)
	m := s.put(16)
	p.next(t).report(accepted)
	s.awaitState(t, message.Accepted, m)
}

// covers: I9
func TestWithoutASlotNothingIsClaimed(t *testing.T) {
	s, p := newMemory(), newCarrier(50)
	s.noSlot = true
	cfg := config(s, p)
	cfg.Lease, cfg.Margin = 40*time.Millisecond, 10*time.Millisecond
	start(t, cfg)
	m := s.put(16)
	s.awaitCall(t, "KeepSlots", 3)
	if s.countCalls("Claim") != 0 {
		t.Error("something was claimed without a slot")
	}
	s.change(func() { s.noSlot = false })
	p.next(t).report(accepted)
	s.awaitState(t, message.Accepted, m)
}

// A slot that another node has taken, and one that could not be renewed in time, end the submissions.
func TestALostSlotEndsTheSubmissions(t *testing.T) {
	for name, renew := range map[string]struct {
		ok  bool
		err error
	}{"taken by another": {}, "store away": {err: away}} {
		t.Run(name, func(t *testing.T) {
			s := newMemory()
			cfg := config(s, newCarrier(1))
			cfg.Lease, cfg.Margin = 50*time.Millisecond, 10*time.Millisecond
			d := New(cfg)
			d.shareSlots(t.Context(), time.Now())
			until := d.slots.validUntil()
			if !d.slots.valid(time.Now()) {
				t.Fatal("no slot was taken")
			}
			s.noSlot = renew.err == nil
			s.fail = failFirst("KeepSlots", 2, renew.err)
			d.shareSlots(t.Context(), time.Now())
			if got := d.slots.validUntil(); got.After(until) {
				t.Error("the slot was made longer")
			}
			if d.slots.valid(until) {
				t.Error("the slot is still held after its lease")
			}
		})
	}
}

// A submission may not begin after the slot's end, even if its claim runs longer.
func TestTheSlotBoundsTheDeadline(t *testing.T) {
	s, p := newMemory(), newCarrier(1)
	d := New(config(s, p))
	until := time.Now().Add(time.Second)
	d.slots.set(until)
	d.submit(t.Context(), store.Opened{OpenedAt: now(), ValidUntil: now() + 1e6}, until.Add(time.Minute))
	if got := p.next(t).Deadline; !got.Equal(until) {
		t.Errorf("the deadline is %v after the slot's end", got.Sub(until))
	}
}

func TestAConnectionThatIsRefusedAsAWholePauses(t *testing.T) {
	s, p := newMemory(), newCarrier(1)
	cfg := config(s, p)
	cfg.Pause = time.Hour
	d := start(t, cfg)
	first := s.put(16)
	p.next(t).report(provider.Outcome{Kind: provider.Rejected, PauseConnection: true})
	s.awaitState(t, message.Rejected, first)
	claims := s.countCalls("Claim")
	s.put(16)
	d.Wake()
	if d.claimOnce(t.Context()) != foundNoRoom || s.countCalls("Claim") != claims {
		t.Error("a connection that pauses claims")
	}
}

// A provider that says "not now" is not asked again at once with the next message.
func TestClaimsRestAfterNotNow(t *testing.T) {
	for kind, rests := range map[provider.OutcomeKind]bool{
		provider.Throttled: true, provider.NotSent: true, provider.Accepted: false, provider.Rejected: false, provider.Unknown: false,
	} {
		cfg := config(newMemory(), newCarrier(10))
		cfg.Poll = time.Second
		d := New(cfg)
		d.slots.set(time.Now().Add(time.Hour))
		at := time.Now()
		d.notePause(provider.Outcome{Kind: kind}, at)
		if got := d.roomFor(at.Add(time.Second-1)).All == 0; got != rests {
			t.Errorf("after %s: claims rest %t, want %t", kind, got, rests)
		}
		if d.roomFor(at.Add(time.Second)).All != 10 {
			t.Errorf("after %s claims rest too long", kind)
		}
	}
}

func TestPausesDouble(t *testing.T) {
	p := pause{first: 30 * time.Second, next: 30 * time.Second}
	at := time.Now()
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute}
	for i, w := range want {
		got, begun := p.begin(at)
		if _, again := p.begin(at.Add(w - 1)); !begun || got != w || again || !p.on(at.Add(w-1)) || p.on(at.Add(w)) {
			t.Fatalf("pause %d is %v (begun %t, again %t), want %v", i, got, begun, again, w)
		}
		p.accepted(at) // an answer from before the pause proves nothing
		at = at.Add(w)
	}
	p.accepted(at)
	if got, _ := p.begin(at); got != 30*time.Second {
		t.Errorf("after it worked again the pause is %v, want 30s", got)
	}
}

// Too many outcomes that wait for the store keep new messages from being claimed.
func TestABacklogOfOutcomesStopsClaims(t *testing.T) {
	d := New(config(newMemory(), newCarrier(10)))
	d.slots.set(time.Now().Add(time.Hour))
	d.unsettled.Store(maxUnsettled)
	if got := d.roomFor(time.Now()).All; got != 0 {
		t.Errorf("there is room for %d", got)
	}
	d.unsettled.Store(maxUnsettled - 1)
	d.reserved.all.Store(4)
	if got := d.roomFor(time.Now()).All; got != 6 {
		t.Errorf("there is room for %d beside 4 of 10, want 6", got)
	}
}

// An orderly stop: what is under way is answered and stored, what was only claimed is pending again.
//
// covers: I6
func TestStopEndsInOrder(t *testing.T) {
	s, p := newMemory(), newCarrier(2)
	d := New(config(s, p))
	d.Start(t.Context())
	first := s.put(16)
	flying := p.next(t)
	hold := make(chan struct{})
	s.mu.Lock()
	s.hold["Claim"] = hold
	s.mu.Unlock()
	second := s.put(16)
	d.Wake()
	s.awaitCall(t, "Claim", s.countCalls("Claim")+1)
	p.onStop = func() { go flying.report(accepted) } // the answer comes when the provider has stopped already
	stopped := make(chan error)
	go func() { stopped <- d.Stop(t.Context()) }()
	<-d.stopping
	close(hold)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	s.awaitState(t, message.Accepted, first)
	s.awaitState(t, message.Pending, second)
	if s.countCalls("LeaveSlots") != 1 || !p.stopped {
		t.Error("the slots were not given back, or the provider not stopped")
	}
}

// A stop that may take no longer ends all the same.
func TestStopEndsWithItsContext(t *testing.T) {
	s, p := newMemory(), newCarrier(2)
	d := New(config(s, p))
	d.Start(t.Context())
	s.put(16)
	flying := p.next(t)
	ctx, cancel := context.WithCancel(t.Context())
	p.onStop = cancel
	if err := d.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped with %v", err)
	}
	flying.report(accepted) // nobody takes it, and nobody is in its way
}

func TestCommittedIsCalledAfterOutcomes(t *testing.T) {
	s, p := newMemory(), newCarrier(2)
	cfg := config(s, p)
	var calls atomic.Int64
	cfg.Committed = func() { calls.Add(1) }
	d := New(cfg)
	d.settled(t.Context(), []store.News{{}}, []store.Settled{{Err: away}})
	if calls.Load() != 0 {
		t.Error("it was called though nothing was committed")
	}
	d.settled(t.Context(), []store.News{{}}, []store.Settled{{}})
	if calls.Load() != 1 {
		t.Errorf("it was called %d times, want once", calls.Load())
	}
}

func (s *memory) countCalls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}
