package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// due asserts the list of work, of no more than so many.
func (w *world) due(limit int, want ...store.DueReceipt) {
	w.t.Helper()
	got, err := w.DueReceipts(context.Background(), limit)
	must(w.t, err)
	for i := range min(len(got), len(want)) {
		if got[i].ID != want[i].ID || got[i].Tries != want[i].Tries || got[i].Waited != want[i].Waited {
			w.t.Errorf("%d: due is %s after %d tries (waited: %v), want %s after %d", i, got[i].ID, got[i].Tries, got[i].Waited, want[i].ID, want[i].Tries)
		}
	}
	if len(got) != len(want) {
		w.t.Fatalf("%d receipts are due, want %d", len(got), len(want))
	}
}

func putOffTimes(n store.News, times int) store.DueReceipt {
	return store.DueReceipt{LoggedReceipt: store.LoggedReceipt{ID: n.Receipt.ID}, Tries: times}
}

// A receipt that cannot be settled lets those behind it go first, and comes back with the number of its tries.
//
// covers: R5, I6
func testFailedReceiptsWait(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	first := w.receipt("first", -1, "delivered", 98)
	w.advance(time.Millisecond)
	second := w.receipt("second", -1, "delivered", 98)
	w.due(10)
	w.advance(6 * time.Second)
	w.due(1, putOffTimes(first, 0))
	must(t, w.PostponeReceipts(ctx, []store.Postponed{{ID: first.Receipt.ID, For: time.Second}}))
	w.due(1, putOffTimes(second, 0))
	must(t, w.PostponeReceipts(ctx, []store.Postponed{{ID: second.Receipt.ID, For: time.Minute}}))
	w.due(10)
	w.advance(2 * time.Second)
	w.due(10, putOffTimes(first, 1))
	must(t, w.PostponeReceipts(ctx, []store.Postponed{{ID: first.Receipt.ID, For: 0}, {ID: ident.NewReceipt(0), For: 0}}))
	w.due(10, putOffTimes(first, 2))
}

// One that was tried too often is taken off the list, and a person is told, once. It is not lost: a message id that
// comes later settles it, and so does a person who has it read again.
//
// covers: R6, R9
func testFailedReceiptsAreGivenUp(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	o := w.attempt(ask{event: "GIVEUP", version: "1", to: 97})
	w.settle(w.outcome(o, message.OutcomeAccepted, "GU1"))
	n, settled := w.receipt("GU1", -1, "delivered", 97), w.receipt("GU2", -1, "delivered", 98)
	settled.GraceOver = true
	w.settle(settled)
	both := []*store.LoggedReceipt{w.logged(n.Receipt.ID), w.logged(settled.Receipt.ID)}
	must(t, w.GiveUpReceipts(ctx, both, "it failed"))
	must(t, w.GiveUpReceipts(ctx, both, "it failed"))
	w.advance(6 * time.Second)
	w.due(10)
	told := w.exceptions("unreadable", "unmatched")
	if told[0].Receipt != n.Receipt.ID || told[0].Detail != "it failed" || told[0].State != exception.Open || told[0].Tenant != store.Installation {
		t.Fatalf("a person was told of %+v", told)
	}
	w.state(o.Message, message.Accepted)
	w.settle(n) // somebody else had it in hand: it is off the list, and nothing follows
	w.state(o.Message, message.Accepted)
	w.effect(mended, w.logged(n.Receipt.ID), store.RereadApplied, false)
	w.state(o.Message, message.Delivered)
	w.read(told[0], exception.Reread)
}
