package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testWalletSpends lets 200 requests spend a balance for a hundred at once, on two nodes where there can be two: exactly a
// hundred are taken.
//
// covers: M4, I10
func testWalletSpends(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("rush", 100*7)
	const spends = 200
	nodes := []*world{p.world}
	if h.Again != nil {
		second := *p.world
		second.Store = h.Again(t, p.Store)
		nodes = append(nodes, &second)
	}
	var (
		taken, refused atomic.Int64
		wg             sync.WaitGroup
		start          = make(chan struct{})
	)
	for i := range spends {
		sub := p.submission(p.costing(7, ask{event: fmt.Sprintf("rush-%d", i), version: "1", to: i}))
		wg.Go(func() {
			<-start
			out, err := nodes[i%len(nodes)].decideBusy([]store.Submission{sub})
			switch {
			case err != nil || out[0].Err != nil:
				t.Error(err, out)
			case out[0].Decision.Action == intent.Allow:
				taken.Add(1)
			case out[0].Decision.Rule == "wallet.balance":
				refused.Add(1)
			}
		})
	}
	close(start)
	wg.Wait()
	if taken.Load() != 100 || refused.Load() != 100 {
		t.Errorf("%d were taken and %d refused", taken.Load(), refused.Load())
	}
	p.has(700, 700, 0)
	for _, n := range nodes {
		n.noDeadlock()
	}
}

// testWalletLostCommit loses a commit that charges, after the server heard of it and before: made again with the same ids,
// it charges once.
//
// covers: I10, I11
func testWalletLostCommit(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return // the embedded engine has no connection that could be lost
	}
	for _, committed := range []bool{true, false} {
		f := h.Fragile(t)
		p := worldOn(t, h, f).prepaid("lost", 1000)
		subs := []store.Submission{
			p.submission(p.costing(600, ask{event: "LW-1", version: "1", to: 1})),
			p.submission(p.costing(600, ask{event: "LW-2", version: "1", to: 1})),
		}
		f.Arm(committed)
		out, err := p.Decide(context.Background(), subs, intent.Decide)
		must(t, err)
		if f.Cut() != 1 {
			t.Fatal("no commit was broken: the test proves nothing")
		}
		if out[0].Decision.Action != intent.Allow || out[1].Decision.Action != intent.Refused || out[1].Decision.Rule != "wallet.balance" {
			t.Errorf("committed %t: %+v, %+v", committed, out[0].Decision, out[1].Decision)
		}
		p.has(1000, 600, 0)
		f.Arm(committed)
		p.pay(50, "lost")
		p.has(1050, 600, 0)
	}
}

// testWalletLostSettle loses the commit of an outcome: settled again, it is paid once.
//
// covers: I10
func testWalletLostSettle(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	for _, committed := range []bool{true, false} {
		f := h.Fragile(t)
		p := worldOn(t, h, f).prepaid("lost", 1000)
		o := p.sent(p.costing(100, ask{event: "LS-1", version: "1", to: 1}))[0]
		f.Arm(committed)
		p.settle(p.outcome(o, message.OutcomeAccepted, "ls1"))
		if f.Cut() != 1 {
			t.Fatal("no commit was broken: the test proves nothing")
		}
		p.has(900, 0, 100)
	}
}

// hotAsk is a request of a hot round: of a prepaid tenant where the world has some, now and then of the world's own.
func (w *world) hotAsk(rng *rand.Rand, hot int) ask {
	a := ask{event: fmt.Sprintf("hot-%d", rng.IntN(hot)), version: fmt.Sprint(rng.IntN(3)), to: 41, parts: 1 + rng.IntN(3)}
	if n := len(w.payers); n > 0 {
		if i := rng.IntN(n + 1); i < n {
			return w.payers[i].costing(1, a)
		}
	}
	return a
}

// testWalletHot runs all flows against each other on the messages of three prepaid tenants with little money, while
// somebody pays in: nothing deadlocks, and what wallets, transfers and messages say fits to the last.
//
// covers: M4, I10
func testWalletHot(t *testing.T, h Harness) {
	w := newWorld(t, h)
	for i := range 3 {
		w.payers = append(w.payers, w.prepaid(fmt.Sprintf("hot-%d", i), 40))
	}
	const hot = 50
	rounds := h.tenth(300)
	var failed atomic.Bool
	check := func(err error) {
		if err != nil && fault.CodeOf(err) != fault.State {
			failed.Store(true)
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		rng := rand.New(rand.NewPCG(uint64(worker), 21))
		wg.Go(func() {
			for round := range rounds {
				if failed.Load() {
					return
				}
				check(w.hotRound(rng, hot))
				p := w.payers[rng.IntN(len(w.payers))]
				_, _, err := w.Pay(context.Background(), store.Payment{
					ID: ident.NewTransfer(p.id), Tenant: p.id, Amount: wallet.MicroUSD(rng.IntN(12) + 1), Reference: fmt.Sprintf("%d/%d", worker, round),
				})
				check(err)
			}
		})
	}
	wg.Wait()
	w.noDeadlock()
	if proof := w.proved(); proof.Messages == 0 || proof.Transfers <= proof.Messages || proof.Wallets != 3 {
		t.Errorf("nothing was at stake: %+v", proof)
	}
}
