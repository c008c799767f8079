package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// newFlow makes a flow of a tenant; its sender's name is of no concern to most tests.
func (w *world) newFlow(lane int, tenant ident.Partition, sender string) int64 {
	w.t.Helper()
	id, err := w.EnsureFlow(context.Background(), store.FlowSpec{Connection: w.conn, Lane: lane, Tenant: tenant, Sender: sender, Purpose: "order"})
	must(w.t, err)
	return id
}

// fill puts n messages into a flow, in batches.
func (w *world) fill(flowID int64, n int) {
	w.t.Helper()
	for n > 0 {
		asks := make([]ask, min(n, 200))
		for i := range asks {
			asks[i] = ask{event: ident.NewNode().String(), version: "1", to: 60, flow: flowID, tenant: flow.PlaceOf(flowID).Tenant}
		}
		w.decide(asks...)
		n -= len(asks)
	}
}

// claimer claims as a node does that remembers whose turn it is.
type claimer struct {
	*world
	turns flow.Turns
	rates flow.Rates
}

func (c *claimer) claim(room flow.Room) store.Claims {
	c.t.Helper()
	spec := c.claimSpec(0)
	spec.Room, spec.Rates, spec.Turns = room, c.rates, &c.turns
	got, err := c.Claim(context.Background(), spec)
	must(c.t, err)
	c.turns.Take(got.Turn)
	return got
}

func room(n int) flow.Room { return flow.Room{All: n, Lower: n} }

// byFlow counts what was taken.
func byFlow(claims []store.Claimed) map[int64]int {
	n := map[int64]int{}
	for _, c := range claims {
		n[c.Flow]++
	}
	return n
}

// testManyFlows claims where most flows have no work, and then where a tenant has more of them than a claim looks at.
//
// covers: D19
func testManyFlows(t *testing.T, h Harness) {
	w := newWorld(t, h)
	var flows []int64
	for i := range 100 {
		flows = append(flows, w.newFlow(1, w.tenant, fmt.Sprint("S", i)))
	}
	c := claimer{world: w}
	if got := c.claim(room(10)); len(got.Taken) != 0 || got.More || got.Partial {
		t.Fatalf("of flows without work there was claimed %+v", got)
	}
	w.fill(flows[99], 1)
	if got := c.claim(room(10)); len(got.Taken) != 1 || got.Taken[0].Flow != flows[99] {
		t.Fatalf("claimed %+v", got.Taken)
	}
	var asks []ask
	for _, id := range flows {
		asks = append(asks, ask{event: fmt.Sprint(id), version: "1", to: 61, flow: id})
	}
	w.decide(asks...)
	neighbour := w.newFlow(1, w.tenant+1, "N")
	w.fill(neighbour, 1)
	got := c.claim(room(10))
	if n := byFlow(got.Taken); len(got.Taken) != 10 || n[neighbour] != 1 || !got.Partial {
		t.Fatalf("beside a tenant with a hundred flows its neighbour got %d of %d", n[neighbour], len(got.Taken))
	}
	seen := byFlow(got.Taken)
	for range 9 {
		for id := range byFlow(c.claim(room(10)).Taken) {
			seen[id]++
		}
	}
	if len(seen) != 100 { // nine and the neighbour's, then nine times ten
		t.Errorf("after a hundred places %d flows had their turn", len(seen))
	}
}

// testLanes lets a code come while a campaign waits.
//
// covers: D19
func testLanes(t *testing.T, h Harness) {
	w := newWorld(t, h)
	code, campaign := w.newFlow(flow.Urgent, w.tenant, "S"), w.newFlow(4, w.tenant, "S")
	w.fill(campaign, 30)
	w.fill(code, 3)
	c := claimer{world: w}
	got := c.claim(flow.Room{All: 4, Lower: 2})
	if n := byFlow(got.Taken); n[code] != 3 || n[campaign] != 1 || got.Taken[0].Flow != code || !got.More {
		t.Errorf("of four places for two of lower lanes %v was made", n)
	}
	w.fill(code, 1)
	if n := byFlow(c.claim(flow.Room{All: 4}).Taken); n[code] != 1 || len(n) != 1 {
		t.Errorf("where only codes have room %v was taken", n)
	}
	total := 0
	for range 8 { // codes without end
		w.fill(code, 10)
		total += byFlow(c.claim(room(10)).Taken)[campaign]
	}
	if total < 2 || total > 5 {
		t.Errorf("beside codes without end the campaign got %d of 80", total)
	}
}

