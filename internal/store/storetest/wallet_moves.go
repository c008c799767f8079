package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testWalletLongText pays part by part: each is settled with its own answer, and those that will never be sent are
// released when that is known.
//
// covers: M4, I10
func testWalletLongText(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("long", 1000)
	first := p.sent(p.costing(10, ask{event: "P-1", version: "1", to: 5, parts: 3}))[0]
	p.has(1000, 30, 0)
	p.charges(first.Message, "1.1 held, 1.2 held, 1.3 held")
	p.settle(p.heldOutcome(first, message.OutcomeAccepted, "p1"))
	p.charges(first.Message, "1.1 settled, 1.2 held, 1.3 held")
	second := p.open(rest(first, 1))
	p.settle(p.heldOutcome(second[0], message.OutcomeRejected, ""))
	p.state(first.Message, message.Failed)
	p.charges(first.Message, "1.1 settled, 1.2 released, 1.3 released")
	p.tells(first.Message, "taken 30/0, outcome 20/10, outcome 0/10")
	p.has(990, 0, 10)
	// The rest of a text whose first part has no answer waits for it, and its money with it.
	gated := p.sent(p.costing(10, ask{event: "P-2", version: "1", to: 5, parts: 2}))[0]
	p.settle(p.outcome(gated, message.OutcomeUnknown, ""))
	p.charges(gated.Message, "1.1 held, 1.2 held")
	late := p.outcome(gated, message.OutcomeAccepted, "p2")
	late.Late = true
	p.settle(late)
	p.charges(gated.Message, "1.1 settled, 1.2 held")
	p.has(980, 10, 20)
}

// testWalletUnknownKeeps keeps what an attempt costs while nobody knows whether it was sent, after the message is final
// too, until evidence comes.
//
// covers: M4, I10
func testWalletUnknownKeeps(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("patient", 1000)
	o := p.sent(p.costing(100, ask{event: "U-1", version: "1", to: 6}))[0]
	never := p.sent(p.costing(100, ask{event: "U-2", version: "1", to: 6, parts: 2}))[0]
	p.settle(p.outcome(o, message.OutcomeUnknown, ""), p.outcome(never, message.OutcomeUnknown, ""))
	p.has(1000, 300, 0)
	p.age(p.receiptTime(o.Message))
	p.close(o.Message)
	p.close(never.Message)
	if m := p.state(o.Message, message.Unknown); !m.Final {
		t.Fatal("the message is not final")
	}
	p.charges(o.Message, "1.1 held")
	p.charges(never.Message, "1.1 held, 1.2 released") // what waited for the first part will not be sent any more
	p.has(1000, 200, 0)
	for _, of := range []struct {
		store.Opened
		message.Outcome
		want string
	}{{o, message.OutcomeAccepted, "1.1 settled"}, {never, message.OutcomeRejected, "1.1 released, 1.2 released"}} {
		late := p.outcome(of.Opened, of.Outcome, "")
		late.Late = true
		if of.Outcome == message.OutcomeAccepted {
			late.ExternalID = []byte("u1")
		}
		p.settle(late)
		p.charges(of.Message, of.want)
	}
	p.has(900, 0, 100)
}

// testWalletThrottle releases the charge of an attempt that the provider did not take and holds that of the next in the
// same transaction: a wallet that is empty bears it.
//
// covers: M4, I10
func testWalletThrottle(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("empty", 100)
	o := p.sent(p.costing(100, ask{event: "T-1", version: "1", to: 7}))[0]
	p.settle(p.outcome(o, message.OutcomeThrottled, ""))
	p.charges(o.Message, "1.1 released, 2.1 held")
	p.has(100, 100, 0)
	p.advance(3 * time.Second) // longer than the pause
	again := p.open(p.claim(1))
	if len(again) != 1 || again[0].Attempt != 2 {
		t.Fatalf("opened %+v", again)
	}
	p.settle(p.outcome(again[0], message.OutcomeAccepted, "t2"))
	p.charges(o.Message, "1.1 released, 2.1 settled")
	p.has(0, 0, 100)
	cancelled := p.prepaidAgain("T-2")
	p.settle(p.outcome(cancelled, message.OutcomeNotSent, ""))
	p.cancel(cancelled.Message)
	p.charges(cancelled.Message, "1.1 released, 2.1 released")
	p.has(100, 0, 100)
}

