package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// tenth is n in make torture and a tenth of it otherwise.
func (h Harness) tenth(n int) int {
	if h.Full {
		return n
	}
	return n / 10
}

// testRacers lets 96 racers ask for each of 500 keys at once, fresh and again after the windows have ended: each
// time every key has exactly one owner.
//
// covers: D7, I2
func testRacers(t *testing.T, h Harness) {
	w := newWorld(t, h)
	keys, racers := h.tenth(500), 96
	first := w.race(keys, racers)
	w.settleAll(first)
	w.advance(4 * time.Second)
	second := w.race(keys, racers)
	for k, id := range second {
		if id == first[k] {
			t.Errorf("key %d was not taken over after its window had ended", k)
		}
	}
	w.noDeadlock()
}

// race runs the racers and returns the message of each key.
func (w *world) race(keys, racers int) map[int]ident.Message {
	w.t.Helper()
	var (
		mu     sync.Mutex
		owners = map[int]ident.Message{}
		wg     sync.WaitGroup
		start  = make(chan struct{})
	)
	for r := range racers {
		order := rand.New(rand.NewPCG(uint64(r), uint64(keys))).Perm(keys)
		wg.Go(func() {
			<-start
			for len(order) > 0 {
				n := min(len(order), 8)
				w.raceBatch(order[:n], &mu, owners)
				order = order[n:]
			}
		})
	}
	close(start)
	wg.Wait()
	if len(owners) != keys {
		w.t.Fatalf("%d keys have an owner, want %d", len(owners), keys)
	}
	return owners
}

func (w *world) raceBatch(keys []int, mu *sync.Mutex, owners map[int]ident.Message) {
	subs := make([]store.Submission, len(keys))
	for i, k := range keys {
		subs[i] = w.submission(ask{purpose: "brief", event: fmt.Sprintf("race-%d", k), to: k})
	}
	out, err := w.decideBusy(subs)
	if err != nil {
		w.t.Error(err)
		return
	}
	mu.Lock()
	defer mu.Unlock()
	for i, o := range out {
		id := o.Decision.Message.ID
		if have, ok := owners[keys[i]]; o.Err != nil || ok && have != id {
			w.t.Errorf("key %d: %v, message %s and before %s", keys[i], o.Err, id, have)
		}
		owners[keys[i]] = id
	}
}

// settleAll sends the messages and has them rejected, so that they are final.
func (w *world) settleAll(messages map[int]ident.Message) {
	w.t.Helper()
	for done := 0; done < len(messages); {
		opened := w.open(w.claim(256))
		if len(opened) == 0 {
			w.t.Fatalf("%d of %d messages could be sent", done, len(messages))
		}
		var news []store.News
		for _, o := range opened {
			news = append(news, w.outcome(o, message.OutcomeRejected, ""))
		}
		w.settle(news...)
		done += len(opened)
	}
}

// testPairs lets an outcome and its receipt come at the same moment, many times: none may miss the other.
//
// covers: R5
func testPairs(t *testing.T, h Harness) {
	w := newWorld(t, h)
	pairs := h.tenth(3000)
	var opened []store.Opened
	for len(opened) < pairs {
		var asks []ask
		for i := range min(250, pairs-len(opened)) {
			asks = append(asks, ask{event: "pair", version: fmt.Sprint(len(opened) + i), to: 40})
		}
		w.decide(asks...)
		opened = append(opened, w.open(w.claim(250))...)
	}
	start, work := make(chan struct{}), make(chan store.Opened, len(opened))
	for _, o := range opened {
		work <- o
	}
	close(work)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			<-start
			for o := range work {
				w.pair(o)
			}
		})
	}
	close(start)
	wg.Wait()
	for _, o := range opened {
		w.state(o.Message, message.Delivered)
	}
	w.exceptions()
}

func (w *world) pair(o store.Opened) {
	id := "p-" + o.Message.String()
	receipt := w.receipt(id, -1, "delivered", 40)
	var wg sync.WaitGroup
	for _, n := range []store.News{receipt, w.outcome(o, message.OutcomeAccepted, id)} {
		wg.Go(func() {
			if out, err := w.Settle(context.Background(), []store.News{n}, w.rules); err != nil || out[0].Err != nil {
				w.t.Errorf("%v %v", err, out)
			}
		})
	}
	wg.Wait()
}

