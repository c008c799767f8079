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
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// registerOp is one thing that a client does to a key: it asks for it, or ends the window of its holder.
type registerOp struct {
	Key string
	Ask ident.Message // the message that would hold the key; zero: end the window of Holder
	End ident.Message
}

// registerModel is the register as one thread would see it. A key's state is its holder and whether the
// holder's window is open; the answer to an ask is who holds the key then.
var registerModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			k := op.Input.(registerOp).Key
			byKey[k] = append(byKey[k], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return ident.Message{} }, // nobody holds it
	Step: func(state, input, output any) (bool, any) {
		holder, op := state.(ident.Message), input.(registerOp)
		switch {
		case op.Ask.IsZero() && holder == op.End:
			return true, ident.Message{}
		case op.Ask.IsZero():
			return true, holder
		case holder.IsZero():
			return output.(ident.Message) == op.Ask, op.Ask
		}
		return output.(ident.Message) == holder, holder
	},
}

// testLinearizable lets clients ask for a few keys and end each other's windows, and holds what they saw
// against the model.
//
// covers: D7, I2
func testLinearizable(t *testing.T, h Harness) {
	w := newWorld(t, h)
	const clients, keys = 8, 4
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		wg      sync.WaitGroup
		began   = time.Now()
	)
	record := func(client int, op registerOp, do func() any) {
		call := time.Since(began).Nanoseconds()
		output := do()
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{ClientId: client, Input: op, Call: call, Output: output, Return: time.Since(began).Nanoseconds()})
	}
	for client := range clients {
		rng := rand.New(rand.NewPCG(uint64(client), 11))
		wg.Go(func() {
			for range h.tenth(300) {
				key := fmt.Sprintf("linear-%d", rng.IntN(keys))
				sub := w.submission(ask{event: key, version: "1", to: 60})
				var held ident.Message
				record(client, registerOp{Key: key, Ask: sub.Message}, func() any {
					out, err := w.Decide(context.Background(), []store.Submission{sub}, intent.Decide)
					if err != nil || out[0].Err != nil {
						t.Error(err, out)
						return ident.Message{}
					}
					held = out[0].Decision.Message.ID
					return held
				})
				if held == sub.Message && rng.IntN(2) == 0 {
					record(client, registerOp{Key: key, End: held}, func() any { w.cancel(held); return nil })
				}
			}
		})
	}
	wg.Wait()
	if result := porcupine.CheckOperationsTimeout(registerModel, history, time.Minute); result != porcupine.Ok {
		t.Fatalf("what %d operations saw is %s for one register", len(history), result)
	}
}

// cancel takes a pending message out of its window, which holds no cancelled ones.
func (w *world) cancel(id ident.Message) {
	out, err := w.Settle(context.Background(), []store.News{{Evidence: evidence.Evidence{Kind: evidence.Cancel, Message: id}, Reference: -1}}, w.rules)
	if err != nil || out[0].Err != nil {
		w.t.Error(err, out)
	}
}
