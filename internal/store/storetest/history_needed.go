package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// old makes one message for each reason for which a message is kept, all of them final and with no window that runs.
func (w *world) old(p *purse) map[string]ident.Message {
	w.t.Helper()
	charged := p.sent(p.costing(100, ask{purpose: "bound", event: "N-1", to: 6}))[0]
	first, second := w.attempt(ask{purpose: "bound", event: "N-2", to: 7}), w.attempt(ask{purpose: "bound", event: "N-3", to: 7})
	w.settle(w.outcome(charged, message.OutcomeUnknown, ""), w.outcome(first, message.OutcomeUnknown, ""), w.outcome(second, message.OutcomeUnknown, ""))
	w.over("guess", "delivered", 7)
	conflict := w.done(ask{purpose: "bound", event: "N-4", to: 8}, "n4")
	w.settle(w.receipt("n4", -1, "undelivered", 8))
	w.exceptions("conflicting", "lost_answer")
	w.age(w.receiptTime(charged.Message))
	for _, o := range []store.Opened{charged, first, second} {
		w.close(o.Message)
	}
	plain := w.done(ask{purpose: "bound", event: "N-5", to: 9}, "n5")
	w.placed()
	w.hook(w.tenant, "*")
	told := w.done(ask{purpose: "bound", event: "N-6", to: 9}, "n6")
	w.placed()
	unplaced := w.done(ask{purpose: "bound", event: "N-7", to: 9}, "n7")
	w.advance(3 * time.Second) // their windows are over
	return map[string]ident.Message{
		"money": charged.Message, "first guess": first.Message, "second guess": second.Message, "exception": conflict,
		"delivery": told, "event": unplaced, "nothing": plain,
	}
}

// tellAll delivers whatever there is to deliver.
func (w *world) tellAll() {
	w.t.Helper()
	w.placed()
	hooks, err := w.ListWebhooks(context.Background(), w.tenant)
	must(w.t, err)
	for _, c := range w.claimFor(100, hooks...) {
		w.report(c, yes)
	}
}

