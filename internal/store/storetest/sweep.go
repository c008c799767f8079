package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// swept is what a sweep settles about messages.
func swept(due []ident.Message) []store.News {
	news := make([]store.News, len(due))
	for i, m := range due {
		news[i] = store.News{Evidence: evidence.Evidence{Kind: evidence.LeaseEnded, Message: m}, Reference: -1}
	}
	return news
}

// abandoned makes messages whose worker is gone: of each second one an attempt is open, the others are only claimed.
func (w *world) abandoned(n int) (opened []store.Opened, claimed []ident.Message) {
	w.t.Helper()
	for i := range n {
		id := w.taken(ask{event: fmt.Sprint("sweep-", i), version: "1", to: 30 + i%10})
		claims := w.claim(1)
		if i%2 == 1 {
			claimed = append(claimed, id)
			continue
		}
		spec := w.openSpec()
		spec.AnswerBy = time.Second
		one, err := w.OpenAttempts(context.Background(), spec, claims)
		must(w.t, err)
		opened = append(opened, one...)
	}
	w.advance(2100 * time.Millisecond)
	return opened, claimed
}

// A sweep that was slow between its look and its update finds everything changed: others have swept, claimed anew and
// opened attempts under a lease that runs. It changes nothing.
//
// covers: I5, I9
func testStaleSweep(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	opened, claimed := w.abandoned(4)
	due, err := w.Due(ctx, evidence.QueueLease, 10)
	must(t, err)
	if len(due) != 4 {
		t.Fatalf("%d messages are due, want 4", len(due))
	}
	w.settle(swept(due)...) // another node's sweep
	late := w.outcome(opened[0], message.OutcomeAccepted, "late")
	late.Late = true
	w.settle(late)
	again := w.claim(2)
	if len(again) != 2 {
		t.Fatalf("%d messages were claimed again, want 2", len(again))
	}
	w.open(again[:1])
	for i, s := range w.settle(swept(due)...) {
		if fault.CodeOf(s.Err) != fault.State {
			t.Errorf("the stale sweep of message %d: %v", i, s.Err)
		}
	}
	w.state(opened[0].Message, message.Accepted)
	w.state(opened[1].Message, message.Unknown)
	for _, id := range claimed {
		w.state(id, message.Sending)
	}
	if got := w.kinds(opened[1].Message); got != "taken orphaned" {
		t.Errorf("the history is %s", got)
	}
}

// Several nodes sweep the same messages at the same moment, while the answers to them come late after all and workers claim
// what is free again. Each is orphaned once at most, and every answer counts.
//
// covers: I5, I8, I9
func testSweepRace(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	opened, claimed := w.abandoned(24)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 6 {
				due, err := w.Due(ctx, evidence.QueueLease, 5)
				if err == nil {
					_, err = w.Settle(ctx, swept(due), w.rules)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for _, i := range rand.Perm(len(opened)) { // the order that matters is the database's
			late := w.outcome(opened[i], message.OutcomeAccepted, fmt.Sprint("late-", i))
			late.Late = true
			if settled, err := w.Settle(ctx, []store.News{late}, w.rules); err != nil || settled[0].Err != nil {
				t.Errorf("a late answer: %v, %v", err, settled)
			}
		}
	})
	wg.Wait()
	for _, o := range opened {
		w.state(o.Message, message.Accepted)
		if got := w.kinds(o.Message); got != "taken late" && got != "taken orphaned late" {
			t.Errorf("the history of %s is %s", o.Message, got)
		}
	}
	if again := w.claim(len(claimed) + 1); len(again) != len(claimed) {
		t.Errorf("%d of %d messages without an attempt can be claimed again", len(again), len(claimed))
	}
	w.checkHistories()
	w.noDeadlock()
}

// A sweep goes past what another transaction has locked, and takes the rest: one that hangs holds up nobody.
//
// covers: I16
func testSweepPassesOver(t *testing.T, h Harness) {
	if h.Deadlocks == nil {
		return // one transaction writes at a time
	}
	w := newWorld(t, h)
	ctx := context.Background()
	opened, claimed := w.abandoned(4)
	tx, err := h.Database(t, w.Store).BeginTx(ctx, nil)
	must(t, err)
	held := opened[0].Message
	_, err = tx.ExecContext(ctx, "select 1 from message_state where message_id = $1 for update", held[:])
	must(t, err)
	due, err := w.Due(ctx, evidence.QueueLease, 10)
	must(t, err)
	if len(due) != 3 || due[0] == held {
		t.Errorf("%d messages are due beside the one that is locked, want 3: %v", len(due), due)
	}
	w.settle(swept(due)...)
	w.state(claimed[0], message.Pending)
	must(t, tx.Rollback())
	if due, err = w.Due(ctx, evidence.QueueLease, 10); err != nil || len(due) != 1 || due[0] != held {
		t.Errorf("after it was let go %v are due, %v", due, err)
	}
}
