package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// Each answer of a provider moves the message as the table of outcomes says.
//
// covers: D9, D16
func TestOutcomesSettleTheirMessages(t *testing.T) {
	for name, c := range map[string]struct {
		outcome   provider.Outcome
		want      message.State
		reference int32 // of the news: -1 keeps it
	}{
		"accepted":            {accepted, message.Accepted, 1},
		"accepted without id": {provider.Outcome{Kind: provider.Accepted}, message.Accepted, -1},
		"rejected":            {provider.Outcome{Kind: provider.Rejected, Code: "0x0000000b"}, message.Rejected, 1},
		"unknown":             {provider.Outcome{Kind: provider.Unknown}, message.Unknown, -1},
		"throttled":           {provider.Outcome{Kind: provider.Throttled}, message.Pending, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newMemory(), newCarrier(10)
			start(t, config(s, p))
			m := s.put(16)
			p.next(t).report(c.outcome)
			s.await(t, "for the outcome", func() bool { return len(s.news) == 1 })
			s.awaitState(t, c.want, m)
			s.mu.Lock()
			n := s.news[0]
			s.mu.Unlock()
			if n.Reference != c.reference || n.IDSpace != 7 || n.Connection != 1 || n.Code != c.outcome.Code || string(n.ExternalID) != string(c.outcome.ExternalID) {
				t.Errorf("the store was told %+v", n)
			}
		})
	}
}

// The submission names the attempt as it is stored, and nothing is submitted that is not.
//
// covers: D9, R15
func TestAnAttemptIsStoredBeforeItIsSubmitted(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	start(t, config(s, p))
	m := s.put(16)
	got := p.next(t)
	s.mu.Lock()
	attempts := len(s.cases[m].Attempts)
	s.mu.Unlock()
	if attempts != 1 {
		t.Fatalf("%d attempts are stored at the submission, want 1", attempts)
	}
	want := provider.Submission{
		Attempt: m.String() + ".1.1", Reference: 1, HasReference: true, Source: "SHOP", Destination: "+12025550100", Text: "Hello",
		Validity: got.Validity, Deadline: got.Deadline,
	}
	if got.Submission != want || got.Validity <= 0 || got.Validity > time.Hour {
		t.Errorf("submitted %+v", got.Submission)
	}
	got.report(accepted)
}

// A throttled message is tried again by a new attempt.
func TestAThrottledMessageGetsAnotherAttempt(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	start(t, config(s, p))
	m := s.put(16)
	p.next(t).report(provider.Outcome{Kind: provider.Throttled})
	again := p.next(t) // a second later, by the domain's rule
	if want := AttemptID(m, 2, 1); again.Attempt != want {
		t.Errorf("the second submission is of %s, want %s", again.Attempt, want)
	}
	again.report(accepted)
	s.awaitState(t, message.Accepted, m)
}

