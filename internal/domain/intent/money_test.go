package intent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// payer is a request of tenant 1 at a price for each of its parts.
func payer(event string, price wallet.MicroUSD, parts int) *Request {
	return seal(&Request{
		Tenant: 1, Purpose: purposes[0], To: number("+12025550143"), Event: Event{ID: event, Version: "1"}, Sender: "s",
		Charge: Charge{Asked: true, Offer: wallet.Offer{{PerPart: price}}}, Text: message.Layout{Parts: parts},
	}, "text")
}

// withWallet are facts of a world in which tenant 1 has a wallet.
func withWallet(w *world, have wallet.Wallet) (*Facts, *wallet.Wallet) {
	f := w.facts()
	f.Wallets = map[ident.Partition]*wallet.Wallet{1: &have}
	return f, f.Wallets[1]
}

// A batch sees what the requests before took: what does not fit any more is refused, and what is cheaper still is not.
//
// covers: M4, D13
func TestABatchSpendsOneWallet(t *testing.T) {
	f, have := withWallet(newWorld(), wallet.Wallet{Balance: 100, Limit: wallet.NewTenantLimit})
	for i, want := range []struct {
		price wallet.MicroUSD
		parts int
		rule  string // that refuses; "": none
	}{{30, 2, ""}, {50, 1, ruleBalance}, {20, 2, ""}, {1, 1, ruleBalance}, {0, 1, ""}} {
		res := Decide(payer(fmt.Sprint(i), want.price, want.parts), f)
		if want.rule == "" {
			if res.Decision.Action != Allow || res.Price != want.price {
				t.Errorf("request %d: %+v", i, res)
			}
			continue
		}
		if by := res.Decision.Refusal(); by == nil || by.Rule != want.rule || by.Kind != GuardFunds || res.Price != 0 || !res.Decision.ByWallet() {
			t.Errorf("request %d: %+v", i, res)
		}
	}
	if have.Held != 100 || have.Available() != 0 {
		t.Errorf("%+v", have)
	}
}

// The limit comes before the funds, and both say what it costs and what there is.
//
// covers: M4, D4
func TestWhatMoneyGuardsSay(t *testing.T) {
	for _, c := range []struct {
		have  wallet.Wallet
		known bool
		rule  string
		kind  GuardKind
		words []string
	}{
		{wallet.Wallet{Balance: 10, Limit: 50_000, Spent: 49_999}, true, ruleExposure, GuardLimit, []string{"costs 0.025 USD (2 parts at 0.0125 USD)", "0.049999 USD are spent or held", "may spend 0.05 USD"}},
		{wallet.Wallet{Balance: 30_000, Held: 10_000, Limit: wallet.Lifted}, true, ruleBalance, GuardFunds, []string{"costs 0.025 USD", "0.02 USD are available"}},
		{wallet.Wallet{Balance: 30_000, Limit: wallet.Lifted}, false, rulePrice, GuardFunds, []string{"no price for this destination"}},
	} {
		f, _ := withWallet(newWorld(), c.have)
		r := payer("a", 12_500, 2)
		if !c.known {
			r.Charge.Offer = nil
		}
		d := Decide(r, f).Decision
		by := d.Refusal()
		if by == nil || by.Rule != c.rule || by.Kind != c.kind {
			t.Fatalf("%+v", d)
		}
		for _, words := range c.words {
			if !strings.Contains(d.Explanation, words) {
				t.Errorf("no %q in: %s", words, d.Explanation)
			}
		}
	}
}

// Who has no wallet pays nothing, priced or not, and neither does a request for which nothing is asked.
//
// covers: M4
func TestWithoutAWalletNothingIsPaid(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"another tenant":  func(r *Request) { r.Tenant = 2 },
		"nothing is paid": func(r *Request) { r.Charge = Charge{} },
		"no price":        func(r *Request) { r.Tenant, r.Charge = 2, Charge{Asked: true} },
	} {
		f, have := withWallet(newWorld(), wallet.New())
		r := payer("a", 5, 1)
		change(r)
		if res := Decide(r, f); res.Decision.Action != Allow || res.Price != 0 || len(res.Decision.Guards) != 0 || *have != wallet.New() {
			t.Errorf("%s: %+v, %+v", name, res, have)
		}
	}
}

// A price begins by the clock that decides, which is the store's: the same request costs the former price a moment before,
// and is refused where none has begun.
//
// covers: M4, I18
func TestAPriceBeginsByTheClockThatDecides(t *testing.T) {
	for _, c := range []struct {
		now   clock.Micros
		price wallet.MicroUSD
		rule  string
	}{{99, 0, rulePrice}, {100, 5, ""}, {199, 5, ""}, {200, 7, ""}} {
		f, have := withWallet(newWorld(), wallet.Wallet{Balance: 100, Limit: wallet.Lifted})
		f.Now = c.now
		r := payer("a", 0, 2)
		r.Charge.Offer = wallet.Offer{{PerPart: 7, From: 200}, {PerPart: 5, From: 100}}
		res := Decide(r, f)
		rule := ""
		if by := res.Decision.Refusal(); by != nil {
			rule = by.Rule
		}
		if rule != c.rule || res.Price != c.price || have.Held != 2*c.price {
			t.Errorf("at %d: refused by %q, a part costs %d, held %d; want %q, %d", c.now, rule, res.Price, have.Held, c.rule, c.price)
		}
	}
}
