package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// webhookTests are those of endpoints and of what they are told.
var webhookTests = map[string]func(*testing.T, Harness){
	"Webhooks":            testWebhooks,
	"WebhookLostCommit":   testWebhookLostCommit,
	"DeliveriesMade":      testDeliveriesMade,
	"DeliveriesClaimed":   testDeliveriesClaimed,
	"DeliveriesEnd":       testDeliveriesEnd,
	"DeliveriesTrimmed":   testDeliveriesTrimmed,
	"DeliveriesOfNodes":   testDeliveriesOfNodes,
	"DeliveriesAbandoned": testDeliveriesAbandoned,
	"DeliveriesHeld":      testDeliveriesHeld,
	"WebhookRacers":       testWebhookRacers,
}

// hook makes an endpoint.
func (w *world) hook(tenant ident.Partition, types ...string) store.Webhook {
	w.t.Helper()
	made, err := w.PutWebhook(context.Background(), store.Webhook{
		ID: ident.NewWebhook(tenant), Tenant: tenant, URL: "https://example.com/hooks", Types: types, Enabled: true, CreatedBy: "key1",
		Secrets: store.WebhookSecrets{OwnKey: []byte("wrapped"), Current: []byte("sealed")},
	}, 3)
	must(w.t, err)
	return made
}

// placed gives every event its place.
func (w *world) placed() {
	w.t.Helper()
	_, err := w.Sequence(context.Background(), 1000)
	must(w.t, err)
}

func (w *world) deliveries(h store.Webhook, state webhook.State) []store.WebhookDelivery {
	w.t.Helper()
	all, err := w.ListDeliveries(context.Background(), h.Tenant, h.ID, state, 1<<62, 100)
	must(w.t, err)
	return all
}

const testLease = 2 * time.Second

func (w *world) claimFor(n int, hooks ...store.Webhook) []store.ClaimedDelivery {
	w.t.Helper()
	grants := make([]webhook.Grant, len(hooks))
	for i, h := range hooks {
		grants[i] = webhook.Grant{ID: h.ID, N: n}
	}
	claimed, err := w.ClaimDeliveries(context.Background(), grants, testLease)
	must(w.t, err)
	return claimed
}

func (w *world) report(c store.ClaimedDelivery, a webhook.Answer) webhook.Delivery {
	w.t.Helper()
	after, err := w.SettleDeliveries(context.Background(), []store.DeliveryResult{{
		DeliveryID: c.DeliveryID, Result: webhook.Result{Fence: c.Fence, Answer: a, Jitter: 0.5}}}, webhook.Settle)
	must(w.t, err)
	return after[0]
}

var yes, no = webhook.Answer{Status: 204}, webhook.Answer{Status: 500}

// testWebhookRacers makes endpoints at once: as many as a tenant may have are made, and the others refused.
//
// covers: X5
func testWebhookRacers(t *testing.T, h Harness) {
	w := newWorld(t, h)
	const racers, most = 12, 5
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			_, errs[i] = w.PutWebhook(context.Background(), store.Webhook{ID: ident.NewWebhook(w.tenant), Tenant: w.tenant, URL: "https://example.com/",
				Types: []string{"*"}, CreatedBy: "key1", Secrets: store.WebhookSecrets{OwnKey: []byte("w"), Current: []byte("s")}}, most)
		})
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if fault.CodeOf(err) != fault.State {
			t.Error(err)
		}
	}
	if all, err := w.ListWebhooks(context.Background(), w.tenant); made != most || len(all) != most || err != nil {
		t.Errorf("%d were made, %d are there, want %d: %v", made, len(all), most, err)
	}
}

// testWebhooks keeps endpoints apart by tenant, and changes one only as whoever changes it has seen it.
//
// covers: I15, X5
func testWebhooks(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, other := context.Background(), w.tenant+1
	first, second := w.hook(w.tenant, "*"), w.hook(w.tenant, "message.delivered", "attempt.*")
	if first.Version != 1 || first.CreatedAt == 0 || first.CreatedBy != "key1" || first.ChangedBy != "key1" || !first.Enabled ||
		string(first.Secrets.Current) != "sealed" || first.Secrets.Former != nil || second.Types.String() != "message.delivered attempt.*" {
		t.Errorf("stored as %+v and %+v", first, second)
	}
	w.hook(w.tenant, "*")
	if _, err := w.PutWebhook(ctx, store.Webhook{ID: ident.NewWebhook(w.tenant), Tenant: w.tenant, Secrets: first.Secrets}, 3); fault.CodeOf(err) != fault.State {
		t.Errorf("a fourth of three: %v", err)
	}
	all, err := w.ListWebhooks(ctx, w.tenant)
	must(t, err)
	if none, err := w.ListWebhooks(ctx, other); len(all) != 3 || len(none) != 0 || err != nil {
		t.Errorf("%d of three, %d of another tenant's, %v", len(all), len(none), err)
	}
	change := first
	change.URL, change.Enabled, change.ChangedBy = "https://example.com/other", false, "key2"
	change.Secrets = store.WebhookSecrets{OwnKey: []byte("w2"), Current: []byte("s2"), Former: []byte("f2"), FormerUntil: 99}
	changed, err := w.ChangeWebhook(ctx, change)
	must(t, err)
	if changed.URL != change.URL || changed.Enabled || changed.Version != 2 || changed.ChangedBy != "key2" || changed.CreatedBy != "key1" || string(changed.Secrets.Former) != "f2" || changed.Secrets.FormerUntil != 99 {
		t.Errorf("changed to %+v", changed)
	}
	if _, err := w.ChangeWebhook(ctx, change); fault.CodeOf(err) != fault.State {
		t.Errorf("changed as it was before: %v", err)
	}
	foreign := changed
	foreign.Tenant = other
	for name, err := range map[string]error{
		"read": second1(w.Webhook(ctx, other, first.ID)), "change": second1(w.ChangeWebhook(ctx, foreign)), "remove": w.RemoveWebhook(ctx, other, first.ID, "eve"),
		"list": second1(w.ListDeliveries(ctx, other, first.ID, 0, 1<<62, 10)), "replay": second1(w.ReplayDead(ctx, other, first.ID, 10, webhook.Again)),
	} {
		if fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s another tenant's: %v", name, err)
		}
	}
	must(t, w.RemoveWebhook(ctx, w.tenant, first.ID, "key2"))
	if _, err := w.Webhook(ctx, w.tenant, first.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("what was removed: %v", err)
	}
	w.hook(w.tenant, "*") // there is room again
}