// covers: I9
func TestALateAnswerSettlesTheUnknown(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	start(t, config(s, p))
	m := s.put(16)
	got := p.next(t)
	got.report(provider.Outcome{Kind: provider.Unknown})
	s.awaitState(t, message.Unknown, m)
	late := accepted
	late.Late = true
	got.report(late)
	s.awaitState(t, message.Accepted, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.news[0].Late || !s.news[1].Late {
		t.Error("the answer is not marked as late")
	}
}

// Somebody else took the message for orphaned; the answer that then comes still counts.
//
// covers: I9, O6
func TestAnAnswerAfterTheLeaseIsMerged(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	start(t, config(s, p))
	m := s.put(16)
	got := p.next(t)
	s.change(func() {
		c := s.cases[m]
		c.ReadyAt = now()
		if err := c.Apply(evidence.Evidence{Kind: evidence.LeaseEnded, Message: m}, now()); err != nil {
			t.Error(err)
		}
	})
	s.awaitState(t, message.Unknown, m)
	got.report(accepted)
	s.awaitState(t, message.Accepted, m)
}

// The deadline counts from before the claim, so that a store that was slow to answer leaves less time, not more.
//
// covers: I9
func TestTheDeadlineCountsFromBeforeTheClaim(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	hold := make(chan struct{})
	s.hold["Claim"] = hold
	cfg := config(s, p)
	cfg.Lease, cfg.Margin = 10*time.Second, 3*time.Second
	d := New(cfg)
	d.slots.set(time.Now().Add(time.Hour))
	s.put(16)
	claimed := make(chan found)
	go func() { claimed <- d.claimOnce(t.Context()) }()
	s.awaitCall(t, "Claim", 1)
	inClaim := time.Now()
	close(hold)
	<-claimed
	got, _ := d.claims.take(1)
	if last := inClaim.Add(7 * time.Second); !got[0].deadline.Before(last) {
		t.Errorf("the deadline is %v after the latest that is right", got[0].deadline.Sub(last))
	}
}

// A worker that was slow between claim and attempt writes nothing and opens nothing.
//
// covers: I9
func TestAClaimThatIsTooLateIsGivenBack(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	d := New(config(s, p))
	m := s.put(16)
	claimed, _ := s.Claim(t.Context(), store.ClaimSpec{Room: flow.Room{All: 1}, Lease: time.Minute})
	d.open(t.Context(), []claim{{claimed.Taken[0], time.Now()}})
	batch, _ := d.outcomes.take(10)
	if len(batch) != 1 || batch[0].Kind != evidence.Returned || batch[0].Fence != 1 || s.calls["OpenAttempts"] != 0 {
		t.Fatalf("the store is told %+v after %d opened attempts", batch, s.calls["OpenAttempts"])
	}
	d.settle(t.Context(), batch)
	s.awaitState(t, message.Pending, m)
}

// A submission whose deadline has passed when the provider comes to it is not written, and the message waits
// for its next attempt.
//
// covers: I5, I9
func TestASubmissionPastItsDeadlineIsNotWritten(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	cfg := config(s, p)
	cfg.Lease, cfg.Margin = 200*time.Millisecond, 190*time.Millisecond
	slow := true
	cfg.Open = func(ctx context.Context, o store.Opened) (string, error) {
		if slow {
			slow = false
			<-time.After(30 * time.Millisecond) // what is slow here is the thing under test
		}
		return "Hello", nil
	}
	m := s.put(16)
	start(t, cfg)
	got := p.next(t)
	if want := AttemptID(m, 2, 1); got.Attempt != want {
		t.Errorf("the first that was written is %s, want %s", got.Attempt, want)
	}
	s.mu.Lock()
	first := s.cases[m].Attempts[0].Outcome
	s.mu.Unlock()
	if first != message.OutcomeNotSent {
		t.Errorf("the first attempt is %s, want not_sent", first)
	}
	got.report(accepted)
}

// No provider has refused it: it was not sent, and unless the store is only away it never can be.
//
// covers: D15, D16
func TestATextThatCannotBeOpened(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		giveUp bool
		code   string
	}{
		"destroyed":  {fault.New(fault.NotFound, "gone"), true, CodeContentDestroyed},
		"damaged":    {errors.New("damaged"), true, CodeContentUnreadable},
		"store away": {fault.New(fault.Unavailable, "later"), false, CodeContentWaits},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newMemory(), newCarrier(10)
			cfg := config(s, p)
			cfg.Open = func(context.Context, store.Opened) (string, error) { return "", c.err }
			start(t, cfg)
			s.put(16)
			s.await(t, "for the outcome", func() bool { return len(s.news) > 0 })
			s.mu.Lock()
			defer s.mu.Unlock()
			if n := s.news[0]; n.Outcome != message.OutcomeNotSent || n.GiveUp != c.giveUp || n.Code != c.code {
				t.Errorf("outcome %s, giving up %v, code %q; want not_sent, %v, %q", n.Outcome, n.GiveUp, n.Code, c.giveUp, c.code)
			}
			if len(p.sent) > 0 {
				t.Error("something was submitted")
			}
		})
	}
}

// No more is claimed than the provider has room for, whatever is under way between claim and submission.
func TestClaimsKeepToTheWindow(t *testing.T) {
	s, p := newMemory(), newCarrier(3)
	start(t, config(s, p))
	for range 20 {
		s.put(16)
	}
	for range 20 {
		got := p.next(t)
		p.mu.Lock()
		flying := p.flying
		p.mu.Unlock()
		if flying > 3 {
			t.Fatalf("%d submissions are under way, the window is 3", flying)
		}
		got.report(accepted)
	}
}

// awaitCall waits until a method was called n times.
func (s *memory) awaitCall(t *testing.T, method string, n int) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		s.mu.Lock()
		calls := s.calls[method]
		s.mu.Unlock()
		if calls >= n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s was called %d times, want %d", method, calls, n)
		}
		<-time.After(time.Millisecond)
	}
}
