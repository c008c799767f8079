package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// slotTests are those of several nodes: binds, and sweeps.
var slotTests = map[string]func(*testing.T, Harness){"Slots": testSlots, "SlotShares": testSlotShares, "SlotRace": testSlotRace, "BindNodesAreForgotten": testBindNodesAreForgotten,
	"StaleSweep": testStaleSweep, "SweepRace": testSweepRace, "SweepPassesOver": testSweepPassesOver}

const slotLease = 2 * time.Second

// keep has a node ask for binds of the world's connection.
func (w *world) keep(binds int, node ident.Node) store.SlotShare {
	w.t.Helper()
	got, err := w.KeepSlots(context.Background(), w.wants(binds, node))
	must(w.t, err)
	return got
}

func (w *world) wants(binds int, node ident.Node) store.SlotSpec {
	return store.SlotSpec{Connection: w.conn, Binds: binds, Node: node, Lease: slotLease, Share: flow.BindShare}
}

func slotNumbers(s store.SlotShare) []int {
	var n []int
	for _, slot := range s.Held {
		n = append(n, slot.N)
	}
	return n
}

// expectSlots checks what a node has.
func (w *world) expectSlots(what string, got store.SlotShare, share, nodes int, held ...int) {
	w.t.Helper()
	if got.Share != share || got.Nodes != nodes || !slices.Equal(slotNumbers(got), held) {
		w.t.Errorf("%s: holds %v, may hold %d, as one of %d; want %v, %d, %d", what, slotNumbers(got), got.Share, got.Nodes, held, share, nodes)
	}
}

// covers: I9
func testSlots(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, other := context.Background(), ident.NewNode()
	mine := w.keep(1, w.node)
	w.expectSlots("the first", mine, 1, 1, 0)
	w.expectSlots("a second", w.keep(1, other), 0, 2)
	again := w.keep(1, w.node)
	w.expectSlots("the first again", again, 1, 2, 0)
	if again.Held[0].Fence != mine.Held[0].Fence {
		t.Errorf("renewing gave fence %d after %d", again.Held[0].Fence, mine.Held[0].Fence)
	}
	w.advance(slotLease + 100*time.Millisecond)
	theirs := w.keep(1, other)
	w.expectSlots("the second when the first is gone", theirs, 1, 1, 0)
	if theirs.Held[0].Fence <= mine.Held[0].Fence {
		t.Errorf("a slot that was taken over has fence %d after %d", theirs.Held[0].Fence, mine.Held[0].Fence)
	}
	must(t, w.GiveSlot(ctx, mine.Held[0], w.node))
	w.expectSlots("the first, back with a slot that is lost", w.keep(1, w.node), 0, 2)
	w.expectSlots("the second still", w.keep(1, other), 1, 2, 0)
	must(t, w.LeaveSlots(ctx, w.conn, other))
	w.expectSlots("the first after the second has left", w.keep(1, w.node), 1, 1, 0)
}

// A newcomer gets its share as soon as the others have given it back; who leaves makes the others' shares larger at once.
//
// covers: I9
func testSlotShares(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, second, third := context.Background(), ident.NewNode(), ident.NewNode()
	mine := w.keep(5, w.node)
	w.expectSlots("alone", mine, 5, 1, 0, 1, 2, 3, 4)
	w.expectSlots("a second before anything is given back", w.keep(5, second), 2, 2)
	w.expectSlots("the first, beside a second", w.keep(5, w.node), 3, 2, 0, 1, 2, 3, 4)
	must(t, w.GiveSlot(ctx, mine.Held[4], w.node))
	must(t, w.GiveSlot(ctx, mine.Held[3], w.node))
	w.expectSlots("the second", w.keep(5, second), 2, 2, 3, 4)
	w.expectSlots("a third", w.keep(5, third), 1, 3)
	must(t, w.LeaveSlots(ctx, w.conn, w.node))
	w.expectSlots("the second after the first has left", w.keep(5, second), 3, 2, 0, 3, 4)
	w.expectSlots("the third after the first has left", w.keep(5, third), 2, 2, 1, 2)
	w.expectSlots("the first, back as the last", w.keep(5, w.node), 1, 3)
	w.expectSlots("fewer binds than are held", w.keep(2, second), 1, 3, 0)
	w.expectSlots("more binds than there were", w.keep(9, w.node), 3, 3, 5, 6, 7)
}

// What nodes leave behind that are gone for good is dropped by whoever comes by.
func testBindNodesAreForgotten(t *testing.T, h Harness) {
	w := newWorld(t, h)
	for range 3 {
		w.keep(1, ident.NewNode())
	}
	db := h.Database(t, w.Store)
	count := func() (n int) {
		t.Helper()
		must(t, db.QueryRow("select count(*) from bind_node").Scan(&n))
		return n
	}
	w.expectSlots("a fourth one", w.keep(1, w.node), 0, 4)
	_, err := db.Exec("update bind_node set lease_until = lease_until - 120000000") // two minutes
	must(t, err)
	if n := count(); n != 4 {
		t.Fatalf("%d nodes are known, want 4", n)
	}
	if got := w.keep(1, w.node); got.Nodes != 1 || got.Share != 1 || count() != 1 {
		t.Errorf("one of %d nodes, %d are known; want it alone", got.Nodes, count())
	}
}

// Nodes that ask at the same moment never hold one slot together, and in the end all slots are held.
//
// covers: I9
func testSlotRace(t *testing.T, h Harness) {
	w := newWorld(t, h)
	const binds, many, rounds = 7, 6, 12
	nodes := make([]ident.Node, many)
	for i := range nodes {
		nodes[i] = ident.NewNode()
	}
	var got [many]store.SlotShare
	for range rounds {
		var wg sync.WaitGroup
		for i, node := range nodes {
			wg.Go(func() { got[i] = w.shareFairly(binds, node) })
		}
		wg.Wait()
	}
	held := map[int]bool{}
	for _, share := range got {
		for _, s := range share.Held {
			if held[s.N] {
				t.Errorf("slot %d is held twice", s.N)
			}
			held[s.N] = true
		}
		if n := len(share.Held); n != share.Share || share.Nodes != many {
			t.Errorf("a node holds %d of %d that it may have, and sees %d nodes", n, share.Share, share.Nodes)
		}
	}
	if len(held) != binds {
		t.Errorf("%d slots are held, want %d", len(held), binds)
	}
}

// shareFairly gives back what a node has too much.
func (w *world) shareFairly(binds int, node ident.Node) store.SlotShare {
	got, err := w.KeepSlots(context.Background(), w.wants(binds, node))
	for err == nil && len(got.Held) > got.Share {
		err = w.GiveSlot(context.Background(), got.Held[len(got.Held)-1], node)
		got.Held = got.Held[:len(got.Held)-1]
	}
	if err != nil {
		w.t.Error(err)
	}
	return got
}
