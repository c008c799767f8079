package dispatch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// parts reads submissions until it has those of the attempts; what else comes is accepted.
func (c *carrier) parts(t *testing.T, want ...string) []sent {
	t.Helper()
	var got []sent
	for len(got) < len(want) {
		one := c.next(t)
		if one.Attempt != want[len(got)] {
			t.Fatalf("%s was submitted, want %s", one.Attempt, want[len(got)])
		}
		got = append(got, one)
	}
	return got
}

// once checks that no part was submitted a second time after it was taken.
func (s *memory) wantAttempts(t *testing.T, m ident.Message, want string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	got := ""
	for _, a := range s.cases[m].Attempts {
		got += fmt.Sprintf("%d.%d %s, ", a.Part, a.Attempt, a.Outcome)
	}
	if got != want {
		t.Errorf("the attempts are %s want %s", got, want)
	}
}

// The first part gates the rest, which leaves under the same claim: with a place, a number and a reference of its own
// each, and one reference for all by which a handset joins them.
//
// covers: D5, D9, R15, I9
func TestTheFirstPartGatesTheRest(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	d := start(t, config(s, p))
	m := s.putLong(16, 3)
	first := p.parts(t, AttemptID(m, 1, 1))[0]
	short := s.put(16)
	d.Wake()
	p.parts(t, AttemptID(short, 1, 1))[0].report(accepted) // and not a part
	first.report(accepted)
	more := p.parts(t, AttemptID(m, 1, 2), AttemptID(m, 1, 3))
	for i, one := range append([]sent{first}, more...) {
		want := provider.Segment{Number: uint8(i + 1), Total: 3, Reference: concatReference(m), By: provider.JoinedByUDH16}
		if one.Segment != want || one.DataCoding != gsm.CodingUCS2 || one.NoReceipt || one.Reference != uint16(1+100*i) {
			t.Errorf("part %d was submitted as %+v", i+1, one.Submission)
		}
	}
	more[1].report(accepted)
	more[0].report(accepted)
	s.awaitState(t, message.Accepted, m)
	s.wantAttempts(t, m, "1.1 accepted, 2.1 accepted, 3.1 accepted, ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cases[m]; c.Fence != 1 || len(s.opens) != 3 {
		t.Errorf("fence %d, %d times opened: the rest wants no claim, and one transaction", c.Fence, len(s.opens))
	}
}

// References tie the parts of one message together, and those of different messages apart, whoever their tenant is.
func TestReferencesOfMessagesDiffer(t *testing.T) {
	seen := map[uint16]bool{}
	for range 100 {
		seen[concatReference(ident.NewMessage(7))] = true
	}
	if len(seen) < 90 {
		t.Errorf("a hundred messages have %d references", len(seen))
	}
}