// testWebhookLostCommit loses the commit of a change, and of the last endpoint that there is room for: whoever made it is
// told that it is made, and a secret that was made is shown.
//
// covers: I12, X5
func testWebhookLostCommit(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	f := h.Fragile(t)
	w := worldOn(t, h, f)
	ctx := context.Background()
	hook := w.hook(w.tenant, "*")
	w.hook(w.tenant, "*")
	f.Arm(true)
	w.hook(w.tenant, "*") // the third of three
	hook.Secrets = store.WebhookSecrets{OwnKey: []byte("w2"), Current: []byte("s2"), Former: []byte("f2"), FormerUntil: 99}
	f.Arm(true)
	changed, err := w.ChangeWebhook(ctx, hook)
	must(t, err)
	f.Arm(true)
	must(t, w.RemoveWebhook(ctx, w.tenant, hook.ID, "key1"))
	if f.Cut() != 3 {
		t.Fatalf("%d commits were broken, want 3: the test proves nothing", f.Cut())
	}
	if changed.Version != 2 || string(changed.Secrets.Current) != "s2" {
		t.Errorf("changed to %+v", changed)
	}
}

func second1[T any](_ T, err error) error { return err }

// testDeliveriesMade notes an event for the endpoints that want it, with the event's place in the feed, and for no other.
//
// covers: I12, I15
func testDeliveriesMade(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx, other := context.Background(), w.prepaid("other", 0).id
	before := w.taken(ask{event: "before", version: "1", to: 50})
	w.placed()
	all, some := w.hook(w.tenant, "*"), w.hook(w.tenant, "message.accepted", "attempt.*")
	off, foreign := w.hook(w.tenant, "*"), w.hook(other, "*")
	off.Enabled = false
	off, err := w.ChangeWebhook(ctx, off)
	must(t, err)
	on, err := w.EnabledWebhooks(ctx, []ident.Webhook{foreign.ID, off.ID, ident.NewWebhook(w.tenant)})
	must(t, err)
	if len(on) != 1 || on[0].ID != foreign.ID || on[0].URL != foreign.URL || string(on[0].Secrets.Current) != "sealed" {
		t.Errorf("of one that is on, one that is off and none, read are %+v", on)
	}
	id := w.taken(ask{event: "E", version: "1", to: 51})
	w.placed()
	claims := w.claim(2)
	for _, o := range w.open(claims) {
		w.settle(w.outcome(o, message.OutcomeAccepted, "ext-"+o.Message.String()))
	}
	w.placed()
	feed, err := w.After(ctx, w.tenant, 0, 100)
	must(t, err)
	var want []string
	for _, e := range feed {
		if e.Message == id || e.N > 1 {
			want = append(want, fmt.Sprint(e.Seq, e.Message, e.N))
		}
	}
	var got []string
	for _, d := range w.deliveries(all, 0) {
		got = append(got, fmt.Sprint(d.Seq, d.Event.Message, d.Event.N))
		if d.State != webhook.Pending || d.Fence != 0 || d.NextAt != d.Event.At || d.Event.Facts.Destination == "" {
			t.Errorf("made as %+v", d)
		}
	}
	slices.Reverse(got)
	if len(want) != 3 || !slices.Equal(got, want) || before.IsZero() {
		t.Errorf("noted are %v of %v", got, want)
	}
	accepted := w.deliveries(some, 0)
	if len(accepted) != 2 || accepted[0].Event.To != message.Accepted || accepted[1].Event.To != message.Accepted {
		t.Errorf("for whoever wants to know what was accepted: %+v", accepted)
	}
	if n, m := len(w.deliveries(off, 0)), len(w.deliveries(foreign, 0)); n != 0 || m != 0 {
		t.Errorf("%d for one that is off, %d for another tenant's", n, m)
	}
	if _, err := w.WebhookDelivery(ctx, other, accepted[0].DeliveryID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another tenant sees a delivery: %v", err)
	}
	one, err := w.WebhookDelivery(ctx, w.tenant, accepted[0].DeliveryID)
	if err != nil || one.Event.Seq != accepted[0].Seq || one.Event.Message != accepted[0].Event.Message {
		t.Errorf("%+v, %v", one, err)
	}
}
