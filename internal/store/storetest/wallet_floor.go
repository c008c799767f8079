package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testWalletFloor lets a tenant spend what it has less its floor: below 0 that is credit, above 0 a reserve. A floor is no
// higher than what is left, and is set beside the limit or alone.
//
// covers: M4, I10
func testWalletFloor(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("floored", 100)
	ctx := context.Background()
	n := 0
	spends := func(price wallet.MicroUSD, want intent.Action) {
		t.Helper()
		n++
		if d := p.decide(p.costing(price, ask{event: fmt.Sprint("F-", n), version: "1", to: 10}))[0].Decision; d.Action != want || want == intent.Refused && d.Rule != "wallet.balance" {
			t.Errorf("%d: %+v", price, d)
		}
	}
	set := func(l store.LimitChange) store.WalletView {
		t.Helper()
		l.Tenant, l.Person, l.Reason = p.id, "bob", "contract"
		v, err := p.SetLimit(ctx, l)
		must(t, err)
		return v
	}
	if v := set(store.LimitChange{Floor: new(wallet.MicroUSD(40))}); v.Floor != 40 || v.Limit != wallet.NewTenantLimit || v.Available() != 60 || v.LiftedBy != "bob" || v.LiftedAt == 0 {
		t.Errorf("a reserve: %+v", v)
	}
	spends(61, intent.Refused)
	spends(60, intent.Allow)
	spends(1, intent.Refused)
	if _, err := p.SetLimit(ctx, store.LimitChange{Tenant: p.id, Floor: new(wallet.MicroUSD(41)), Person: "bob", Reason: "more"}); err == nil || fault.CodeOf(err) != fault.State {
		t.Errorf("a floor above what is left: %v", err)
	}
	if _, _, err := p.Pay(ctx, store.Payment{ID: ident.NewTransfer(p.id), Tenant: p.id, Amount: -1, Reference: "back"}); err == nil || fault.CodeOf(err) != fault.State {
		t.Errorf("a reserve was taken back: %v", err)
	}
	first := set(store.LimitChange{Floor: new(wallet.MicroUSD(-50)), Limit: new(wallet.Lifted)})
	if again := set(store.LimitChange{Floor: new(wallet.MicroUSD(-50)), Limit: new(wallet.Lifted)}); again != first || first.Floor != -50 || first.Limit != wallet.Lifted {
		t.Errorf("%+v, then %+v", first, again)
	}
	spends(91, intent.Refused)
	spends(90, intent.Allow)
	p.has(100, 150, 0)
	if v := set(store.LimitChange{Limit: new(wallet.MicroUSD(150))}); v.Floor != -50 || v.Limit != 150 {
		t.Errorf("the limit alone: %+v", v)
	}
	p.has(100, 150, 0)
}