// With a window of one the parts go one after the other, under one claim.
func TestPartsShareASmallWindow(t *testing.T) {
	s, p := newMemory(), newCarrier(1)
	start(t, config(s, p))
	m := s.putLong(16, 4)
	for part := range uint16(4) {
		p.parts(t, AttemptID(m, 1, part+1))[0].report(accepted)
	}
	s.awaitState(t, message.Accepted, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cases[m]; c.Fence != 1 {
		t.Errorf("it was claimed %d times", c.Fence)
	}
}

// The rest of a message does not go to the end of a flood's queue.
//
// covers: D19
func TestTheRestGoesBeforeAFlood(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	m := s.putLong(16, 5)
	for range 300 {
		s.put(16)
	}
	start(t, config(s, p))
	others := 0
	for left := 5; left > 0; {
		one := p.next(t)
		if one.Segment.Total == 5 {
			left--
		} else if others++; others > 3*10 {
			t.Fatalf("%d parts have not left after three windows of what came later", left)
		}
		one.report(accepted)
	}
	s.awaitState(t, message.Accepted, m)
	p.onStop = p.answerAll
}

// A part that was not taken is tried again by itself. No other part is sent twice.
//
// covers: D5, I3
func TestOnlyThePartThatWasThrottledIsTriedAgain(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	start(t, config(s, p))
	m := s.putLong(16, 3)
	p.parts(t, AttemptID(m, 1, 1))[0].report(accepted)
	more := p.parts(t, AttemptID(m, 1, 2), AttemptID(m, 1, 3))
	more[0].report(provider.Outcome{Kind: provider.Throttled})
	more[1].report(accepted)
	p.parts(t, AttemptID(m, 2, 2))[0].report(accepted) // a second later, by the domain's rule
	s.awaitState(t, message.Accepted, m)
	s.wantAttempts(t, m, "1.1 accepted, 2.1 throttled, 3.1 accepted, 2.2 accepted, ")
}

// An unknown first part keeps the rest back, until it is known that it was taken.
//
// covers: D9, I5
func TestAnUnknownFirstPartKeepsTheRestBack(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	d := start(t, config(s, p))
	m := s.putLong(16, 2)
	first := p.parts(t, AttemptID(m, 1, 1))[0]
	first.report(provider.Outcome{Kind: provider.Unknown})
	s.awaitState(t, message.Unknown, m)
	short := s.put(16)
	d.Wake()
	p.parts(t, AttemptID(short, 1, 1))[0].report(accepted)
	late := accepted
	late.Late = true
	first.report(late)
	p.parts(t, AttemptID(m, 1, 2))[0].report(accepted)
	s.awaitState(t, message.Accepted, m)
}

// A part that is refused after another was taken ends the message, and nothing of it is sent again.
//
// covers: D5, I3, I7
func TestARefusedPartEndsTheMessage(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	start(t, config(s, p))
	m, whole := s.putLong(16, 3), s.putLong(16, 3)
	p.parts(t, AttemptID(m, 1, 1))[0].report(accepted)
	for range 3 {
		switch one := p.next(t); one.Attempt {
		case AttemptID(whole, 1, 1), AttemptID(m, 1, 2):
			one.report(provider.Outcome{Kind: provider.Rejected, Code: "0x0000000b"})
		default:
			one.report(accepted)
		}
	}
	s.awaitState(t, message.Failed, m)
	s.awaitState(t, message.Rejected, whole)
	s.wantAttempts(t, whole, "1.1 rejected, ")
}

// Parts for which no room comes while the lease runs are given back, and sent under another claim.
//
// covers: I6, I9
func TestPartsWithoutRoomAreGivenBack(t *testing.T) {
	s, p := newMemory(), newCarrier(1)
	cfg := config(s, p)
	cfg.Lease, cfg.Margin = 300*time.Millisecond, 50*time.Millisecond
	start(t, cfg)
	m := s.putLong(16, 2)
	first := p.parts(t, AttemptID(m, 1, 1))[0]
	p.free(-1) // another's submission takes the place
	first.report(accepted)
	s.awaitState(t, message.Pending, m)
	p.free(1)
	p.parts(t, AttemptID(m, 1, 2))[0].report(accepted)
	s.awaitState(t, message.Accepted, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.cases[m].Fence; f != 2 {
		t.Errorf("it was claimed %d times, want 2", f)
	}
}

// Under an emergency stop the rest of a message in hand is given back, also where other parts of it are on their way or
// it had just been claimed for its rest, and leaves once the stop is lifted.
//
// covers: D19, I3
func TestAStopHoldsTheRest(t *testing.T) {
	stop := func(s *memory, on bool) { s.change(func() { s.stopped = on }) }
	t.Run("after the first", func(t *testing.T) {
		s, p := newMemory(), newCarrier(10)
		d := start(t, config(s, p))
		m := s.putLong(16, 3)
		first := p.parts(t, AttemptID(m, 1, 1))[0]
		stop(s, true)
		first.report(accepted)
		s.awaitState(t, message.Pending, m)
		stop(s, false)
		d.Wake()
		p.parts(t, AttemptID(m, 1, 2))[0].report(accepted)
		p.parts(t, AttemptID(m, 1, 3))[0].report(accepted)
		s.awaitState(t, message.Accepted, m)
		s.wantAttempts(t, m, "1.1 accepted, 2.1 accepted, 3.1 accepted, ")
	})
	t.Run("between two", func(t *testing.T) {
		s, p := newMemory(), newCarrier(1)
		d := start(t, config(s, p))
		m := s.putLong(16, 3)
		p.parts(t, AttemptID(m, 1, 1))[0].report(accepted)
		second := p.parts(t, AttemptID(m, 1, 2))[0]
		stop(s, true)
		second.report(accepted)
		s.awaitState(t, message.Pending, m)
		stop(s, false)
		d.Wake()
		p.parts(t, AttemptID(m, 1, 3))[0].report(accepted)
		s.awaitState(t, message.Accepted, m)
		s.wantAttempts(t, m, "1.1 accepted, 2.1 accepted, 3.1 accepted, ")
	})
	t.Run("claimed for its rest", func(t *testing.T) {
		s, p := newMemory(), newCarrier(10)
		m := s.putLong(16, 2)
		s.cases[m].Attempts = []evidence.Attempt{{Attempt: 1, Part: 1, Outcome: message.OutcomeAccepted, Reference: -1}}
		claimed, hold := make(chan struct{}), make(chan struct{})
		s.hold["OpenAttempts"] = hold
		s.fail = func(method string, n int) error {
			if method == "Claim" && n == 2 { // the first one was handed on
				close(claimed)
			}
			return nil
		}
		d := start(t, config(s, p))
		<-claimed
		stop(s, true)
		close(hold)
		s.awaitState(t, message.Pending, m)
		stop(s, false)
		d.Wake()
		p.parts(t, AttemptID(m, 1, 2))[0].report(accepted)
		s.awaitState(t, message.Accepted, m)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, n := range s.news {
			if n.Kind == evidence.LeaseEnded {
				t.Error("it was given back by the end of its lease alone")
			}
		}
	})
}

// A store that cannot open the rest leaves it to the next claim.
//
// covers: I6
func TestPartsThatCannotBeOpenedAreGivenBack(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	s.fail = func(method string, n int) error {
		if method == "OpenAttempts" && n == 2 {
			return fault.New(fault.Unavailable, "not now")
		}
		return nil
	}
	start(t, config(s, p))
	m := s.putLong(16, 2)
	p.parts(t, AttemptID(m, 1, 1))[0].report(accepted)
	p.parts(t, AttemptID(m, 1, 2))[0].report(accepted)
	s.awaitState(t, message.Accepted, m)
}

// A dispatcher that stops leaves the rest to others at once.
//
// covers: I6, I9
func TestStoppingLeavesTheRest(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	d := New(config(s, p))
	d.Start(t.Context())
	m := s.putLong(16, 2)
	first := p.parts(t, AttemptID(m, 1, 1))[0]
	p.onStop = func() { first.report(accepted) }
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := d.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	s.awaitState(t, message.Pending, m)
	s.wantAttempts(t, m, "1.1 accepted, ")
}

// What waits for room when the dispatcher stops is given back.
//
// covers: I6
func TestStoppingGivesBackWhatWaitsForRoom(t *testing.T) {
	d := New(config(newMemory(), newCarrier(0)))
	d.later(claim{store.Claimed{Message: ident.NewMessage(0), Flow: 16, Fence: 1, Most: 2}, time.Now().Add(time.Hour)})
	if d.rest.load.all.Load() != 2 || d.roomFor(time.Now()).All != 0 {
		t.Errorf("%d parts wait", d.rest.load.all.Load())
	}
	d.giveBackRest()
	if d.rest.load.all.Load() != 0 || d.unsettled.Load() != 1 {
		t.Errorf("%d parts wait, %d messages are given back", d.rest.load.all.Load(), d.unsettled.Load())
	}
	d.later(claim{store.Claimed{Message: ident.NewMessage(0), Flow: 16, Fence: 1, Most: 2}, time.Now().Add(time.Hour)})
	if d.rest.load.all.Load() != 0 || d.unsettled.Load() != 2 {
		t.Error("parts wait for a dispatcher that has stopped")
	}
}

// All parts leave at once where a connection wants that, and one receipt is asked for where it sends no more.
func TestPartsTogether(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	cfg := config(s, p)
	cfg.Connection.Together, cfg.Connection.OneReceipt = true, true
	start(t, cfg)
	m := s.putLong(16, 3)
	for i, one := range p.parts(t, AttemptID(m, 1, 1), AttemptID(m, 1, 2), AttemptID(m, 1, 3)) {
		if one.NoReceipt != (i > 0) {
			t.Errorf("part %d: no receipt %v", i+1, one.NoReceipt)
		}
		defer one.report(accepted)
	}
}
