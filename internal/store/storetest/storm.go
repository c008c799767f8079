package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testStorm repeats one request far too often, over several batches, between other requests.
//
// covers: D7, D8, D14
func testStorm(t *testing.T, h Harness) {
	w := newWorld(t, h)
	loop := ask{event: "S-1", version: "1", to: 43}
	first := w.taken(loop)
	batch := func(n int) (kinds map[intent.Kind]int, ids map[ident.Decision]int) {
		subs := []store.Submission{w.submission(ask{event: "S-other-" + ident.NewMessage(w.tenant).String(), version: "1", to: 44})}
		for range n {
			subs = append(subs, w.submission(loop))
		}
		out, err := w.Decide(context.Background(), subs, intent.Decide)
		must(t, err)
		if out[0].Decision.Action != intent.Allow {
			t.Error("a storm on one key held back another")
		}
		kinds, ids = map[intent.Kind]int{}, map[ident.Decision]int{}
		for _, d := range out[1:] {
			if d.Decision.Message.ID != first || d.Decision.Action != intent.Suppress {
				t.Fatalf("a repeat was %s and named %s", d.Decision.Action, d.Decision.Message.ID)
			}
			kinds[d.Kind]++
			ids[d.Decision.ID]++
		}
		return kinds, ids
	}
	kinds, _ := batch(60)
	if kinds[intent.Decided] != 60 {
		t.Fatalf("the first repeats: %v", kinds)
	}
	kinds, ids := batch(200) // 40 of them are recorded, and the one that begins the run
	if kinds[intent.Decided] != intent.RunAbove-60+1 || kinds[intent.Counted] != 200-(intent.RunAbove-60)-1 {
		t.Fatalf("across the limit: %v", kinds)
	}
	run := ident.Decision{}
	for id, n := range ids {
		if n > 1 {
			run = id
		}
	}
	keyed := loop
	keyed.idempotency = "in a storm"
	if d := w.decide(keyed)[0]; d.Kind != intent.Decided || d.Decision.ID == run {
		t.Errorf("a repeat with an idempotency key: kind %d", d.Kind)
	}
	for range 4 {
		kinds, _ = batch(250)
	}
	if kinds[intent.Stormed] == 0 {
		t.Errorf("far beyond the limit: %v", kinds)
	}
	if d := w.decide(keyed)[0]; d.Kind != intent.Replayed {
		t.Errorf("a replay in the storm: kind %d", d.Kind)
	}
	stored, err := w.Store.Decision(context.Background(), w.tenant, run)
	must(t, err)
	if want := int64(60 + 200 - intent.RunAbove + 4*250); stored.Run == nil || stored.Run.Count != want || stored.Run.Last < stored.At {
		t.Errorf("the run: %+v, want %d repeats", stored.Run, want)
	}
	about, err := w.Decisions(context.Background(), w.tenant, first, store.Page{Limit: 500})
	must(t, err)
	if want := 1 + intent.RunAbove + 2; len(about) != want { // the message's own, those recorded, the run's, the keyed one's
		t.Errorf("%d decisions are stored, want %d", len(about), want)
	}
}

// testStormIsOver: the count of a message's repeats is not the next message's.
func testStormIsOver(t *testing.T, h Harness) {
	w := newWorld(t, h)
	loop := ask{event: "S-2", version: "1", to: 45, purpose: "brief"}
	attempt := w.attempt(loop)
	for range 3 {
		asks := make([]ask, 50)
		for i := range asks {
			asks[i] = loop
		}
		w.decide(asks...)
	}
	w.settle(w.outcome(attempt, message.OutcomeRejected, ""))
	w.advance(3 * time.Second)
	if d := w.decide(loop)[0]; d.Decision.Action != intent.Allow {
		t.Fatalf("after the window: %s", d.Decision.Action)
	}
	if d := w.decide(loop)[0]; d.Kind != intent.Decided || d.Decision.Action != intent.Suppress {
		t.Errorf("the first repeat of the next message: kind %d, %s", d.Kind, d.Decision.Action)
	}
}
