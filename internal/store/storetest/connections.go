package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// moved returns by how much the count of changes has grown since it was called last.
func moved(t *testing.T, s store.Store) func() int64 {
	t.Helper()
	read := func() int64 {
		n, err := s.ControlVersion(context.Background())
		must(t, err)
		return n
	}
	last := read()
	return func() int64 {
		before := last
		last = read()
		return last - before
	}
}

// Of those who change the version that they have seen one wins, and the others change nothing. Every change is one that
// nodes hear of.
//
// covers: X5
func testConnectionSettings(t *testing.T, h Harness) {
	ctx, s := context.Background(), h.Open(t)
	id, _, err := s.EnsureConnection(ctx, "carrier", "")
	must(t, err)
	grown := moved(t, s)
	c := store.ConnectionSetting{ID: id, Name: "carrier", Settings: `{"kind":"simulator"}`, Enabled: true, Changed: store.Changed{By: "ann"}}
	first, err := s.PutConnection(ctx, c)
	must(t, err)
	if _, err := s.PutConnection(ctx, c); !errors.Is(err, store.ErrOtherVersion) {
		t.Errorf("the same name a second time: %v", err)
	}
	if first.Version != 1 || first.At == 0 || grown() != 1 {
		t.Errorf("made as %+v", first)
	}
	won := make([]bool, 8)
	var wg sync.WaitGroup
	for i := range won {
		wg.Go(func() {
			one := first
			one.Settings, one.By = fmt.Sprintf(`{"kind":"simulator","window":%d}`, i+1), "bob"
			_, err := s.PutConnection(ctx, one)
			if won[i] = err == nil; err != nil && !errors.Is(err, store.ErrOtherVersion) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := s.ConnectionSettings(ctx)
	must(t, err)
	winners := 0
	for i, w := range won {
		if w {
			winners++
			c.Settings = fmt.Sprintf(`{"kind":"simulator","window":%d}`, i+1)
		}
	}
	if winners != 1 || grown() != 1 || len(all) != 1 {
		t.Fatalf("%d of 8 won; stored: %+v", winners, all)
	}
	c.Changed = store.Changed{Version: 2, At: all[0].At, By: "bob"}
	if !reflect.DeepEqual(all[0], c) {
		t.Errorf("stored %+v, want %+v", all[0], c)
	}
	c.Enabled, c.Removed = false, true
	gone, err := s.PutConnection(ctx, c)
	must(t, err)
	if all, err = s.ConnectionSettings(ctx); err != nil || !reflect.DeepEqual(all, []store.ConnectionSetting{gone}) || gone.Version != 3 {
		t.Errorf("removed as %+v, stored %+v: %v", gone, all, err)
	}
}

// Routes are replaced as a whole, by who has seen the list that they replace.
//
// covers: X5
func testRoutes(t *testing.T, h Harness) {
	ctx, s := context.Background(), h.Open(t)
	if none, err := s.Routes(ctx); err != nil || !reflect.DeepEqual(none, store.RouteList{}) {
		t.Errorf("nobody has written any: %+v, %v", none, err)
	}
	grown := moved(t, s)
	put := func(seen int64, rules ...route.Rule) (store.RouteList, error) {
		return s.PutRoutes(ctx, store.RouteList{Rules: rules, Changed: store.Changed{Version: seen, By: "ann"}})
	}
	first, err := put(0, route.Rule{Purpose: "login", Tenant: 3, Prefix: "49", Sender: "SHOP", Use: []string{"b", "a"}}, route.Rule{Use: []string{"a"}})
	must(t, err)
	if got, err := s.Routes(ctx); err != nil || !reflect.DeepEqual(got, first) || got.Version != 1 || got.At == 0 || got.By != "ann" {
		t.Errorf("stored %+v, want %+v: %v", got, first, err)
	}
	if _, err := put(0, route.Rule{Use: []string{"c"}}); !errors.Is(err, store.ErrOtherVersion) || grown() != 1 {
		t.Errorf("by who has not seen the list: %v", err)
	}
	second, err := put(1, route.Rule{Use: []string{"c"}})
	must(t, err)
	if got, err := s.Routes(ctx); err != nil || !reflect.DeepEqual(got, second) || len(got.Rules) != 1 || grown() != 1 {
		t.Errorf("replaced by %+v: %v", got, err)
	}
	if none, err := put(2); err != nil || none.Version != 3 {
		t.Errorf("emptied: %+v, %v", none, err)
	}
	if got, err := s.Routes(ctx); err != nil || len(got.Rules) != 0 || got.Version != 3 {
		t.Errorf("emptied, and read as %+v: %v", got, err)
	}
}

// Of a removal and of routes that lead to what is removed, one wins, whichever node each is made on: no route leads to
// nothing.
//
// covers: X5
func testRoutedRemoval(t *testing.T, h Harness) {
	ctx, s := context.Background(), h.Open(t)
	for round := range 20 {
		c := store.ConnectionSetting{Name: fmt.Sprint("cx", round), Settings: "{}", Enabled: true, Changed: store.Changed{By: "ann"}}
		var err error
		c.ID, _, err = s.EnsureConnection(ctx, c.Name, "")
		must(t, err)
		c, err = s.PutConnection(ctx, c)
		must(t, err)
		c.Enabled, c.Removed = false, true
		before, err := s.Routes(ctx)
		must(t, err)
		routes := store.RouteList{Rules: []route.Rule{{Use: []string{c.Name}}}, Changed: store.Changed{Version: before.Version, By: "bob"}}
		var removed, routed error
		var wg sync.WaitGroup
		wg.Go(func() { _, removed = s.PutConnection(ctx, c) })
		wg.Go(func() { _, routed = s.PutRoutes(ctx, routes) })
		wg.Wait()
		if (removed == nil) == (routed == nil) || fault.CodeOf(errors.Join(removed, routed)) != fault.State {
			t.Fatalf("round %d: removed %v, routed %v", round, removed, routed)
		}
	}
}