// prepaidAgain pays a hundred in and opens an attempt that costs them.
func (p *purse) prepaidAgain(event string) store.Opened {
	p.t.Helper()
	p.pay(100, event)
	return p.sent(p.costing(100, ask{event: event, version: "1", to: 7}))[0]
}

// wronged is an attempt that was refused, and of which a late answer says that it was taken: a person is asked.
func (p *purse) wronged(event string) (store.Opened, *store.ExceptionView) {
	p.t.Helper()
	o := p.sent(p.costing(100, ask{event: event, version: "1", to: 8}))[0]
	p.settle(p.outcome(o, message.OutcomeRejected, ""))
	late := p.outcome(o, message.OutcomeAccepted, event)
	late.Late = true
	p.settle(late)
	p.charges(o.Message, "1.1 released") // what nobody has decided moves no money
	all, err := p.Exceptions(context.Background(), p.id, store.ExceptionFilter{About: o.Message}, store.Page{Limit: 10})
	must(p.t, err)
	if len(all) != 1 || all[0].Kind != exception.Conflicting {
		p.t.Fatalf("the exceptions are %+v", all)
	}
	return o, all[0]
}

// testWalletCorrected moves a charge that was final with its attempt, when a person says so, and with funds the tenant
// pays.
//
// covers: M4, I10, R6
func testWalletCorrected(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("corrected", 100)
	o, x := p.wronged("C-1")
	if out := p.resolve(x, exception.Attach, exception.Part{}); out.Err != nil {
		t.Fatal(out.Err)
	}
	p.charges(o.Message, "1.1 settled")
	p.has(0, 0, 100)
}

// testWalletHouse corrects a charge for which nothing is left: what was sent was sent, so the house pays, and neither the
// floor nor the limit is crossed.
//
// covers: M4, I10
func testWalletHouse(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("broke", 100)
	o, x := p.wronged("H-1")
	other := p.sent(p.costing(100, ask{event: "H-2", version: "1", to: 8}))[0]
	p.has(100, 100, 0)
	if out := p.resolve(x, exception.Attach, exception.Part{}); out.Err != nil {
		t.Fatal(out.Err)
	}
	p.charges(o.Message, "1.1 settled by house")
	p.settle(p.outcome(other, message.OutcomeAccepted, "h2"))
	p.has(0, 0, 100)
	all, err := p.Charged(context.Background(), p.id, store.Page{Limit: 10})
	must(t, err)
	for _, m := range all {
		if want := map[bool]store.Cost{true: {}, false: {Settled: 100}}[m.Message == o.Message]; store.CostOf(m.Charges) != want {
			t.Errorf("%s costs its tenant %+v, want %+v", m.Message, store.CostOf(m.Charges), want)
		}
	}
}

// testWalletPayments stores payments once by their reference, and takes back no more than there is.
//
// covers: M4, I10
func testWalletPayments(t *testing.T, h Harness) {
	w := newWorld(t, h)
	p, ctx := w.prepaid("payer", 0), context.Background()
	pay := func(amount wallet.MicroUSD, reference string) (store.Payment, bool, error) {
		return w.Pay(ctx, store.Payment{ID: ident.NewTransfer(p.id), Tenant: p.id, Amount: amount, Reference: reference, Person: "ann", Reason: "invoice 7"})
	}
	first, made, err := pay(500, "inv-7")
	must(t, err)
	if !made || first.At == 0 {
		t.Errorf("%t %+v", made, first)
	}
	again, made, err := pay(500, "inv-7")
	must(t, err)
	if made || again != first {
		t.Errorf("the same reference again: %t %+v", made, again)
	}
	if _, _, err := pay(501, "inv-7"); fault.CodeOf(err) != fault.State {
		t.Errorf("another amount: %v", err)
	}
	p.has(500, 0, 0)
	p.taken(p.costing(300, ask{event: "Y-1", version: "1", to: 9}))
	if _, _, err := pay(-201, "back"); fault.CodeOf(err) != fault.State {
		t.Errorf("more than is available was taken back: %v", err)
	}
	_, made, err = pay(-200, "back")
	must(t, err)
	p.has(300, 300, 0)
	page, err := w.Payments(ctx, p.id, store.Page{Limit: 1})
	must(t, err)
	next, err := w.Payments(ctx, p.id, store.Page{Limit: 5, At: page[0].At, ID: page[0].ID})
	must(t, err)
	if !made || len(page) != 1 || page[0].Amount != -200 || len(next) != 1 || next[0] != first {
		t.Errorf("%+v, then %+v", page, next)
	}
	if _, _, err := w.Pay(ctx, store.Payment{ID: ident.NewTransfer(w.tenant), Tenant: w.tenant, Amount: 1, Reference: "x"}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a tenant without a wallet was paid for: %v", err)
	}
	if other, err := w.Payments(ctx, w.tenant, store.Page{Limit: 5}); err != nil || len(other) != 0 {
		t.Errorf("another tenant's payments: %v %+v", err, other)
	}
}

