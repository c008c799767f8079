package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// purse is a prepaid tenant of a world, with a flow of its own.
type purse struct {
	*world
	id   ident.Partition
	flow int64
}

// prepaid makes a tenant that has paid so much in.
func (w *world) prepaid(name string, paid wallet.MicroUSD) *purse {
	w.t.Helper()
	ctx := context.Background()
	made, err := w.CreateTenant(ctx, store.Tenant{Name: name, Prepaid: true, CreatedBy: "ann"})
	must(w.t, err)
	p := &purse{world: w, id: made.ID}
	p.flow, err = w.EnsureFlow(ctx, store.FlowSpec{Connection: w.conn, Lane: 1, Tenant: p.id, Sender: "SHOP"})
	must(w.t, err)
	if paid > 0 {
		p.pay(paid, "first")
	}
	return p
}

func (p *purse) pay(amount wallet.MicroUSD, reference string) {
	p.t.Helper()
	_, _, err := p.Pay(context.Background(), store.Payment{ID: ident.NewTransfer(p.id), Tenant: p.id, Amount: amount, Reference: reference, Person: "ann", Reason: "paid in"})
	must(p.t, err)
}

// costing is an ask of the tenant at a price for each part.
func (p *purse) costing(price wallet.MicroUSD, a ask) ask {
	a.tenant, a.flow = p.id, p.flow
	change := a.change
	a.change = func(r *intent.Request) {
		r.Charge = intent.Charge{Asked: true, Offer: wallet.Offer{{PerPart: price}}}
		if change != nil {
			change(r)
		}
	}
	return a
}

// has asserts what the wallet holds, and that it is what its transfers and messages say.
func (p *purse) has(balance, held, spent wallet.MicroUSD) {
	p.t.Helper()
	v, err := p.Wallet(context.Background(), p.id)
	must(p.t, err)
	if v.Balance != balance || v.Held != held || v.Spent != spent {
		p.t.Errorf("balance %d, held %d, spent %d; want %d, %d, %d", v.Balance, v.Held, v.Spent, balance, held, spent)
	}
	p.proved()
}

// proved asserts that wallets, transfers and messages fit.
func (w *world) proved() store.WalletProof {
	w.t.Helper()
	proof, err := w.VerifyWallets(context.Background(), func(d store.WalletDifference) { w.t.Errorf("%+v", d) })
	must(w.t, err)
	return proof
}

// charges asserts the charges of a message, in the order of attempts and parts: "1.1 held, 1.2 released by house".
func (p *purse) charges(id ident.Message, want string) {
	p.t.Helper()
	all, err := p.Charged(context.Background(), p.id, store.Page{Limit: 100})
	must(p.t, err)
	got := "none"
	for _, m := range all {
		if m.Message != id {
			continue
		}
		got = ""
		for i, c := range m.Charges {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%d.%d %s", c.Attempt, c.Part.Part, c.State)
			if c.Payer == wallet.House {
				got += " by house"
			}
			if (c.SettledAt == 0) != (c.State == wallet.Held) || c.Amount != m.Price {
				p.t.Errorf("%+v at a price of %d", c, m.Price)
			}
		}
	}
	if got != want {
		p.t.Errorf("its charges are %s; want %s", got, want)
	}
}

// tells asserts what the events of a message say that it costs, held and settled.
func (p *purse) tells(id ident.Message, want string) {
	p.t.Helper()
	events, err := p.Events(context.Background(), p.id, id, 0, 100)
	must(p.t, err)
	var words []string
	for _, e := range events {
		word := string(e.Kind)
		if held, said := e.Detail["held_micro_usd"]; said {
			word += " " + held + "/" + e.Detail["settled_micro_usd"]
		}
		words = append(words, word)
	}
	if got := strings.Join(words, ", "); got != want {
		p.t.Errorf("its events tell %q, want %q", got, want)
	}
}

// sent takes a message of the tenant to open attempts.
func (p *purse) sent(a ask) []store.Opened {
	p.t.Helper()
	id := p.taken(a)
	opened := p.open(p.claim(10))
	if len(opened) == 0 || opened[0].Message != id {
		p.t.Fatalf("opened %+v, want %s", opened, id)
	}
	return opened
}

