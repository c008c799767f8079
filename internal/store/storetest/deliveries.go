package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// testDeliveriesClaimed gives each to one worker until its lease ends; what a worker says of a lease that has ended is
// nothing, unless it says that the endpoint has the event.
//
// covers: I9, I12
func testDeliveriesClaimed(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, hook := context.Background(), w.hook(w.tenant, "*")
	other := w.hook(w.tenant, "*")
	for i := range 3 {
		w.taken(ask{event: fmt.Sprint("C", i), version: "1", to: 60 + i})
		w.placed()
	}
	due, now, err := w.DueWebhooks(ctx)
	must(t, err)
	if len(due) != 2 || due[0].Tenant != w.tenant || due[0].NextAt > now || due[0].NextAt == 0 {
		t.Errorf("due are %+v at %d", due, now)
	}
	first := w.claimFor(2, hook)
	if len(first) != 2 || first[0].Seq != 1 || first[1].Seq != 2 || first[0].Fence != 1 || first[0].Webhook.URL != hook.URL || string(first[0].Webhook.Secrets.Current) != "sealed" {
		t.Fatalf("claimed are %+v", first)
	}
	if rest := w.claimFor(9, hook, other); len(rest) != 4 {
		t.Errorf("after that %d are claimed, want one and the other's three", len(rest))
	}
	if again := w.claimFor(9, hook); len(again) != 0 {
		t.Errorf("claimed twice: %+v", again)
	}
	if d := w.report(first[0], yes); d.State != webhook.Delivered || d.Status != 204 || d.DoneAt == 0 {
		t.Errorf("delivered as %+v", d)
	}
	h.Advance(t, w.Store, testLease+time.Second)
	second := w.claimFor(9, hook)
	if len(second) != 2 || second[0].Seq != 2 || second[0].Fence != 2 || second[0].Event.Message != first[1].Event.Message {
		t.Fatalf("after the lease has ended: %+v", second)
	}
	if d := w.report(first[1], no); d.State != webhook.Delivering || d.Failures != 0 {
		t.Errorf("a late failure made it %+v", d)
	}
	if d := w.report(first[1], yes); d.State != webhook.Delivered {
		t.Errorf("a late success made it %+v", d)
	}
	if d := w.report(second[0], no); d.State != webhook.Delivered || d.Failures != 0 {
		t.Errorf("a failure after the success made it %+v", d)
	}
	if d := w.report(second[1], webhook.Answer{Problem: webhook.Timeout}); d.State != webhook.Pending || d.Failures != 1 || d.Problem != webhook.Timeout {
		t.Errorf("a failure made it %+v", d)
	}
	if soon := w.claimFor(9, hook); len(soon) != 0 {
		t.Errorf("tried again at once: %+v", soon)
	}
	h.Advance(t, w.Store, 6*time.Second)
	if later := w.claimFor(9, hook); len(later) != 1 || later[0].Fence != 3 {
		t.Errorf("tried again after a pause: %+v", later)
	}
}