// testWalletSetLimit lowers a limit no further than to what is spent and held.
//
// covers: M4
func testWalletSetLimit(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("limited", 1000)
	p.taken(p.costing(300, ask{event: "S-1", version: "1", to: 10}))
	set := func(limit wallet.MicroUSD) (store.WalletView, error) {
		return p.SetLimit(context.Background(), store.LimitChange{Tenant: p.id, Limit: &limit, Person: "bob", Reason: "asked"})
	}
	if _, err := set(299); fault.CodeOf(err) != fault.State {
		t.Errorf("below what is held: %v", err)
	}
	first, err := set(300)
	must(t, err)
	again, err := set(300)
	must(t, err)
	if first.Limit != 300 || first.LiftedBy != "bob" || again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	if d := p.decide(p.costing(1, ask{event: "S-2", version: "1", to: 10}))[0].Decision; d.Action != intent.Refused || d.Rule != "wallet.exposure" {
		t.Errorf("%+v", d)
	}
	p.has(1000, 300, 0)
}

// testPrices keeps a list as it was set, and tells nodes of it.
//
// covers: X5
func testPrices(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	before, err := w.ControlVersion(ctx)
	must(t, err)
	must(t, w.SetPrices(ctx, []wallet.Price{{Prefix: "49", PerPart: 75_000, From: 5}, {Tenant: 7, Prefix: "", PerPart: 0, From: 5}, {Prefix: "1", PerPart: 9_000}}))
	must(t, w.SetPrices(ctx, []wallet.Price{{Prefix: "49", PerPart: 80_000, From: 6}, {Prefix: "49", PerPart: 75_000, From: 5}, {Prefix: "1", PerPart: 9_000}}))
	got, err := w.Prices(ctx)
	must(t, err)
	now, err := w.Now(ctx)
	must(t, err)
	if len(got) != 3 || got[1] != (wallet.Price{Prefix: "49", PerPart: 75_000, From: 5}) || got[2].From != 6 || got[0].From == 0 || got[0].From > now {
		t.Errorf("%+v", got)
	}
	if after, err := w.ControlVersion(ctx); err != nil || after != before+2 {
		t.Errorf("the count went from %d to %d: %v", before, after, err)
	}
}

// testWalletRebuilt moves money with what a receipt that is read again proves: an attempt that was settled by another's
// receipt is unknown again, and its money held.
//
// covers: M4, I10, R9
func testWalletRebuilt(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("rebuilt", 200)
	lost := p.sent(p.costing(100, ask{event: "B-1", version: "1", to: 9}))[0]
	other := p.sent(p.costing(100, ask{event: "B-2", version: "1", to: 9}))[0]
	p.settle(p.outcome(lost, message.OutcomeUnknown, ""), p.outcome(other, message.OutcomeAccepted, "M10"))
	p.has(100, 100, 100)
	n := p.receipt("M1", lost.Reference, "delivered", 9)
	p.settle(n)
	p.charges(lost.Message, "1.1 settled")
	p.has(0, 0, 200)
	r, err := p.Receipt(context.Background(), p.id, n.Receipt.ID)
	must(t, err)
	r.ExternalID, r.Reference, r.EventKey = []byte("M10"), -1, key([]byte("M10 delivered"))
	p.effect(mended, r, store.RereadApplied, true)
	p.state(lost.Message, message.Unknown)
	p.charges(lost.Message, "1.1 held")
	p.has(100, 100, 100)
}