// testHotRows runs all flows against each other on 50 messages: nothing may deadlock, and the history of each
// message stays whole.
//
// covers: I8
func testHotRows(t *testing.T, h Harness) {
	w := newWorld(t, h)
	const hot = 50
	rounds := h.tenth(400)
	var failed atomic.Int64
	check := func(err error) {
		if err != nil && fault.CodeOf(err) != fault.State {
			failed.Add(1)
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		rng := rand.New(rand.NewPCG(uint64(worker), 7))
		wg.Go(func() {
			for range rounds {
				if failed.Load() > 0 {
					return
				}
				check(w.hotRound(rng, hot))
			}
		})
	}
	wg.Wait()
	w.checkHistories()
	w.checkParts()
	w.noDeadlock()
}

// noDeadlock holds the lock order to its word: a batch that is made again after a deadlock is not lost, but
// there should be none.
func (w *world) noDeadlock() {
	w.t.Helper()
	if w.h.Deadlocks == nil {
		return
	}
	if n := w.h.Deadlocks(w.Store); n != 0 {
		w.t.Errorf("%d transactions were made again after a deadlock", n)
	}
}

// hotRound does one step of every flow on random hot messages.
func (w *world) hotRound(rng *rand.Rand, hot int) error {
	ctx := context.Background()
	var subs []store.Submission
	for range 6 {
		subs = append(subs, w.submission(w.hotAsk(rng, hot)))
	}
	decided, err := w.Decide(ctx, subs, intent.Decide)
	if err != nil {
		return err
	}
	for _, d := range decided {
		if d.Err != nil {
			return d.Err
		}
	}
	spec := w.claimSpec(8)
	spec.Rates = flow.Rates{"": time.Millisecond, "SHOP": time.Millisecond}
	got, err := w.Claim(ctx, spec)
	if err != nil {
		return err
	}
	claims := got.Taken
	opened, err := w.OpenAttempts(ctx, w.openSpec(), claims)
	if err != nil {
		return err
	}
	var news []store.News
	for _, o := range opened {
		id := fmt.Sprintf("hot-%d", rng.IntN(hot)) // ids that recycle
		kind := []message.Outcome{message.OutcomeAccepted, message.OutcomeRejected, message.OutcomeUnknown, message.OutcomeThrottled}[rng.IntN(4)]
		news = append(news, w.heldOutcome(o, kind, id), w.receipt(id, o.Reference, []string{"delivered", "undelivered", "en_route"}[rng.IntN(3)], 41))
		news = append(news, store.News{Evidence: evidence.Evidence{Kind: evidence.Cancel, Message: o.Message}, Reference: -1})
	}
	for _, kind := range []evidence.Kind{evidence.LeaseEnded, evidence.ValidityEnded, evidence.ReceiptTimeEnded} {
		if len(claims) > 0 { // none of these is true yet: the refusal locks all the same
			news = append(news, store.News{Evidence: evidence.Evidence{Kind: kind, Message: claims[rng.IntN(len(claims))].Message}, Reference: -1})
		}
	}
	rng.Shuffle(len(news), func(i, j int) { news[i], news[j] = news[j], news[i] })
	settled, err := w.Settle(ctx, news, w.rules)
	if err != nil {
		return err
	}
	for _, s := range settled {
		if s.Err != nil && fault.CodeOf(s.Err) != fault.State {
			return s.Err
		}
	}
	if err := w.hotRest(ctx, rng, spec.Rates, settled); err != nil {
		return err
	}
	if _, err := w.DestroyOwnKeys(ctx, 5); err != nil {
		return err
	}
	if err := w.drill(ctx); err != nil {
		return err
	}
	_, err = w.Sequence(ctx, 20)
	return err
}

// checkHistories holds every message against its events: dense numbers, steps of the table, and a state that
// is where the last event left it.
func (w *world) checkHistories() {
	w.t.Helper()
	ctx := context.Background()
	all, err := w.Messages(ctx, w.tenant, store.MessageFilter{}, store.Page{Limit: 1000})
	must(w.t, err)
	for _, m := range all {
		events, err := w.Events(ctx, w.tenant, m.ID, 0, 10000)
		must(w.t, err)
		state := message.State(0)
		for i, e := range events {
			if e.N != uint32(i+1) {
				w.t.Fatalf("%s: event %d has the number %d", m.ID, i+1, e.N)
			}
			claimed := state == message.Pending && e.From == message.Sending // a claim writes no event
			if e.From != state && !claimed {
				w.t.Fatalf("%s: event %d goes from %s, but the one before ended at %s", m.ID, e.N, e.From, state)
			}
			if e.From != 0 && e.From != e.To && !message.Allowed(e.From, e.To) {
				w.t.Fatalf("%s: event %d goes from %s to %s", m.ID, e.N, e.From, e.To)
			}
			state = e.To
		}
		if m.State != state && !(m.State == message.Sending && state == message.Pending) {
			w.t.Fatalf("%s is %s, and its events end at %s", m.ID, m.State, state)
		}
	}
}
