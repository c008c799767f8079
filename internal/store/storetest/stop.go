package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func (w *world) stop(owner ident.Partition, at flow.Scope) store.Stop {
	w.t.Helper()
	s, made, err := w.PutStop(context.Background(), store.Stop{ID: ident.NewStop(owner), Scope: at, Owner: owner, Person: "ann", Reason: "wrong text", Caller: "key1"})
	must(w.t, err)
	if !made {
		w.t.Fatalf("the stop was there already: %+v", s)
	}
	return s
}

func (w *world) lift(s store.Stop) (store.Stop, error) {
	return w.LiftStop(context.Background(), store.Lift{Stop: s.ID, Owner: s.Owner, Person: "bob", Reason: "it is right again", Caller: "key2"})
}

// flowOf makes a flow with one message of its own purpose in it.
func (w *world) flowOf(connection int64, tenant ident.Partition, purpose string) int64 {
	w.t.Helper()
	id, err := w.EnsureFlow(context.Background(), store.FlowSpec{Connection: connection, Lane: 4, Tenant: tenant, Sender: "S", Purpose: purpose})
	must(w.t, err)
	w.fill(id, 1)
	return id
}

// testStops stops by each part of a scope: what is in it waits, the rest goes on, and all of it once it is lifted.
//
// covers: D19
func testStops(t *testing.T, h Harness) {
	for name, at := range map[string]func(w *world) flow.Scope{
		"tenant":     func(w *world) flow.Scope { return flow.Scope{Tenant: w.tenant} },
		"purpose":    func(*world) flow.Scope { return flow.Scope{Purpose: "sale"} },
		"connection": func(w *world) flow.Scope { return flow.Scope{Connection: w.conn} },
		"all":        func(*world) flow.Scope { return flow.Scope{} },
		"two":        func(w *world) flow.Scope { return flow.Scope{Tenant: w.tenant, Purpose: "sale"} },
		"elsewhere":  func(w *world) flow.Scope { return flow.Scope{Connection: w.conn + 1} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, h)
			scope, want, held := at(w), map[int64]int{}, 0
			for _, tenant := range []ident.Partition{w.tenant, w.tenant + 1} {
				for _, purpose := range []string{"sale", "news"} {
					id := w.flowOf(w.conn, tenant, purpose)
					if scope.Holds(flow.PlaceOf(id), purpose) {
						held++
					} else {
						want[id] = 1
					}
				}
			}
			s := w.stop(w.tenant, scope)
			c := claimer{world: w}
			got := c.claim(room(10))
			if n := byFlow(got.Taken); len(n) != len(want) || got.Stopped != held || got.More {
				t.Fatalf("under the stop there was taken %v of %v, and %d flows are held", n, want, got.Stopped)
			}
			for id := range byFlow(got.Taken) {
				if want[id] == 0 {
					t.Errorf("the flow %d is not held", id)
				}
			}
			_, err := w.lift(s)
			must(t, err)
			if n := len(c.claim(room(10)).Taken); n != held {
				t.Errorf("after it was lifted %d messages were taken, want %d", n, held)
			}
		})
	}
}

// testStopsAreKept asks what is known of stops: twice the same is one, who did what and why stays, and a tenant sees
// its own and what holds it.
//
// covers: D19, I15
func testStopsAreKept(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, other := context.Background(), w.tenant+1
	all := w.stop(w.tenant, flow.Scope{})
	again, made, err := w.PutStop(ctx, store.Stop{ID: ident.NewStop(1), Owner: w.tenant, Person: "eve", Reason: "twice", Caller: "key3"})
	must(t, err)
	if made || again != all || all.At == 0 || all.Person != "ann" || all.Reason != "wrong text" || all.Caller != "key1" {
		t.Errorf("the same stop twice gave %+v after %+v", again, all)
	}
	own := w.stop(other, flow.Scope{Tenant: other})
	_ = w.stop(w.tenant, flow.Scope{Tenant: w.tenant, Purpose: "sale"})
	w.seesStops(other, false, own.ID, all.ID)
	if _, err := w.LiftStop(ctx, store.Lift{Stop: all.ID, Owner: other, Person: "eve"}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another tenant lifted the stop: %v", err)
	}
	lifted, err := w.lift(all)
	must(t, err)
	if lifted.LiftedAt == 0 || lifted.LiftedBy != "bob" || lifted.LiftedReason != "it is right again" || lifted.LiftedCall != "key2" || lifted.Person != "ann" {
		t.Errorf("the lifted stop is %+v", lifted)
	}
	if again, err := w.lift(all); err != nil || again != lifted {
		t.Errorf("the same word again: %+v, %v", again, err)
	}
	for _, other := range []store.Lift{{Person: "eve", Reason: lifted.LiftedReason}, {Person: "bob", Reason: "another"}} {
		other.Stop, other.Owner = all.ID, all.Owner
		if _, err := w.LiftStop(ctx, other); fault.CodeOf(err) != fault.State {
			t.Errorf("lifted by %s, who says %s: %v", other.Person, other.Reason, err)
		}
	}
	w.seesStops(other, false, own.ID)
	kept, err := w.ListStops(ctx, w.tenant, false, store.Page{Limit: 10})
	must(t, err)
	if len(kept) != 2 || kept[1] != lifted {
		t.Errorf("of the installation's stops there are kept %+v", kept)
	}
	if renewed := w.stop(w.tenant, flow.Scope{}); renewed.ID == all.ID {
		t.Error("a stop that was lifted came back")
	}
	next, err := w.ListStops(ctx, w.tenant, true, store.Page{Limit: 1, At: kept[0].At, ID: kept[0].ID})
	must(t, err)
	if len(next) != 0 {
		t.Errorf("behind the last stop in force there are %+v", next)
	}
}

