package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var mended = store.Rereading{Person: "ops", Reason: "the mapping was mended"}

// logged reads a receipt of the log, to be read otherwise.
func (w *world) logged(id ident.Receipt) *store.LoggedReceipt {
	w.t.Helper()
	r, err := w.Receipt(context.Background(), w.tenant, id)
	must(w.t, err)
	return r
}

func (w *world) reread(by store.Rereading, rs ...*store.LoggedReceipt) []store.Reread {
	w.t.Helper()
	out, err := w.Reread(context.Background(), rs, by, w.rules)
	must(w.t, err)
	for _, o := range out {
		must(w.t, o.Err)
	}
	return out
}

// effect rereads one receipt and asserts what came of it.
func (w *world) effect(by store.Rereading, r *store.LoggedReceipt, want store.RereadEffect, changed bool) store.Reread {
	w.t.Helper()
	out := w.reread(by, r)[0]
	if out.Effect != want || out.Changed != changed || out.Receipt != r.ID {
		w.t.Fatalf("reading it again gave %+v, want %s, changed %v", out, want, changed)
	}
	return out
}

// A status gets a documented meaning: receipts that moved nothing move their messages, once, and the exceptions about
// them are resolved. What is read as it was is not written.
//
// covers: R6, R7, R9, C18
func testRereadStatus(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "FAILED", version: "1", to: 80})
	n := w.receipt("F1", -1, "", 80)
	w.settle(w.outcome(o, message.OutcomeAccepted, "F1"), n)
	x := w.exceptions("unreadable")[0]
	if x.Message != o.Message {
		t.Fatalf("the exception is %+v", x)
	}
	w.effect(mended, w.logged(n.Receipt.ID), store.RereadNothing, false)
	r := w.logged(n.Receipt.ID)
	r.State, r.Parser = "undelivered", "test/2"
	dry := mended
	dry.Dry = true
	w.effect(dry, r, store.RereadRebuilt, true)
	w.state(o.Message, message.Accepted)
	w.read(x, exception.Open)
	if got := w.logged(r.ID); got.State != "" || got.Parser != "test/1" {
		t.Errorf("a dry run wrote %+v", got)
	}
	out := w.effect(mended, r, store.RereadRebuilt, true)
	if out.Message != o.Message || out.From != message.Accepted || out.To != message.Undelivered {
		t.Errorf("it moved %+v", out)
	}
	m := w.state(o.Message, message.Undelivered)
	if !m.Final || m.Attempts[0].Delivery != message.DeliveryUndelivered {
		t.Errorf("the projection is %+v", m.Attempts[0])
	}
	if got := w.read(x, exception.Reread); got.Resolution.By != "ops" || got.Resolution.Reason != mended.Reason {
		t.Errorf("it was resolved as %+v", got.Resolution)
	}
	if got := w.logged(r.ID); got.State != "undelivered" || got.Parser != "test/2" || string(got.Payload) != "sealed" {
		t.Errorf("the log has %+v", got)
	}
	for range 2 {
		w.effect(mended, r, store.RereadNothing, false)
	}
	before, err := w.Readings(context.Background(), r.ID)
	must(t, err)
	if len(before) != 1 || before[0].State != "" || before[0].Parser != "test/1" || string(before[0].ExternalID) != "F1" || before[0].By != "ops" || before[0].Reason != mended.Reason || before[0].Until == 0 {
		t.Errorf("it was read as %+v before", before)
	}
	if got := w.kinds(o.Message); got != "taken outcome conflict rebuilt" {
		t.Errorf("the history is %s", got)
	}
}

// Receipts that found nothing are read again: one finds its attempt, one is told of in other words, one as before, and
// one that a person has dismissed stays so.
//
// covers: R4, R9, R11
func testRereadUnmatched(t *testing.T, h Harness) {
	w := newWorld(t, h)
	o := w.attempt(ask{event: "misread", version: "1", to: 81})
	w.settle(w.outcome(o, message.OutcomeAccepted, "12345678"))
	cut, other, gone := w.over("1234", "delivered", 81), w.over("9999", "delivered", 82), w.over("8888", "delivered", 82)
	all := w.exceptions("unmatched", "unmatched", "unmatched")
	w.resolve(all[0], exception.Dismiss, exception.Part{})
	r := w.logged(cut.Receipt.ID)
	r.ExternalID, r.EventKey = []byte("12345678"), key([]byte("read again"))
	unreadable := w.logged(other.Receipt.ID)
	unreadable.Kind, unreadable.State, unreadable.Parsed = "unreadable", "", `{"problem":"no status"}`
	out := w.reread(mended, r, unreadable, w.logged(gone.Receipt.ID))
	for i, want := range []store.RereadEffect{store.RereadApplied, store.RereadExcepted, store.RereadNothing} {
		if out[i].Effect != want {
			t.Errorf("receipt %d: %+v, want %s", i, out[i], want)
		}
	}
	w.state(o.Message, message.Delivered)
	w.read(all[2], exception.Reread)
	w.read(all[1], exception.Reread)
	w.read(all[0], exception.Dismissed)
	now := w.exceptions("unreadable", "unmatched", "unmatched", "unmatched")
	if now[0].Receipt != other.Receipt.ID || now[0].Detail != "no status" {
		t.Errorf("it is told of as %+v", now[0])
	}
	again := w.reread(mended, r, unreadable, w.logged(gone.Receipt.ID))
	for i := range again {
		if again[i].Effect != store.RereadNothing || again[i].Changed {
			t.Errorf("receipt %d again: %+v", i, again[i])
		}
	}
	if got := w.kinds(o.Message); got != "taken outcome receipt" {
		t.Errorf("the history is %s", got)
	}
}

