package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// walletOp is one thing that a client does to a wallet.
type walletOp struct {
	Purse ident.Partition
	Kind  walletOpKind
	Paid  wallet.MicroUSD
}

type walletOpKind uint8

const (
	opSpend   walletOpKind = iota // output: whether it was taken
	opRelease                     // one that was taken is cancelled; output: whether that came in time
	opSettle                      // one that was taken is sent: what is available stays as it is
	opPay
	opRead // output: what is available
)

// walletModel is a wallet as one thread would see it: what is available. Every message costs one.
var walletModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		of := map[ident.Partition][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(walletOp).Purse
			of[id] = append(of[id], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range of {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return wallet.MicroUSD(0) },
	Step: func(state, input, output any) (bool, any) {
		available, op := state.(wallet.MicroUSD), input.(walletOp)
		switch op.Kind {
		case opSpend:
			if available == 0 {
				return !output.(bool), available
			}
			return output.(bool), available - 1
		case opRelease:
			if output.(bool) {
				available++
			}
			return true, available
		case opPay:
			return true, available + op.Paid
		case opRead:
			return output.(wallet.MicroUSD) == available, available
		}
		return true, available
	},
}

// walletClient plays one client, and notes what it saw.
type walletClient struct {
	*purse
	id   int
	rng  *rand.Rand
	note func(op porcupine.Operation)
	now  func() int64
	mine []ident.Message // taken, and not cancelled by this client yet
}

// did notes one operation, which is over now.
func (c *walletClient) did(kind walletOpKind, paid wallet.MicroUSD, client int, call int64, output any) {
	c.note(porcupine.Operation{ClientId: client, Input: walletOp{c.purse.id, kind, paid}, Call: call, Output: output, Return: c.now()})
}

// step does one thing.
func (c *walletClient) step(n int) {
	call := c.now()
	switch kind := c.rng.IntN(10); {
	case kind < 5:
		c.spend(n, 1+c.rng.IntN(3))
	case kind < 7 && len(c.mine) > 0:
		c.release()
	case kind < 8:
		paid := wallet.MicroUSD(1 + c.rng.IntN(2))
		c.pay(paid, fmt.Sprintf("%d/%d", c.id, n))
		c.did(opPay, paid, c.id, call, nil)
	case kind < 9:
		c.accept()
		c.did(opSettle, 0, c.id, call, nil)
	default:
		v, err := c.Wallet(context.Background(), c.purse.id)
		if err != nil {
			c.t.Error(err)
		}
		c.did(opRead, 0, c.id, call, v.Available())
	}
}

// spend asks for messages. Several in one call are an operation each, all at the same time.
func (c *walletClient) spend(n, together int) {
	subs := make([]store.Submission, together)
	for i := range subs {
		subs[i] = c.submission(c.costing(1, ask{event: fmt.Sprintf("lin-%d", c.id), version: fmt.Sprintf("%d.%d", n, i), to: 1}))
	}
	call := c.now()
	out, err := c.decideBusy(subs)
	if err != nil {
		c.t.Error(err)
		return
	}
	for i, d := range out {
		taken := d.Err == nil && d.Decision.Action == intent.Allow
		c.did(opSpend, 0, c.id*10+i+100, call, taken)
		if taken {
			c.mine = append(c.mine, subs[i].Message)
		}
	}
}

// release cancels one of its messages, unless it has left.
func (c *walletClient) release() {
	id := c.mine[0]
	c.mine = c.mine[1:]
	call := c.now()
	out, err := c.Settle(context.Background(), []store.News{{Evidence: evidence.Evidence{Kind: evidence.Cancel, Message: id}, Reference: -1}}, c.rules)
	if err != nil || out[0].Err != nil && fault.CodeOf(out[0].Err) != fault.State {
		c.t.Error(err, out)
		return
	}
	c.did(opRelease, 0, c.id, call, out[0].Err == nil)
}

// accept sends what waits, whoever asked for it.
func (c *walletClient) accept() {
	ctx := context.Background()
	got, err := c.Claim(ctx, c.claimSpec(2))
	if err != nil {
		c.t.Error(err)
		return
	}
	opened, err := c.OpenAttempts(ctx, c.openSpec(), got.Taken)
	var news []store.News
	for _, o := range opened {
		news = append(news, c.outcome(o, message.OutcomeAccepted, o.Message.String()))
	}
	if err == nil {
		_, err = c.Settle(ctx, news, c.rules)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// testWalletLinearizable lets clients spend, cancel, send, pay in and look, and holds what they saw against the model.
//
// covers: M4, I10
func testWalletLinearizable(t *testing.T, h Harness) {
	w := newWorld(t, h)
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		wg      sync.WaitGroup
		began   = time.Now()
		purses  = []*purse{w.prepaid("lin-0", 0), w.prepaid("lin-1", 0)}
	)
	for client := range 8 {
		c := &walletClient{purse: purses[client%2], id: client, rng: rand.New(rand.NewPCG(uint64(client), 31))}
		c.now = func() int64 { return time.Since(began).Nanoseconds() }
		c.note = func(op porcupine.Operation) {
			mu.Lock()
			defer mu.Unlock()
			history = append(history, op)
		}
		wg.Go(func() {
			for n := range h.tenth(400) {
				c.step(n)
			}
		})
	}
	wg.Wait()
	if result := porcupine.CheckOperationsTimeout(walletModel, history, time.Minute); result != porcupine.Ok {
		t.Fatalf("what %d operations saw is %s for one wallet", len(history), result)
	}
	w.noDeadlock()
	w.proved()
}
