package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func testRegistry(t *testing.T, h Harness) {
	ctx, s := context.Background(), h.Open(t)
	ids := make([]ident.Partition, 8)
	var wg sync.WaitGroup
	for i := range ids { // racers for two names
		wg.Go(func() {
			id, err := s.EnsureTenant(ctx, fmt.Sprintf("tenant%d", i%2))
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	wg.Wait()
	for i, id := range ids {
		if id != ids[i%2] || ids[0] == ids[1] {
			t.Fatalf("two names have the numbers %v", ids)
		}
	}
	a, space, err := s.EnsureConnection(ctx, "a", "")
	must(t, err)
	b, shared, err := s.EnsureConnection(ctx, "b", "a")
	must(t, err)
	if space != a || shared != a || a == b {
		t.Errorf("connections %d in %d, %d in %d", a, space, b, shared)
	}
	if _, _, err := s.EnsureConnection(ctx, "c", "none"); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("an id space that does not exist: %v", err)
	}
	if _, _, err := s.EnsureConnection(ctx, "b", ""); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("another id space for a connection that has one: %v", err)
	}
	must(t, s.Ping(ctx))
	if again, _, _ := s.EnsureConnection(ctx, "a", ""); again != a {
		t.Error("a connection's number changed")
	}
	checkFlows(t, s, a)
	first, err := s.EnsureMeta(ctx, "check", "one")
	must(t, err)
	must(t, s.SetMeta(ctx, "moving", "one"))
	must(t, s.SetMeta(ctx, "moving", "two"))
	if moved, err := s.Meta(ctx, "moving"); err != nil || moved != "two" {
		t.Errorf("a value that was set again is %q: %v", moved, err)
	}
	second, err := s.EnsureMeta(ctx, "check", "two")
	must(t, err)
	if first != "one" || second != "one" {
		t.Errorf("a value was replaced: %q %q", first, second)
	}
	day1, stored, err := s.EnsureSealingKey(ctx, 1, 20000, []byte("k1"))
	must(t, err)
	day2, other, err := s.EnsureSealingKey(ctx, 1, 20000, []byte("k2"))
	must(t, err)
	if day1 != day2 || string(stored) != "k1" || string(other) != "k1" {
		t.Error("two nodes use different keys for one day")
	}
}

// checkFlows makes flows: each has its own number, which says where it stands, and keeps it.
func checkFlows(t *testing.T, s store.Store, connection int64) {
	t.Helper()
	ctx, seen := context.Background(), map[int64]bool{}
	base := store.FlowSpec{Connection: connection, Lane: 2, Tenant: 1, Sender: "S", Purpose: "p"}
	for _, change := range []func(*store.FlowSpec){
		func(*store.FlowSpec) {}, func(f *store.FlowSpec) { f.Lane = 3 }, func(f *store.FlowSpec) { f.Tenant = 2 },
		func(f *store.FlowSpec) { f.Sender = "T" }, func(f *store.FlowSpec) { f.Purpose = "q" },
	} {
		spec := base
		change(&spec)
		id, err := s.EnsureFlow(ctx, spec)
		must(t, err)
		again, err := s.EnsureFlow(ctx, spec)
		must(t, err)
		if seen[id] || again != id || flow.PlaceOf(id) != spec.Place() {
			t.Errorf("the flow %+v has the number %d, then %d, of the place %+v", spec, id, again, flow.PlaceOf(id))
		}
		seen[id] = true
	}
}
