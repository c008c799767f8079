package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// BenchWallet measures batches of decisions that are paid for beside equal ones that are not, of one tenant and of sixteen.
// An operation is a batch of 256.
func BenchWallet(b *testing.B, s store.Store) {
	ctx := context.Background()
	conn, _, err := s.EnsureConnection(ctx, "carrier", "")
	must(b, err)
	_, err = s.PutPolicy(ctx, store.PolicyVersion{Name: "test", Version: 1, Source: []byte(policySource), By: "ann"}, policy.Succeed)
	must(b, err)
	to, err := phone.Parse(number(1), "")
	must(b, err)
	flow, err := s.EnsureFlow(ctx, store.FlowSpec{Connection: conn, Lane: 1, Tenant: 1, Sender: "SHOP"})
	must(b, err)
	var tenants []ident.Partition
	for i := range 16 {
		t, err := s.CreateTenant(ctx, store.Tenant{Name: fmt.Sprint("bench-", i), Prepaid: true})
		must(b, err)
		_, err = s.SetLimit(ctx, store.LimitChange{Tenant: t.ID, Limit: new(wallet.Lifted), Person: "ann", Reason: "bench"})
		must(b, err)
		_, _, err = s.Pay(ctx, store.Payment{ID: ident.NewTransfer(t.ID), Tenant: t.ID, Amount: wallet.Largest, Reference: "all"})
		must(b, err)
		tenants = append(tenants, t.ID)
	}
	order, n := purpose(b, "order"), 0
	decide := func(b *testing.B, of []ident.Partition, pays bool) {
		for b.Loop() {
			batch := make([]store.Submission, 256)
			for i := range batch {
				n++
				t := of[i%len(of)]
				r := &intent.Request{
					Decision: ident.NewDecision(t), Message: ident.NewMessage(t), Tenant: t, PolicyID: "test@1", Purpose: order, To: to,
					Event: intent.Event{Type: "order", ID: fmt.Sprint(n), Version: "1"}, Sender: "SHOP", ValidFor: time.Hour, Connection: conn,
					Text: message.Layout{Parts: 1}, Charge: intent.Charge{Asked: pays, Offer: wallet.Offer{{PerPart: 1}}},
				}
				r.MakeKeys("text", key)
				batch[i] = store.Submission{Request: r, Flow: flow, Content: []byte("sealed"), Caller: "key1"}
			}
			out, err := s.Decide(ctx, batch, intent.Decide)
			must(b, err)
			if out[255].Decision.Action != intent.Allow || (out[255].Price > 0) != pays {
				b.Fatalf("%+v", out[255])
			}
		}
	}
	for _, many := range []int{1, 16} {
		b.Run(fmt.Sprint("free/", many), func(b *testing.B) { decide(b, tenants[:many], false) })
		b.Run(fmt.Sprint("paid/", many), func(b *testing.B) { decide(b, tenants[:many], true) })
	}
}
