package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Backlog puts n pending messages into each flow, without all that a decision writes beside them.
type Backlog func(flows []int64, n int)

const backlog = 1_000_000

// BenchClaim measures claims while a million messages wait: of the campaign itself, of a code, beside a sender
// without credit, beside a stop, and beside a tenant with ten thousand flows.
func BenchClaim(b *testing.B, s store.Store, put Backlog) {
	ctx := context.Background()
	conn, _, err := s.EnsureConnection(ctx, "carrier", "")
	must(b, err)
	newFlow := func(lane int, tenant ident.Partition, sender, purpose string) int64 {
		id, err := s.EnsureFlow(ctx, store.FlowSpec{Connection: conn, Lane: lane, Tenant: tenant, Sender: sender, Purpose: purpose})
		must(b, err)
		return id
	}
	claim := func(b *testing.B, want int, spec store.ClaimSpec) {
		b.Helper()
		spec.Node, spec.Connection, spec.Lease = ident.NewNode(), conn, time.Hour
		got, err := s.Claim(ctx, spec)
		must(b, err)
		if len(got.Taken) != want {
			b.Fatalf("%d messages were claimed, want %d", len(got.Taken), want)
		}
	}
	sale, code, news := newFlow(4, 1, "SLOW", "sale"), newFlow(flow.Urgent, 2, "CODE", "login"), newFlow(4, 1, "NEWS", "news")
	put([]int64{sale}, backlog)
	b.Run("campaign", func(b *testing.B) {
		for b.Loop() {
			claim(b, 128, store.ClaimSpec{Room: room(128)})
		}
	})
	one := func(name string, of int64, spec store.ClaimSpec) {
		b.Run(name, func(b *testing.B) {
			put([]int64{of}, b.N+100) // more than the loop takes
			for range b.N {
				claim(b, 1, spec)
			}
		})
	}
	one("code", code, store.ClaimSpec{Room: flow.Room{All: 1}})
	one("beside a sender without credit", news, store.ClaimSpec{Room: room(1), Rates: flow.Rates{"SLOW": 1000 * time.Hour}})
	stop, _, err := s.PutStop(ctx, store.Stop{ID: ident.NewStop(1), Scope: flow.Scope{Purpose: "sale"}, Owner: 1})
	must(b, err)
	one("beside a stop", news, store.ClaimSpec{Room: room(1)})
	_, err = s.LiftStop(ctx, store.Lift{Stop: stop.ID, Owner: 1})
	must(b, err)
	var flows []int64
	for i := range 10_000 {
		flows = append(flows, newFlow(4, 3, fmt.Sprint("S", i), "sale"))
	}
	put(flows, 10)
	b.Run("beside ten thousand flows", func(b *testing.B) {
		turns := flow.Turns{}
		for b.Loop() {
			got, err := s.Claim(ctx, store.ClaimSpec{Node: ident.NewNode(), Connection: conn, Lease: time.Hour, Room: room(128), Turns: &turns})
			must(b, err)
			turns.Take(got.Turn)
		}
	})
}