// testTenantsTakeTurns floods with one tenant.
//
// covers: D19, I20
func testTenantsTakeTurns(t *testing.T, h Harness) {
	w := newWorld(t, h)
	flood := []int64{w.newFlow(3, 1, "A"), w.newFlow(3, 1, "B"), w.newFlow(3, 1, "C")}
	for _, id := range flood {
		w.fill(id, 100)
	}
	c := claimer{world: w}
	c.claim(room(20))
	others := map[int64]int{}
	for tenant := ident.Partition(2); tenant <= 40; tenant++ { // more than a claim looks at
		id := w.newFlow(3, tenant, "A")
		w.fill(id, 2)
		others[id] = 2
	}
	taken, floods := 0, 0
	for ; len(others) > 0 && taken < 200; taken += 20 {
		for id, n := range byFlow(c.claim(room(20)).Taken) {
			if slices.Contains(flood, id) {
				floods += n
				continue
			}
			if others[id] -= n; others[id] == 0 {
				delete(others, id)
			}
		}
	}
	if len(others) > 0 || floods > taken-2*39 {
		t.Errorf("after %d places, %d of them the flood's, %d others still wait", taken, floods, len(others))
	}
}

// testRates claims at the pace of a connection and of a sender, from two nodes that share the credit.
//
// covers: D19
func testRates(t *testing.T, h Harness) {
	w := newWorld(t, h)
	const every = 3 * time.Second
	campaign, code, free := w.newFlow(4, w.tenant, "SHOP"), w.newFlow(flow.Urgent, w.tenant, "SHOP"), w.newFlow(4, w.tenant, "FREE")
	w.fill(campaign, 20)
	w.fill(code, 5)
	one := claimer{world: w, rates: flow.Rates{"SHOP": every}}
	two := claimer{world: w, rates: one.rates}
	got := one.claim(flow.Room{All: 9, Lower: 9})
	if n := byFlow(got.Taken); n[code] != 2 || n[campaign] != 0 || got.Wait <= 0 || got.Wait > every || got.More {
		t.Fatalf("at first a sender with a rate got %v, and waits %s", n, got.Wait)
	}
	w.fill(free, 3)
	if n := byFlow(two.claim(room(9)).Taken); n[free] != 3 || len(n) != 1 {
		t.Errorf("beside a sender without credit there was taken %v", n)
	}
	w.advance(every)
	if n := byFlow(two.claim(room(9)).Taken); n[code] != 1 || len(n) != 1 {
		t.Errorf("after the time of one message there was taken %v", n)
	}
	if got := one.claim(room(9)); len(got.Taken) != 0 {
		t.Errorf("the other node's credit was used again: %v", byFlow(got.Taken))
	}
	// Without a rate for its sender, and with one for the whole connection that is not spent yet.
	one.rates = flow.Rates{"": every}
	if n := len(one.claim(room(9)).Taken); n != 2 {
		t.Errorf("of the connection's own credit %d messages were taken", n)
	}
	one.rates = nil
	if n := len(one.claim(room(99)).Taken); n != 20 {
		t.Errorf("without a rate %d messages were taken, want all that are left", n)
	}
}

// testExpiredInFlow claims behind messages whose validity is over.
func testExpiredInFlow(t *testing.T, h Harness) {
	w := newWorld(t, h)
	var asks []ask
	for i := range 30 {
		asks = append(asks, ask{event: "EX", version: fmt.Sprint(i), to: 62, validFor: time.Second})
	}
	w.decide(asks...)
	w.advance(1100 * time.Millisecond)
	good := w.taken(ask{event: "EX", version: "good", to: 62})
	got, err := w.Claim(context.Background(), w.claimSpec(10))
	must(t, err)
	if len(got.Taken) != 1 || got.Taken[0].Message != good || len(got.Expired) != 30 {
		t.Errorf("behind 30 that are over %d were taken, and %d are told", len(got.Taken), len(got.Expired))
	}
}
