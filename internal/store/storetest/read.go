package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func testFeed(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	id := w.taken(ask{event: "E", version: "1", to: 30})
	n, err := w.Sequence(ctx, 100)
	must(t, err)
	o := w.open(w.claim(1))[0]
	w.settle(w.outcome(o, message.OutcomeAccepted, "ev1"))
	m, err := w.Sequence(ctx, 100)
	must(t, err)
	if n != m || n > 1 { // none where events have their places at once
		t.Fatalf("%d and %d events left the outbox, want 1 and 1", n, m)
	}
	if again, _ := w.Sequence(ctx, 100); again != 0 {
		t.Error("events left the outbox twice")
	}
	feed, err := w.After(ctx, w.tenant, 0, 100)
	must(t, err)
	if len(feed) != 2 || feed[0].Seq != 1 || feed[1].Seq != 2 || feed[0].Message != id || feed[1].Kind != evidence.EventOutcome || feed[1].To != message.Accepted {
		t.Errorf("the feed is %+v", feed)
	}
	if other, _ := w.After(ctx, w.tenant+1, 0, 100); len(other) != 0 {
		t.Error("another tenant reads the feed")
	}
	now, err := w.Now(ctx)
	must(t, err)
	if n, err := w.TrimFeed(ctx, now+1, 1); err != nil || n != 1 {
		t.Errorf("trimming removed %d: %v", n, err)
	}
}

func testLists(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	o := w.attempt(ask{event: "L1", version: "1", to: 31, idempotency: "key"})
	w.settle(w.outcome(o, message.OutcomeAccepted, "ext-1"))
	w.settle(w.receipt("ext-1", -1, "en_route", 31))
	for _, v := range []string{"2", "3"} {
		w.taken(ask{event: "L1", version: v, to: 31})
	}
	w.taken(ask{event: "L2", version: "1", to: 32})
	m := w.state(o.Message, message.EnRoute)
	for name, c := range map[string]struct {
		f    store.MessageFilter
		want int
	}{
		"all":             {store.MessageFilter{}, 4},
		"destination":     {store.MessageFilter{Destination: number(31)}, 3},
		"event":           {store.MessageFilter{EventID: "L2"}, 1},
		"state":           {store.MessageFilter{States: []message.State{message.EnRoute}}, 1},
		"states":          {store.MessageFilter{States: []message.State{message.EnRoute, message.Pending}}, 4},
		"other states":    {store.MessageFilter{States: []message.State{message.Sending, message.Unknown}}, 0},
		"purpose":         {store.MessageFilter{Purpose: "brief"}, 0},
		"external id":     {store.MessageFilter{ExternalID: "ext-1"}, 1},
		"no external id":  {store.MessageFilter{ExternalID: "ext-2"}, 0},
		"intent key":      {store.MessageFilter{IntentKey: m.IntentKey}, 1},
		"idempotency key": {store.MessageFilter{IdempotencyKey: w.submission(ask{event: "L1", version: "1", idempotency: "key"}).Idempotency.Key}, 1},
		"time":            {store.MessageFilter{Until: m.CreatedAt}, 0},
		"several":         {store.MessageFilter{Destination: number(31), EventID: "L1", States: []message.State{message.Pending}, Purpose: "order", From: m.CreatedAt}, 2},
	} {
		got, err := w.Messages(ctx, w.tenant, c.f, store.Page{Limit: 10})
		must(t, err)
		if len(got) != c.want {
			t.Errorf("%s: %d messages, want %d", name, len(got), c.want)
		}
	}
	if other, err := w.Messages(ctx, w.tenant+1, store.MessageFilter{}, store.Page{Limit: 10}); err != nil || len(other) != 0 {
		t.Errorf("another tenant sees %d messages: %v", len(other), err)
	}
	testPages(t, w)
	receipts, err := w.Receipts(ctx, w.tenant, o.Message, store.Page{Limit: 10})
	must(t, err)
	if len(receipts) != 1 || receipts[0].Seq == 0 || receipts[0].ReceivedAt == 0 || string(receipts[0].Payload) != "sealed" {
		t.Errorf("the message's receipts are %+v", receipts)
	}
	if foreign, _ := w.Receipts(ctx, w.tenant+1, ident.Message{}, store.Page{Limit: 10}); len(foreign) != 0 {
		t.Error("another tenant reads receipts")
	}
}

// testPages walks through the messages in pages of one.
func testPages(t *testing.T, w *world) {
	t.Helper()
	seen, page := map[ident.Message]bool{}, store.Page{Limit: 1}
	for range 5 {
		got, err := w.Messages(context.Background(), w.tenant, store.MessageFilter{}, page)
		must(t, err)
		if len(got) == 0 {
			break
		}
		seen[got[0].ID] = true
		page.At, page.ID = got[0].CreatedAt, got[0].ID
	}
	if len(seen) != 4 {
		t.Errorf("pages showed %d messages, want 4", len(seen))
	}
}
