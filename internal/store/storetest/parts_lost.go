package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

// Receipts of parts are matched each by itself: one that is quicker than its answer, one that comes twice, one that
// contradicts.
//
// covers: R4, R5, R6, R10, I13
func testPartsReceipts(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("PS", 74)
	w.settle(w.heldOutcome(one, message.OutcomeAccepted, "ps-1"))
	more := w.wantOpened(w.open(rest(one, 9)), "[2.1 3.1]")
	if out := w.settle(w.receipt("ps-3", -1, "delivered", 74)); !out[0].Waiting {
		t.Fatalf("a receipt before its answer: %+v", out[0])
	}
	w.settle(w.outcome(more[0], message.OutcomeAccepted, "ps-2"), w.outcome(more[1], message.OutcomeAccepted, "ps-3"))
	m := w.state(one.Message, message.Accepted)
	if p := m.Progress(); p.Delivered != 1 || m.Attempts[2].Delivery != message.DeliveryDelivered {
		t.Errorf("%+v, %+v", p, m.Attempts)
	}
	if out := w.settle(w.receipt("ps-3", -1, "delivered", 74)); !out[0].Repeated || out[0].Case.Events[0].Part != 3 {
		t.Errorf("the same again: %+v", out[0])
	}
	w.settle(w.receipt("ps-1", -1, "delivered", 74), w.receipt("ps-2", -1, "delivered", 74))
	w.state(one.Message, message.Delivered)
	w.settle(w.receipt("ps-2", -1, "undelivered", 74))
	w.state(one.Message, message.Delivered)
	if x := w.exceptions("conflicting")[0]; x.Message != one.Message || x.Part != 2 || x.Attempt != 1 {
		t.Errorf("the exception names part %d of attempt %d", x.Part, x.Attempt)
	}
}

// A rate holds for parts as well: those that the claim has not paid for wait for credit.
//
// covers: D19
func testPartsKeepRates(t *testing.T, h Harness) {
	w := newWorld(t, h)
	one := w.firstOf("PP", 72)
	w.settle(w.heldOutcome(one, message.OutcomeAccepted, "pp-1"))
	spec := w.openSpec()
	spec.Rates = flow.Rates{"": time.Second}
	for _, want := range []string{"[2.1]", "[]"} {
		opened, err := w.OpenAttempts(context.Background(), spec, rest(one, 9))
		must(t, err)
		w.wantOpened(opened, want)
	}
	w.advance(1100 * time.Millisecond)
	opened, err := w.OpenAttempts(context.Background(), spec, rest(one, 9))
	must(t, err)
	w.wantOpened(opened, "[3.1]")
}

// hotRest opens the rest of long messages whose worker may go on, and has some of it answered.
func (w *world) hotRest(ctx context.Context, rng *rand.Rand, rates flow.Rates, settled []store.Settled) error {
	var claims []store.Claimed
	for _, s := range settled {
		if c := s.Case; s.Err == nil && c != nil && c.GoOn > 0 && c.State == message.Sending {
			claims = append(claims, store.Claimed{Message: c.Message, Flow: c.Flow, Fence: c.Fence, Most: c.GoOn})
		}
	}
	spec := w.openSpec()
	spec.Rates = rates
	opened, err := w.OpenAttempts(ctx, spec, claims)
	if err != nil {
		return err
	}
	var news []store.News
	for _, o := range opened {
		if kind := []message.Outcome{0, message.OutcomeAccepted, message.OutcomeThrottled, message.OutcomeUnknown}[rng.IntN(4)]; kind != 0 {
			news = append(news, w.heldOutcome(o, kind, o.Message.String()+fmt.Sprint(o.Part)))
		}
	}
	_, err = w.Settle(ctx, news, w.rules)
	return err
}

// checkParts: no part was accepted twice, and no fence has opened one twice.
func (w *world) checkParts() {
	w.t.Helper()
	all, err := w.Messages(context.Background(), w.tenant, store.MessageFilter{}, store.Page{Limit: 1000})
	must(w.t, err)
	long := 0
	for _, m := range all {
		accepted, opened := map[uint16]int{}, map[[2]int64]int{}
		for _, a := range m.Attempts {
			under := [2]int64{int64(a.Part), a.Fence}
			if opened[under]++; opened[under] > 1 {
				w.t.Errorf("part %d of %s was opened twice under fence %d", a.Part, m.ID, a.Fence)
			}
			if a.Outcome == message.OutcomeAccepted {
				accepted[a.Part]++
			}
			if accepted[a.Part] > 1 {
				w.t.Errorf("part %d of %s was accepted twice", a.Part, m.ID)
			}
		}
		if len(accepted) > 1 {
			long++
		}
	}
	if long == 0 {
		w.t.Error("no message went on with its rest: that was no test of it")
	}
}

// testPartsLostCommit loses the commit by which the rest of a message was opened: the call finds what it has opened,
// and only that. What another call under the same claim opened meanwhile is not taken for its own.
//
// covers: I3, I9
func testPartsLostCommit(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	for _, committed := range []bool{true, false} {
		f := h.Fragile(t)
		w := worldOn(t, h, f)
		one := w.firstOf("PK", 70)
		w.settle(w.heldOutcome(one, message.OutcomeAccepted, "pk-1"))
		two := w.wantOpened(w.open(rest(one, 1)), "[2.1]")[0]
		f.Arm(committed)
		three := w.wantOpened(w.open(rest(one, 9)), "[3.1]")[0]
		if f.Cut() != 1 {
			t.Fatal("no commit was broken: the test proves nothing")
		}
		m := w.state(one.Message, message.Sending)
		if len(m.Attempts) != 3 || m.Attempts[1].Reference != two.Reference || m.Attempts[2].Reference != three.Reference {
			t.Errorf("opened %+v, stored %+v", three, m.Attempts)
		}
		w.wantOpened(w.open(rest(one, 9)), "[]")
	}
	w := newPartsRace(t, h)
	theirs := w.wantOpened(w.other(), "[2.1 3.1]")
	w.release()
	if ours := <-w.ours; len(ours) != 0 {
		t.Fatalf("parts that another call has opened were opened again: %s after %s", numbers(ours), numbers(theirs))
	}
	if w.cut() != 1 {
		t.Fatal("no commit was broken: the test proves nothing")
	}
}

// partsRace is a call that opens parts, loses its transaction before it is committed, and waits to be let back.
type partsRace struct {
	*world
	other   func() []store.Opened // a call under the same claim, past the trouble
	ours    chan []store.Opened
	release func()
	cut     func() int
}

func newPartsRace(t *testing.T, h Harness) *partsRace {
	t.Helper()
	f := h.Fragile(t)
	r := &partsRace{world: worldOn(t, h, f), ours: make(chan []store.Opened, 1), cut: f.Cut}
	one := r.firstOf("PQ", 71)
	r.settle(r.heldOutcome(one, message.OutcomeAccepted, "pq-1"))
	f.Arm(false)
	r.release = f.Hold()
	go func() {
		opened, err := r.OpenAttempts(context.Background(), r.openSpec(), rest(one, 9))
		if err != nil {
			t.Error(err)
		}
		r.ours <- opened
	}()
	r.other = func() []store.Opened {
		for end := time.Now().Add(time.Second); f.Cut() == 0 && time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		}
		past := *r.world
		past.Store = f.Direct
		return past.open(rest(one, 9))
	}
	return r
}