// A receipt whose id was misread leaves the message that it had moved, and finds its own.
//
// covers: R4, R9, I13
func testRereadMoves(t *testing.T, h Harness) {
	w := newWorld(t, h)
	wrong, right := w.attempt(ask{event: "wrong", version: "1", to: 83}), w.attempt(ask{event: "right", version: "1", to: 83})
	w.settle(w.outcome(wrong, message.OutcomeAccepted, "M1"), w.outcome(right, message.OutcomeAccepted, "M10"))
	n := w.receipt("M1", -1, "delivered", 83)
	w.settle(n)
	w.state(wrong.Message, message.Delivered)
	r := w.logged(n.Receipt.ID)
	r.ExternalID, r.EventKey = []byte("M10"), key([]byte("M10 delivered"))
	w.effect(mended, r, store.RereadApplied, true)
	if m := w.state(wrong.Message, message.Accepted); m.Final || m.Attempts[0].Delivery != message.DeliveryNone {
		t.Errorf("it left behind %+v, final %v", m.Attempts[0], m.Final)
	}
	w.state(right.Message, message.Delivered)
	w.effect(mended, r, store.RereadNothing, false)
	if a, b := w.kinds(wrong.Message), w.kinds(right.Message); a != "taken outcome receipt rebuilt" || b != "taken outcome receipt" {
		t.Errorf("the histories are %s and %s", a, b)
	}
	w.settle(w.receipt("M1", 3, "undelivered", 83))
	w.state(wrong.Message, message.Undelivered)
	w.exceptions()
}

// A call that was taken for a person's message is a receipt after all; a receipt that waits is settled as it is read
// now; and what an id form that is declared later would match is found.
//
// covers: R4, R5, R9, C13
func testRereadOthers(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	o := w.attempt(ask{event: "unmarked", version: "1", to: 84})
	w.settle(w.outcome(o, message.OutcomeAccepted, "812FC7470000001B"))
	mo := w.receipt("", -1, "", 84)
	inbound := w.logged(mo.Receipt.ID)
	must(t, w.FinishReceipts(ctx, []ident.Receipt{inbound.ID}))
	waits := w.receipt("W1", -1, "", 85)
	w.settle(waits)
	decimal := w.over("9308878062554710043", "en_route", 84)
	w.declare(receipt.IDs{Response: receipt.Hex, Receipt: receipt.Decimal})
	w.settle(w.outcome(o, message.OutcomeAccepted, "812FC7470000001B")) // as the ids are registered anew
	w.effect(mended, w.logged(decimal.Receipt.ID), store.RereadApplied, false)
	w.state(o.Message, message.EnRoute)
	inbound.ExternalID, inbound.State, inbound.EventKey = []byte("812FC7470000001B"), "delivered", key([]byte("unmarked"))
	w.effect(mended, inbound, store.RereadApplied, true)
	w.state(o.Message, message.Delivered)
	late := w.logged(waits.Receipt.ID)
	late.State = "delivered"
	w.effect(mended, late, store.RereadWaits, true)
	due, err := w.DueReceipts(ctx, 10)
	must(t, err)
	if len(due) != 1 || due[0].ID != late.ID || due[0].State != "delivered" {
		t.Errorf("due are %+v", due)
	}
	all, err := w.LogFrom(ctx, w.conn, store.LogPlace{}, 2)
	must(t, err)
	rest, err := w.LogFrom(ctx, w.conn, store.LogPlace{At: all[1].ReceivedAt, ID: all[1].ID}, 10)
	must(t, err)
	if len(all) != 2 || len(rest) != 1 || all[0].ReceivedAt > all[1].ReceivedAt || all[1].ReceivedAt > rest[0].ReceivedAt {
		t.Errorf("the log has %d and %d", len(all), len(rest))
	}
	if none, err := w.LogFrom(ctx, w.conn+1, store.LogPlace{}, 10); err != nil || len(none) != 0 {
		t.Errorf("another connection's log has %d: %v", len(none), err)
	}
	nobody := *late
	nobody.ID = ident.NewReceipt(0)
	if out, err := w.Reread(ctx, []*store.LoggedReceipt{&nobody}, mended, w.rules); err != nil || out[0].Err == nil {
		t.Errorf("a receipt that is not in the log: %+v, %v", out, err)
	}
}

// A demoted status makes a later receipt right that had contradicted it; a person's word stays what it is.
//
// covers: R6, R9, I8
func testRereadConflicts(t *testing.T, h Harness) {
	w := newWorld(t, h)
	open, xOpen := w.conflict("open", 86)
	attached, xAttached := w.conflict("attached", 87)
	dismissed, xDismissed := w.conflict("dismissed", 88)
	w.resolve(xAttached, exception.Attach, exception.Part{})
	w.resolve(xDismissed, exception.Dismiss, exception.Part{})
	for _, o := range []store.Opened{open, attached, dismissed} {
		all, err := w.Receipts(context.Background(), w.tenant, o.Message, store.Page{Limit: 10})
		must(t, err)
		for _, r := range all {
			if r.State == "delivered" {
				r.State, r.Parser = "accepted", "test/2"
				w.reread(mended, r)
			}
		}
	}
	w.state(open.Message, message.Undelivered)
	w.read(xOpen, exception.Open) // until its own receipt is read again
	w.state(attached.Message, message.Undelivered)
	w.state(dismissed.Message, message.Accepted)
	all, err := w.Receipts(context.Background(), w.tenant, open.Message, store.Page{Limit: 10})
	must(t, err)
	for _, r := range all {
		w.reread(mended, r)
	}
	w.read(xOpen, exception.Reread)
	if got := w.kinds(attached.Message); got != "taken outcome receipt conflict resolved" {
		t.Errorf("the history of what a person has said is %s", got)
	}
}