// testDeliveriesEnd gives a delivery up, shows it, and tells it again when somebody asks for it.
//
// covers: I12
func testDeliveriesEnd(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, hook := context.Background(), w.hook(w.tenant, "*")
	for i := range 2 {
		w.taken(ask{event: fmt.Sprint("D", i), version: "1", to: 70 + i})
		w.placed()
	}
	claimed := w.claimFor(9, hook)
	if _, err := w.ReplayDelivery(ctx, w.tenant, claimed[0].DeliveryID, webhook.Again); fault.CodeOf(err) != fault.State {
		t.Errorf("replayed while it is under way: %v", err)
	}
	if d := w.report(claimed[0], webhook.Answer{Status: 410}); d.State != webhook.Dead {
		t.Errorf("gone: %+v", d)
	}
	last := func(d webhook.Delivery, r webhook.Result, now clock.Micros) webhook.Delivery {
		d.Failures = webhook.Tries() - 1
		return webhook.Settle(d, r, now)
	}
	after, err := w.SettleDeliveries(ctx, []store.DeliveryResult{{DeliveryID: claimed[1].DeliveryID, Result: webhook.Result{Fence: 1, Answer: no}}}, last)
	must(t, err)
	if dead := w.deliveries(hook, webhook.Dead); len(dead) != 2 || after[0].State != webhook.Dead || dead[0].Status != 500 || dead[1].Status != 410 || dead[0].DoneAt == 0 {
		t.Fatalf("given up are %+v", dead)
	}
	if got := w.claimFor(9, hook); len(got) != 0 {
		t.Errorf("dead ones are claimed: %+v", got)
	}
	if _, err := w.ReplayDelivery(ctx, w.tenant+1, claimed[0].DeliveryID, webhook.Again); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another tenant replays: %v", err)
	}
	d, err := w.ReplayDelivery(ctx, w.tenant, claimed[0].DeliveryID, webhook.Again)
	if err != nil || d.State != webhook.Pending || d.Failures != 0 {
		t.Errorf("replayed as %+v, %v", d, err)
	}
	if n, err := w.ReplayDead(ctx, w.tenant, hook.ID, 10, webhook.Again); n != 1 || err != nil {
		t.Errorf("replayed %d of the rest, %v", n, err)
	}
	again := w.claimFor(9, hook)
	if len(again) != 2 || again[0].Fence != 2 || len(w.deliveries(hook, webhook.Dead)) != 0 {
		t.Errorf("claimed again are %+v", again)
	}
	if d := w.report(again[0], yes); d.State != webhook.Delivered || len(w.deliveries(hook, webhook.Delivered)) != 1 {
		t.Errorf("delivered at last: %+v", d)
	}
}

// testDeliveriesTrimmed removes what was delivered, keeps what is dead, and leaves nothing of an endpoint that is gone.
func testDeliveriesTrimmed(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, kept, removed := context.Background(), w.hook(w.tenant, "*"), w.hook(w.tenant, "*")
	for i := range 3 {
		w.taken(ask{event: fmt.Sprint("T", i), version: "1", to: 80 + i})
		w.placed()
	}
	claimed := w.claimFor(9, kept)
	w.report(claimed[0], yes)
	w.report(claimed[1], yes)
	w.report(claimed[2], webhook.Answer{Status: 410})
	now, err := w.Now(ctx)
	must(t, err)
	trim := func(before clock.Micros, limit, want int) {
		t.Helper()
		if n, err := w.TrimDeliveries(ctx, before, limit); err != nil || n != want {
			t.Errorf("trimmed %d, want %d: %v", n, want, err)
		}
	}
	trim(now.Add(-time.Minute), 10, 0)
	trim(now+1, 1, 1)
	trim(now+1, 10, 1)
	if left := w.deliveries(kept, 0); len(left) != 1 || left[0].State != webhook.Dead {
		t.Errorf("left are %+v", left)
	}
	must(t, w.RemoveWebhook(ctx, w.tenant, removed.ID, "key1"))
	if got := w.claimFor(9, removed); len(got) != 0 {
		t.Errorf("claimed for an endpoint that is gone: %+v", got)
	}
	trim(0, 10, 0) // a transaction that knew of it may be under way
	db := h.Database(t, w.Store)
	_, err = db.ExecContext(ctx, fmt.Sprintf("update webhook set removed_at = %d where removed_at > 0", now.Add(-time.Hour)))
	must(t, err)
	trim(0, 2, 2)
	trim(0, 10, 1)
	dead := claimed[2].Event
	_, err = db.ExecContext(ctx, fmt.Sprintf("delete from event where n = %d and message_id in (select message_id from webhook_delivery)", dead.N))
	must(t, err)
	trim(0, 10, 1) // of whose event nothing is left
	trim(0, 10, 0)
	var n int
	must(t, db.QueryRowContext(ctx, "select count(*) from webhook").Scan(&n))
	if n != 1 {
		t.Errorf("%d endpoints are stored, want the one", n)
	}
}