func (w *world) seesStops(tenant ident.Partition, onlyInForce bool, want ...ident.Stop) {
	w.t.Helper()
	listed, err := w.ListStops(context.Background(), tenant, onlyInForce, store.Page{Limit: 10})
	must(w.t, err)
	holding, err := w.HoldingStops(context.Background(), tenant)
	must(w.t, err)
	if len(listed) != len(want) || len(holding) != len(want) {
		w.t.Fatalf("the tenant sees %d stops, and %d hold it, want %d", len(listed), len(holding), len(want))
	}
	for i, s := range listed { // the newest first; the others the oldest first
		if s.ID != want[i] || holding[len(want)-1-i].ID != want[i] {
			w.t.Errorf("stop %d of the tenant is %s, want %s", i, s.ID, want[i])
		}
	}
}

// testStoppedMessages lets what a stop holds be cancelled and expire, and counts flows.
//
// covers: D19
func testStoppedMessages(t *testing.T, h Harness) {
	w := newWorld(t, h)
	w.stop(w.tenant, flow.Scope{Tenant: w.tenant})
	cancelled, expired := w.taken(ask{event: "ST", version: "1", to: 63}), w.taken(ask{event: "ST", version: "2", to: 63, validFor: time.Second})
	w.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.Cancel, Message: cancelled, Person: "ann", Reason: "stopped"}, Reference: -1})
	w.advance(1100 * time.Millisecond)
	due, _, err := w.DueValidity(context.Background(), store.Cursor{}, 100)
	must(t, err)
	if len(due) != 1 || due[0] != expired {
		t.Fatalf("of what is held there is due %v", due)
	}
	w.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.ValidityEnded, Message: expired}, Reference: -1})
	w.state(cancelled, message.Cancelled)
	w.state(expired, message.Expired)
	w.flowOf(w.conn, w.tenant, "sale")
	for scope, want := range map[flow.Scope]int{
		{}: 2, {Purpose: "sale"}: 1, {Purpose: "sael"}: 0, {Tenant: w.tenant}: 2, {Tenant: w.tenant + 1}: 0, {Connection: w.conn, Purpose: "sale"}: 1,
	} {
		if n, err := w.CountFlows(context.Background(), scope); err != nil || n != want {
			t.Errorf("%+v has %d flows, want %d: %v", scope, n, want, err)
		}
	}
}

// drill sets a stop that holds nobody, or meets the one of another worker, and lifts it.
func (w *world) drill(ctx context.Context) error {
	s, _, err := w.PutStop(ctx, store.Stop{ID: ident.NewStop(w.tenant), Scope: flow.Scope{Purpose: "nobody's"}, Owner: w.tenant, Person: "ann", Reason: "a drill"})
	if err == nil {
		_, err = w.LiftStop(ctx, store.Lift{Stop: s.ID, Owner: w.tenant, Person: "ann", Reason: "it is over"})
	}
	if code := fault.CodeOf(err); code == fault.State || code == fault.Unavailable { // somebody else was faster
		return nil
	}
	return err
}

// testStoppedCrowd stops more flows of a tenant than a claim looks at: what is not stopped is found behind them.
//
// covers: D19
func testStoppedCrowd(t *testing.T, h Harness) {
	w := newWorld(t, h)
	var asks []ask
	for i := range 100 {
		id, err := w.EnsureFlow(context.Background(), store.FlowSpec{Connection: w.conn, Lane: 4, Tenant: w.tenant, Sender: fmt.Sprint("S", i), Purpose: "sale"})
		must(t, err)
		asks = append(asks, ask{event: fmt.Sprint("SC", i), version: "1", to: 64, flow: id})
	}
	w.decide(asks...)
	news := w.flowOf(w.conn, w.tenant, "news")
	w.stop(w.tenant, flow.Scope{Purpose: "sale"})
	c := claimer{world: w}
	for range 8 {
		got := c.claim(room(10))
		if len(got.Taken) == 1 && got.Taken[0].Flow == news {
			return
		}
		if len(got.Taken) > 0 || !got.Partial || got.Stopped == 0 {
			t.Fatalf("behind a crowd that is stopped there was claimed %+v", got)
		}
	}
	t.Error("what is not stopped was not found")
}
