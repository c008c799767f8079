package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testLostCommit loses the connection after the server has committed: the same batch with the same ids finds
// its own rows, and nobody gets a false no, or a yes for a message that does not exist (rule 7).
//
// covers: D8, I1, I2
func testLostCommit(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return // the embedded engine has no connection that could be lost
	}
	f := h.Fragile(t)
	w := worldOn(t, h, f)
	subs := []store.Submission{
		w.submission(ask{event: "L-1", version: "1", to: 8, idempotency: "l1"}),
		w.submission(ask{event: "L-1", version: "1", to: 8}),
		w.submission(ask{event: "L-1", version: "1", to: 8, idempotency: "l1"}), // a replay of the first
		w.submission(ask{event: "L-2", version: "1", to: 8, idempotency: "l1"}), // its key with another request
	}
	f.Arm(true)
	out, err := w.Decide(context.Background(), subs, intent.Decide)
	must(t, err)
	if f.Cut() != 1 {
		t.Fatal("no commit was broken: the test proves nothing")
	}
	first := subs[0].Message
	if out[0].Decision.Action != intent.Allow || out[0].Decision.Message.ID != first {
		t.Errorf("the batch's own success was taken for another's: %s %s", out[0].Decision.Action, out[0].Decision.Reason)
	}
	if out[1].Decision.Action != intent.Suppress || out[1].Decision.Message.ID != first {
		t.Errorf("the duplicate in the batch: %s", out[1].Decision.Action)
	}
	if out[2].Kind != intent.Replayed || out[2].Decision.Message.ID != first || out[3].Kind != intent.Mismatched {
		t.Errorf("the key's replay is %+v, its misuse %+v", out[2].Result, out[3].Result)
	}
	w.counts(1, 2)
	// A caller that asks again with the same ids, whatever became of the first call, gets the same.
	again, err := w.Decide(context.Background(), subs[:2], intent.Decide)
	must(t, err)
	for i := range again {
		if again[i].Err != nil || again[i].Decision.ID != out[i].Decision.ID || again[i].Decision.Action != out[i].Decision.Action {
			t.Errorf("request %d again: %v %+v", i, again[i].Err, again[i].Result)
		}
	}
	w.counts(1, 2)
}

// counts asserts how many messages and decisions there are.
func (w *world) counts(messages, decisions int) {
	w.t.Helper()
	all, err := w.Messages(context.Background(), w.tenant, store.MessageFilter{}, store.Page{Limit: 100})
	must(w.t, err)
	decided, err := w.Decisions(context.Background(), w.tenant, ident.Message{}, store.Page{Limit: 100})
	must(w.t, err)
	if len(all) != messages || len(decided) != decisions {
		w.t.Errorf("%d messages and %d decisions exist, want %d and %d", len(all), len(decided), messages, decisions)
	}
}

// testLostOpen loses the commit of an attempt: the call finds its own attempt and opens no second one.
//
// covers: I3, I9
func testLostOpen(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	f := h.Fragile(t)
	w := worldOn(t, h, f)
	id := w.taken(ask{event: "LO", version: "1", to: 9})
	claims := w.claim(1)
	f.Arm(true)
	opened := w.open(claims)
	if f.Cut() != 1 {
		t.Fatal("no commit was broken: the test proves nothing")
	}
	m := w.state(id, message.Sending)
	if len(opened) != 1 || opened[0].Attempt != 1 || len(m.Attempts) != 1 || m.Attempts[0].Reference != opened[0].Reference {
		t.Fatalf("opened %+v, stored %+v", opened, m.Attempts)
	}
	if second := w.open(claims); len(second) != 0 {
		t.Error("one claim opened two attempts")
	}
}

// testLostOpenReclaimed loses the transaction of an attempt before it is committed, and keeps the node from the
// store until its lease is over and another node has the message: that node's attempt is not taken for ours.
//
// covers: I3, I5, I9
func testLostOpenReclaimed(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	f := h.Fragile(t)
	w := worldOn(t, h, f)
	id := w.taken(ask{event: "LR", version: "1", to: 9})
	claims := w.claim(1)
	f.Arm(false)
	release := f.Hold()
	opened := make(chan []store.Opened, 1)
	go func() {
		o, err := w.OpenAttempts(context.Background(), w.openSpec(), claims)
		if err != nil {
			t.Error(err)
		}
		opened <- o
	}()
	other := *w
	other.Store, other.node = f.Direct, ident.NewNode()
	other.advance(2100 * time.Millisecond) // the lease
	other.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.LeaseEnded, Message: id}, Reference: -1})
	theirs := other.open(other.claim(1))
	if len(theirs) != 1 {
		t.Fatalf("the other node opened %d attempts", len(theirs))
	}
	release()
	if ours := <-opened; len(ours) != 0 {
		t.Fatalf("another node's attempt was taken for our own: %+v", ours)
	}
	if f.Cut() != 1 {
		t.Fatal("no commit was broken: the test proves nothing")
	}
	if m := other.state(id, message.Sending); len(m.Attempts) != 1 || m.Attempts[0].Node != other.node {
		t.Errorf("the attempts are %+v", m.Attempts)
	}
}

