package dispatch

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// flowIn is the number of a tenant's flow in a lane.
func flowIn(lane int, tenant ident.Partition) int64 {
	from, _ := flow.Place{Connection: 1, Lane: lane, Tenant: tenant}.Range()
	return from + 1
}

// While one tenant has hundreds waiting, a neighbour's message and a code leave before 200 more.
//
// covers: D19, I20
func TestAFloodDoesNotStarveItsNeighbours(t *testing.T) {
	flood, neighbour, code := flowIn(4, 1), flowIn(4, 2), flowIn(flow.Urgent, 3)
	s, p := newMemory(), newCarrier(50)
	for range 600 {
		s.put(flood)
	}
	d := start(t, config(s, p))
	for range 50 { // the flood fills the window
		p.next(t).report(accepted)
	}
	late := map[string]bool{AttemptID(s.put(neighbour), 1, 1): true, AttemptID(s.put(code), 1, 1): true}
	d.Wake()
	for i := 1; i <= 200 && len(late) > 0; i++ {
		got := p.next(t)
		delete(late, got.Attempt)
		got.report(accepted)
	}
	if len(late) > 0 {
		t.Errorf("%d of the two others still wait after 200 more of the flood", len(late))
	}
	p.onStop = p.answerAll
}

// A carrier that does not answer holds the campaign that fills its window, and no code.
//
// covers: D19
func TestACodeFindsAPlaceInAFullWindow(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	for range 30 {
		s.put(flowIn(4, 1))
	}
	cfg := config(s, p)
	cfg.Poll = time.Minute // it is the wake-up that counts
	d := start(t, cfg)
	var campaign []sent
	for range 9 {
		campaign = append(campaign, p.next(t))
	}
	code := s.put(flowIn(flow.Urgent, 2))
	d.Wake()
	if got := p.next(t); got.Attempt != AttemptID(code, 1, 1) {
		t.Errorf("the tenth that was submitted is %s, want the code", got.Attempt)
	} else {
		got.report(accepted)
	}
	for _, one := range campaign {
		one.report(accepted)
	}
	p.onStop = p.answerAll
}

// Between the claim and the attempt a code overtakes what was claimed before it, and shares its transaction with
// other codes alone.
//
// covers: D19
func TestACodeOvertakesWhatIsClaimed(t *testing.T) {
	d := New(config(newMemory(), newCarrier(10)))
	campaign, code := claim{Claimed: store.Claimed{Flow: flowIn(4, 1)}}, claim{Claimed: store.Claimed{Flow: flowIn(flow.Urgent, 1)}}
	d.claims.put(campaign, code, campaign, code)
	for i, want := range []claim{code, campaign} {
		got, ok := d.claims.take(maxBatch)
		if !ok || len(got) != 2 || got[0] != want || got[1] != want {
			t.Errorf("batch %d has %d claims of the flow %d", i, len(got), got[0].Flow)
		}
	}
	d.claims.put(code)
	d.claims.close()
	if got, ok := d.claims.take(1); !ok || got[0] != code {
		t.Error("a code was lost when the pile was closed")
	}
	if _, ok := d.claims.take(1); ok {
		t.Error("an empty pile gave something")
	}
}

// A provider that asks for less gets less: half of its window and of its rate.
//
// covers: D19
func TestAThrottleSlowsTheConnection(t *testing.T) {
	s, p := newMemory(), newCarrier(100)
	cfg := config(s, p)
	cfg.Connection.Rates = flow.Rates{"": time.Millisecond, "SHOP": time.Second}
	d := start(t, cfg)
	s.put(flowIn(4, 1))
	p.next(t).report(provider.Outcome{Kind: provider.Throttled, SlowDown: true})
	s.await(t, "for the outcome", func() bool { return len(s.news) == 1 })
	s.mu.Lock()
	before := len(s.specs)
	s.mu.Unlock()
	d.Wake()
	s.await(t, "for another claim", func() bool { return len(s.specs) > before })
	s.mu.Lock()
	defer s.mu.Unlock()
	first, last := s.specs[0], s.specs[len(s.specs)-1]
	if first.Room != (flow.Room{All: 100, Lower: 90}) || first.Rates[""] != time.Millisecond {
		t.Errorf("at first the room was %+v, the rate one every %s", first.Room, first.Rates[""])
	}
	if last.Room.All > 63 || last.Rates[""] < 1600*time.Microsecond || last.Rates["SHOP"] != time.Second {
		t.Errorf("afterwards the room is %+v, the rate one every %s", last.Room, last.Rates[""])
	}
}

// What a claim found to be over expires without waiting for the sweep.
func TestMessagesWhoseTurnComesTooLateExpire(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	over := s.put(flowIn(4, 1))
	s.change(func() {
		s.cases[over].ValidUntil, s.cases[over].Attempts = now(), nil
		s.cases[over].State = message.Pending
		s.expired = []ident.Message{over}
	})
	d := New(config(s, p))
	d.handOn(store.Claims{Expired: []ident.Message{over}}, time.Now())
	batch, _ := d.outcomes.take(10)
	if len(batch) != 1 || batch[0].Kind != evidence.ValidityEnded {
		t.Fatalf("the store is told %+v", batch)
	}
	d.settle(t.Context(), batch)
	s.awaitState(t, message.Expired, over)
}

// Where more flows wait than a claim looks at, and those that it saw may not send, it looks on at once, but not
// for ever.
func TestClaimsLookOnWhereNotEveryFlowWasSeen(t *testing.T) {
	s, p := newMemory(), newCarrier(10)
	s.partial = 5
	cfg := config(s, p)
	cfg.Poll = time.Minute
	start(t, cfg)
	s.awaitCall(t, "Claim", 6)
	c, at := &claimer{}, time.Now()
	for range maxVain - 1 {
		if got := c.found(store.Claims{Partial: true}, at, time.Second); got != foundMore {
			t.Fatalf("a claim in vain ended with %d", got)
		}
	}
	taken := store.Claims{Partial: true, Taken: make([]store.Claimed, 1)}
	for i, got := range []found{
		c.found(store.Claims{Partial: true}, at, time.Second), c.found(taken, at, time.Second), c.found(store.Claims{Partial: true}, at.Add(time.Second-1), time.Second),
	} {
		if got != foundAll {
			t.Errorf("after %d claims in vain, claim %d looks on", maxVain, i)
		}
	}
	if got := c.found(taken, at.Add(time.Second), time.Second); got != foundMore {
		t.Errorf("after a rest a claim ended with %d", got)
	}
}

// Credit that is lacking is waited for as long as it takes, and in stretches that make a batch.
//
// covers: D19
func TestClaimsRestForCredit(t *testing.T) {
	s, p := newMemory(), newCarrier(1000)
	s.purse = flow.Purse{"": {Every: 20 * time.Millisecond}}
	for range 12 {
		s.put(flowIn(4, 1))
	}
	cfg := config(s, p)
	cfg.Poll = time.Minute
	start(t, cfg)
	for range 12 {
		p.next(t).report(accepted)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.calls["Claim"]; n > 8 {
		t.Errorf("five at once and then one every 20 ms took %d claims", n)
	}
}