// testWalletHolds takes charges through their states: held by the decision, settled by an acceptance, released by a
// refusal, a cancellation and an end of validity.
//
// covers: M4, I10, I11
func testWalletHolds(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("shop", 1000)
	d := p.decide(p.costing(100, ask{event: "W-1", version: "1", to: 1, idempotency: "w1"}))[0].Decision
	if d.Action != intent.Allow || len(d.Guards) != 2 || d.Guards[0].Result != intent.GuardPass || d.Guards[1].Kind != intent.GuardFunds {
		t.Fatalf("%+v", d)
	}
	p.has(1000, 100, 0)
	p.charges(d.Message.ID, "1.1 held")
	// A replay and a duplicate use up nothing (D13).
	p.decide(p.costing(100, ask{event: "W-1", version: "1", to: 1, idempotency: "w1"}), p.costing(100, ask{event: "W-1", version: "1", to: 1}))
	p.has(1000, 100, 0)
	opened := p.open(p.claim(1))
	p.has(1000, 100, 0)
	p.settle(p.outcome(opened[0], message.OutcomeAccepted, "x1"))
	p.has(900, 0, 100)
	p.charges(d.Message.ID, "1.1 settled")
	p.tells(d.Message.ID, "taken 100/0, outcome 0/100")
	p.settle(p.receipt("x1", -1, "undelivered", 1)) // what becomes of it at the handset costs the same
	p.has(900, 0, 100)
	p.tells(d.Message.ID, "taken 100/0, outcome 0/100, receipt")

	rejected := p.sent(p.costing(100, ask{event: "W-2", version: "1", to: 1}))
	p.settle(p.outcome(rejected[0], message.OutcomeRejected, ""))
	p.charges(rejected[0].Message, "1.1 released")
	cancelled := p.taken(p.costing(100, ask{event: "W-3", version: "1", to: 1}))
	p.cancel(cancelled)
	p.charges(cancelled, "1.1 released")
	expired := p.taken(p.costing(100, ask{event: "W-4", version: "1", to: 1, validFor: 1}))
	p.has(900, 100, 100)
	p.settle(store.News{Evidence: evidence.Evidence{Kind: evidence.ValidityEnded, Message: expired}, Reference: -1})
	p.charges(expired, "1.1 released")
	p.has(900, 0, 100)
	// A dry run says what would be, and holds nothing.
	for price, want := range map[wallet.MicroUSD]intent.Action{900: intent.Allow, 901: intent.Refused} {
		dry, err := p.Preview(context.Background(), p.submission(p.costing(price, ask{event: "W-5", version: "1", to: 1})), intent.Decide)
		must(t, err)
		if dry.Decision.Action != want || len(dry.Decision.Guards) != 2 {
			t.Errorf("a dry run at %d: %+v", price, dry.Decision)
		}
	}
	p.has(900, 0, 100)
	// What does not fit is refused, and the request afterwards is decided as if that had not been.
	dear := p.decide(p.costing(901, ask{event: "W-5", version: "1", to: 1}))[0].Decision
	if dear.Action != intent.Refused || dear.Rule != "wallet.balance" || dear.Refusal().Kind != intent.GuardFunds {
		t.Errorf("%+v", dear)
	}
	p.has(900, 0, 100)
	if d := p.decide(p.costing(900, ask{event: "W-5", version: "1", to: 1}))[0].Decision; d.Action != intent.Allow {
		t.Errorf("%+v", d)
	}
	p.has(900, 900, 100)
}

// testWalletLimit spends up to the 20 dollars of a new tenant: held and settled together never go above them, whatever was
// paid in, and what was released may be spent again. Lifted by name, the limit is gone.
//
// covers: M4, I10
func testWalletLimit(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("fresh", 100*wallet.Dollar)
	const price = 6 * wallet.Dollar
	first := p.sent(p.costing(price, ask{event: "L-1", version: "1", to: 2}))
	p.settle(p.outcome(first[0], message.OutcomeAccepted, "l1"))
	ids := make([]ident.Message, 2)
	for i := range ids {
		ids[i] = p.taken(p.costing(price, ask{event: "L-2", version: fmt.Sprint(i), to: 2}))
	}
	p.has(94*wallet.Dollar, 12*wallet.Dollar, 6*wallet.Dollar)
	over := p.costing(price, ask{event: "L-3", version: "1", to: 2})
	refused := func() {
		t.Helper()
		if d := p.decide(over)[0].Decision; d.Action != intent.Refused || d.Rule != "wallet.exposure" || d.Refusal().Kind != intent.GuardLimit {
			t.Errorf("%+v", d)
		}
	}
	refused()
	p.cancel(ids[0])
	over.event = "L-4"
	if d := p.decide(over)[0].Decision; d.Action != intent.Allow {
		t.Errorf("after one was cancelled: %+v", d)
	}
	over.event = "L-5"
	refused()
	lifted, err := p.SetLimit(context.Background(), store.LimitChange{Tenant: p.id, Limit: new(wallet.Lifted), Person: "ann", Reason: "known for years"})
	must(t, err)
	if lifted.Limit != wallet.Lifted || lifted.LiftedBy != "ann" || lifted.LiftedAt == 0 {
		t.Errorf("%+v", lifted)
	}
	if d := p.decide(over)[0].Decision; d.Action != intent.Allow {
		t.Errorf("after the limit was lifted: %+v", d)
	}
	p.has(94*wallet.Dollar, 18*wallet.Dollar, 6*wallet.Dollar)
}

// testWalletOff decides for tenants without a wallet: nothing is written of money, with a price or without. A tenant with
// one is refused where there is no price, and what costs nothing is no charge.
//
// covers: M4
func testWalletOff(t *testing.T, h Harness) {
	w := newWorld(t, h)
	p := w.prepaid("prepaid", 1000)
	known := func(r *intent.Request) { r.Charge = intent.Charge{Asked: true, Offer: wallet.Offer{{PerPart: 5}}} }
	missing := func(r *intent.Request) { r.Charge = intent.Charge{Asked: true} }
	free := func(r *intent.Request) { r.Charge = intent.Charge{} }
	out := w.decide(
		ask{event: "O-1", version: "1", to: 3}, ask{event: "O-2", version: "1", to: 3, change: known}, ask{event: "O-3", version: "1", to: 3, change: missing},
		p.costing(0, ask{event: "O-4", version: "1", to: 3}), p.costing(7, ask{event: "O-5", version: "1", to: 3, change: free}), // of a key for tests
		p.costing(7, ask{event: "O-6", version: "1", to: 3, change: missing}),
	)
	for i, o := range out[:5] {
		if o.Decision.Action != intent.Allow || len(o.Decision.Guards) != 0 || o.Price != 0 {
			t.Errorf("request %d: %+v", i, o.Result)
		}
	}
	if d := out[5].Decision; d.Action != intent.Refused || d.Rule != "price.missing" || d.Refusal().Kind != intent.GuardFunds {
		t.Errorf("without a price: %+v", d)
	}
	p.has(1000, 0, 0)
	if proof := w.proved(); proof.Messages != 0 || proof.Transfers != 1 || proof.Wallets != 1 { // the payment
		t.Errorf("%+v", proof)
	}
}