// testDeliveriesAbandoned keeps what waits for an endpoint that is disabled for as long as anything is tried, and makes
// dead letters of it then; what waits for others waits on.
//
// covers: I12
func testDeliveriesAbandoned(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, off, on := context.Background(), w.hook(w.tenant, "*"), w.hook(w.tenant, "*")
	for i := range 3 {
		w.taken(ask{event: fmt.Sprint("A", i), version: "1", to: 80 + i})
		w.placed()
	}
	w.claimFor(1, off)
	off.Enabled = false
	_, err := w.ChangeWebhook(ctx, off)
	must(t, err)
	trim := func(passed time.Duration, want int) {
		t.Helper()
		_, err := h.Database(t, w.Store).ExecContext(ctx, fmt.Sprintf("update webhook set changed_at = %d", w.in(-passed)))
		must(t, err)
		n, err := w.TrimDeliveries(ctx, 0, 2)
		must(t, err)
		if n != want {
			t.Errorf("after %s %d were given up, want %d", passed, n, want)
		}
	}
	trim(webhook.Patience()-time.Minute, 0)
	trim(webhook.Patience()+time.Second, 2) // as many as are asked for
	trim(webhook.Patience()+time.Second, 1)
	trim(webhook.Patience()+time.Second, 0)
	dead := w.deliveries(off, webhook.Dead)
	if len(dead) != 3 || dead[0].Problem != webhook.Disabled || dead[0].DoneAt == 0 || len(w.deliveries(on, webhook.Pending)) != 3 {
		t.Errorf("dead are %+v", dead)
	}
}

// testDeliveriesOfNodes has many claim and report at the same time: nothing is claimed twice, and all of it is told.
//
// covers: I12
func testDeliveriesOfNodes(t *testing.T, h Harness) {
	w := newWorld(t, h)
	hooks := []store.Webhook{w.hook(w.tenant, "*"), w.hook(w.tenant, "*")}
	const events, workers = 40, 4
	for i := range events {
		w.taken(ask{event: fmt.Sprint("N", i), version: "1", to: i})
	}
	w.placed()
	seen := make(chan store.DeliveryID, 4*events)
	done := make(chan error, workers)
	for range workers {
		go func() { done <- w.work(hooks, seen) }()
	}
	for range workers {
		must(t, <-done)
	}
	close(seen)
	times := map[store.DeliveryID]int{}
	for id := range seen {
		times[id]++
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%v was claimed %d times", id, n)
		}
	}
	if n := len(w.deliveries(hooks[0], webhook.Delivered)); len(times) != 2*events || n != events {
		t.Errorf("%d of %d were claimed, %d of %d delivered", len(times), 2*events, n, events)
	}
}

// work claims and reports until nothing is left.
func (w *world) work(hooks []store.Webhook, seen chan<- store.DeliveryID) error {
	for idle := 0; idle < 2; {
		claimed, err := w.ClaimDeliveries(context.Background(), []webhook.Grant{{ID: hooks[1].ID, N: 3}, {ID: hooks[0].ID, N: 3}}, time.Minute)
		if err != nil {
			return err
		}
		if len(claimed) == 0 {
			idle++
		}
		var results []store.DeliveryResult
		for _, c := range claimed {
			seen <- c.DeliveryID
			results = append(results, store.DeliveryResult{DeliveryID: c.DeliveryID, Result: webhook.Result{Fence: c.Fence, Answer: yes}})
		}
		if _, err := w.SettleDeliveries(context.Background(), results, webhook.Settle); err != nil {
			return err
		}
	}
	return nil
}

// testDeliveriesHeld tells nobody anything while a store that went back in time waits for its release; then it goes on,
// under the sequences that it has.
//
// covers: D20, I12
func testDeliveriesHeld(t *testing.T, h Harness) {
	w, found := watched(t, h, h.Open(t), &marks{})
	ctx, hook := t.Context(), w.hook(w.tenant, "*")
	w.taken(ask{event: "H", version: "1", to: 90})
	w.placed()
	must(t, w.HoldTraffic(ctx, "declared"))
	if claimed := w.claimFor(9, hook); len(claimed) != 0 {
		t.Errorf("told while traffic waits: %+v", claimed)
	}
	must(t, w.BeginRelease(ctx, store.Release{Person: "ann", Reason: "a test", KeepPending: true}))
	must(t, w.EndRelease(ctx, found.ID))
	if claimed := w.claimFor(9, hook); len(claimed) != 1 || claimed[0].Seq != 1 {
		t.Errorf("after the release these are told: %+v", claimed)
	}
}