// testLostSettle loses the commit of an outcome and a receipt: settled again, nothing happens twice.
//
// covers: R10, I13
func testLostSettle(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	f := h.Fragile(t)
	w := worldOn(t, h, f)
	o := w.attempt(ask{event: "LS", version: "1", to: 9})
	news := []store.News{w.outcome(o, message.OutcomeAccepted, "ls-1"), w.receipt("ls-1", -1, "delivered", 9)}
	f.Arm(true)
	w.settle(news...)
	if f.Cut() != 1 {
		t.Fatal("no commit was broken: the test proves nothing")
	}
	w.state(o.Message, message.Delivered)
	events, err := w.Events(context.Background(), w.tenant, o.Message, 0, 100)
	must(t, err)
	if len(events) != 3 {
		t.Errorf("the history has %d lines, want 3: %+v", len(events), events)
	}
	w.exceptions()
}

// testOtherTenants asks for everything of one tenant as another.
//
// covers: I15
func testOtherTenants(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, other := context.Background(), w.tenant+1
	o := w.attempt(ask{event: "OT", version: "1", to: 33})
	w.settle(w.outcome(o, message.OutcomeAccepted, "ot-1"))
	receipt := w.receipt("ot-1", -1, "delivered", 33)
	w.settle(receipt, w.receipt("ot-1", -1, "undelivered", 33))
	m := w.state(o.Message, message.Delivered)
	w.exceptions("conflicting")
	if _, err := w.Message(ctx, other, o.Message); err == nil {
		t.Error("the message")
	}
	if _, err := w.Store.Decision(ctx, other, m.Decision); err == nil {
		t.Error("the decision")
	}
	if _, err := w.Receipt(ctx, other, receipt.Receipt.ID); err == nil {
		t.Error("the receipt")
	}
	// The installation's own tenant sees what belongs to nobody, and nothing of another's.
	theirs := *w
	must(t, func() (err error) { theirs.tenant, err = w.EnsureTenant(ctx, "another"); return err }())
	foreign := theirs.taken(ask{event: "OT", version: "1", to: 34, tenant: theirs.tenant})
	attempt := theirs.open(theirs.claim(1))[0]
	theirs.settle(theirs.outcome(attempt, message.OutcomeAccepted, "ot-2"))
	matched, nobodys := theirs.receipt("ot-2", -1, "delivered", 34), theirs.receipt("ot-3", -1, "delivered", 34)
	theirs.settle(matched, nobodys)
	if m, err := w.Message(ctx, theirs.tenant, foreign); err != nil || m.State != message.Delivered {
		t.Fatalf("the other tenant's message: %v", err)
	}
	if _, err := w.Receipt(ctx, w.tenant, matched.Receipt.ID); err == nil {
		t.Error("the first tenant sees another's receipt")
	}
	if _, err := w.Receipt(ctx, w.tenant, nobodys.Receipt.ID); err != nil {
		t.Errorf("the first tenant does not see a receipt without a match: %v", err)
	}
	page := store.Page{Limit: 10}
	events, err := w.Events(ctx, other, o.Message, 0, 10)
	must(t, err)
	decisions, err := w.Decisions(ctx, other, o.Message, page)
	must(t, err)
	receipts, err := w.Receipts(ctx, other, o.Message, page)
	must(t, err)
	exceptions, err := w.Exceptions(ctx, other, store.ExceptionFilter{About: o.Message}, page)
	must(t, err)
	messages, err := w.Messages(ctx, other, store.MessageFilter{ExternalID: "ot-1"}, page)
	must(t, err)
	if n := len(events) + len(decisions) + len(receipts) + len(exceptions) + len(messages); n != 0 {
		t.Errorf("another tenant sees %d events, %d decisions, %d receipts, %d exceptions, %d messages",
			len(events), len(decisions), len(receipts), len(exceptions), len(messages))
	}
}
