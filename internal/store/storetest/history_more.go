package storetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Rows lie in the partition of their time, and are gone with it; what nobody has made a partition for is kept, too.
//
// covers: I17
func testForgetPartitions(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	at := func(days int) ident.Message { // a message of another day, which is over
		t.Helper()
		sub := w.submission(ask{purpose: "bound", event: fmt.Sprint("P-", days), to: 5})
		floor := ident.Floor[ident.Message](int64(w.in(time.Duration(days)*24*time.Hour)) / 1000)
		copy(sub.Message[:6], floor[:6])
		copy(sub.Decision[:6], floor[:6])
		out, err := w.Decide(ctx, []store.Submission{sub}, intent.Decide)
		must(t, err)
		must(t, out[0].Err)
		w.cancel(sub.Message)
		return sub.Message
	}
	late := at(40) // beyond all partitions
	must(t, w.PartitionHistory(ctx, 10*24*time.Hour))
	must(t, w.PartitionHistory(ctx, 10*24*time.Hour))
	must(t, w.PartitionHistory(ctx, 30*24*time.Hour)) // reaches over it
	early, middle := at(0), at(12)
	for _, id := range []ident.Message{early, middle, late} {
		_, err := w.Message(ctx, w.tenant, id)
		w.isThere(id.String(), err, true)
	}
	w.advance(3 * time.Second)
	limit := w.in(20 * 24 * time.Hour)
	if n := w.forget(limit); n != 2 {
		t.Fatalf("%d messages went, want 2", n)
	}
	w.forgetRecords(limit)
	var left int
	db := h.Database(t, w.Store)
	must(t, db.QueryRow(`select count(*) from message where id > ''`).Scan(&left))
	if left != 1 {
		t.Errorf("%d messages are left, want 1", left)
	}
	must(t, db.QueryRow(`select count(*) from decision where id > ''`).Scan(&left))
	if left != 1 {
		t.Errorf("%d decisions are left, want 1", left)
	}
	_, err := w.Message(ctx, w.tenant, late)
	w.isThere("the late one", err, true)
	again := w.decide(ask{purpose: "bound", event: "P-0", to: 5})[0].Decision
	if again.Action != intent.Allow {
		t.Errorf("what was forgotten is decided as %s", again.Action)
	}
}

// answerOne takes the next message that waits to its end.
func (w *world) answerOne(externalID string) {
	for _, o := range w.open(w.claim(1)) {
		w.settle(w.outcome(o, message.OutcomeAccepted, externalID))
		to, err := strconv.Atoi(o.Destination[len(o.Destination)-2:])
		must(w.t, err)
		w.settle(w.receipt(externalID, -1, "delivered", to))
	}
}

// Racers ask for the same intents, and answers and receipts come, while everything that may be forgotten is: each intent
// has one message all the same, and nobody waits for anybody in a circle.
//
// covers: I2, I17, D7
func testForgetUnderLoad(t *testing.T, h Harness) {
	w := newWorld(t, h)
	const keys, racers = 60, 8
	stop, done := make(chan struct{}), sync.WaitGroup{}
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				soon := w.in(time.Hour)
				w.forget(soon)
				w.forgetKeys(soon)
				w.forgetRecords(soon)
			}
		}
	})
	done.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				w.answerOne(fmt.Sprint("l", n))
			}
		}
	})
	made := make([]map[ident.Message]int, racers)
	var wg sync.WaitGroup
	for r := range racers {
		made[r] = map[ident.Message]int{}
		wg.Go(func() {
			for k := range keys {
				k = (k + r*7) % keys
				d := w.decide(ask{event: fmt.Sprint("L-", k), version: "1", to: k}, ask{purpose: "bound", event: fmt.Sprint("L-", k, "-", r), to: k})
				made[r][d[0].Decision.Message.ID] = k
			}
		})
	}
	wg.Wait()
	close(stop)
	done.Wait()
	of := map[int]map[ident.Message]bool{}
	for _, m := range made {
		for id, k := range m {
			if of[k] == nil {
				of[k] = map[ident.Message]bool{}
			}
			of[k][id] = true
		}
	}
	for k, ids := range of {
		if len(ids) != 1 {
			t.Errorf("the intent %d has %d messages", k, len(ids))
		}
	}
	if h.Deadlocks != nil && h.Deadlocks(w.Store) != 0 {
		t.Errorf("%d transactions were made again after a deadlock", h.Deadlocks(w.Store))
	}
}