// What somebody still needs is kept, whatever its age, and goes once nobody does.
//
// covers: I10, I12, I17
func testForgetNeeded(t *testing.T, h Harness) {
	w := newWorld(t, h)
	p := w.prepaid("patient", 1000)
	made, soon := w.old(p), w.in(time.Hour)
	if n := w.forgetNow(soon); n != 1 {
		t.Errorf("%d messages went, want the one that nobody needs", n)
	}
	here := func(gone ...string) {
		t.Helper()
		for why, id := range made {
			_, err := w.Message(context.Background(), id.Partition(), id)
			w.isThere(why, err, !slices.Contains(gone, why))
		}
	}
	here("nothing")
	w.tellAll()
	w.forget(soon)
	here("nothing", "delivery", "event")
	for _, x := range w.exceptions("conflicting", "lost_answer") {
		if out := w.resolve(x, exception.Dismiss, exception.Part{}); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	w.tellAll()
	w.forget(soon)
	here("nothing", "delivery", "event", "exception", "first guess", "second guess")
	p.has(1000, 100, 0)
}

// Records go, but for those of messages that are there, and for open exceptions with their receipts: on a server too,
// where the partitions that they lie in go.
//
// covers: D14, I17
func testForgetRecords(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	must(t, w.PartitionHistory(ctx, 60*24*time.Hour))
	kept := w.attempt(ask{purpose: "bound", event: "D-1", to: 4})
	w.settle(w.outcome(kept, message.OutcomeAccepted, "d1"))
	report := w.receipt("d1", -1, "en_route", 4)
	w.settle(report)
	again := w.decide(ask{purpose: "bound", event: "D-1", to: 4})[0].Decision
	gone := w.decide(ask{purpose: "bound", event: "D-2", to: 4})[0].Decision
	w.cancel(gone.Message.ID)
	open := w.over("nobody", "delivered", 4)
	dismissed := w.over("nobody else", "delivered", 5)
	for _, x := range w.exceptions("unmatched", "unmatched") {
		if x.Receipt == dismissed.Receipt.ID {
			w.resolve(x, exception.Dismiss, exception.Part{})
		}
	}
	w.advance(3 * time.Second)
	later := w.in(20 * 24 * time.Hour)
	if n := w.forget(later); n != 1 {
		t.Fatalf("%d messages went, want 1", n)
	}
	if held := w.forgetRecords(later); held != 0 {
		t.Errorf("history is held back by %s", held)
	}
	for _, d := range []struct {
		id   ident.Decision
		want bool
	}{{again.ID, true}, {w.state(kept.Message, message.EnRoute).Decision, true}, {gone.ID, false}} {
		_, err := w.Store.Decision(ctx, w.tenant, d.id)
		w.isThere("a decision", err, d.want)
	}
	for n, want := range map[*store.News]bool{&report: true, &open: true, &dismissed: false} {
		_, err := w.Receipt(ctx, w.tenant, n.Receipt.ID)
		w.isThere("the receipt of "+string(n.Receipt.ExternalID), err, want)
	}
	if got := w.kinds(kept.Message); got != "taken outcome receipt" {
		t.Errorf("the history of what is kept is %q", got)
	}
	w.records(1, 1, 1)
	w.resolve(w.exceptions("unmatched")[0], exception.Dismiss, exception.Part{})
	w.forgetRecords(later)
	w.exceptions()
	w.records(0, 0, 0)
	w.settle(w.receipt("d1", -1, "delivered", 4))
	w.forget(later)
	w.forgetRecords(later)
	for _, table := range []string{"message", "event", "decision", "receipt", "external_id"} {
		if n := w.count(`select count(*) from ` + table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

// records asserts how many groups there are, how many exceptions are open in them, and how many ids stand for nothing
// but receipts that wait.
func (w *world) records(groups, open, waiting int) {
	w.t.Helper()
	all, err := w.ExceptionGroups(context.Background(), w.tenant, false, store.GroupKey{}, 10)
	must(w.t, err)
	n := 0
	for _, g := range all {
		n += int(g.Open)
	}
	ids := w.count(`select count(*) from external_id where length(candidates) = 0 and length(waiting) > 0`)
	if len(all) != groups || n != open || ids != waiting {
		w.t.Errorf("%d groups with %d open exceptions, %d ids that wait; want %d, %d, %d", len(all), n, ids, groups, open, waiting)
	}
}

// count counts past the guard of tables in partitions, which is for the store's own statements.
func (w *world) count(query string) (n int) {
	w.t.Helper()
	must(w.t, w.h.Database(w.t, w.Store).QueryRow(query).Scan(&n))
	return n
}

// A few messages that do not end hold nothing back; too many of them do, and it is said by how much.
//
// covers: I17
func testForgetHeldBack(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	var ids []ident.Message
	for n := range 52 {
		ids = append(ids, w.taken(ask{purpose: "bound", event: fmt.Sprint("H-", n), to: n}))
	}
	w.advance(3 * time.Second)
	slices.SortFunc(ids, func(a, b ident.Message) int { return bytes.Compare(a[:], b[:]) })
	soon := w.in(time.Hour)
	heldBack := func() time.Duration {
		t.Helper()
		f, err := w.ForgetRecords(ctx, soon, 1) // fifty are kept one by one for each record of a step
		must(t, err)
		return f.HeldBack
	}
	var ms int64
	for _, b := range ids[50][:6] {
		ms = ms<<8 | int64(b)
	}
	if got, want := heldBack(), soon.Sub(clock.Micros(ms*1000)); got != want {
		t.Errorf("with 52 messages that wait it is held back by %s, want %s", got, want)
	}
	w.cancel(ids[0])
	w.cancel(ids[1])
	if n := w.forget(soon); n != 2 {
		t.Errorf("%d messages went, want 2", n)
	}
	if got := heldBack(); got != 0 {
		t.Errorf("with 50 it is held back by %s", got)
	}
}
