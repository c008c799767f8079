package intent

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/wallet"
)

// Charge is what the request's message costs, as far as that is known before the store is asked.
type Charge struct {
	Asked bool         // whether the tenant has a wallet is the store's to say; false: it has none, or nothing is paid
	Offer wallet.Offer // of a part: which of these prices holds is decided by the store's clock (I18)
}

// price is that of a part at the moment of the decision; false: there is none for the destination.
func (r *Request) price(f *Facts) (wallet.MicroUSD, bool) { return r.Charge.Offer.At(f.Now) }

// The rules of the wallet.
const (
	rulePrice    = "price.missing"
	ruleExposure = "wallet.exposure"
	ruleBalance  = "wallet.balance"
)

// purse is the wallet that pays for the request; nil: none does.
func (r *Request) purse(f *Facts) *wallet.Wallet {
	if price, known := r.price(f); !r.Charge.Asked || known && price == 0 {
		return nil
	}
	return f.Wallets[r.Tenant]
}

// cost is that of all parts.
func (r *Request) cost(price wallet.MicroUSD) wallet.MicroUSD {
	return price * wallet.MicroUSD(max(r.Text.Parts, 1))
}

// moneyGuards says whether the message can be paid.
func (r *Request) moneyGuards(f *Facts) []Guard {
	w := r.purse(f)
	price, known := r.price(f)
	switch {
	case w == nil:
		return nil
	case !known:
		return []Guard{{rulePrice, GuardFunds, GuardRefuse, "There is no price for this destination, and this tenant pays for what it sends."}}
	}
	exposure, balance := Guard{Rule: ruleExposure, Kind: GuardLimit, Result: GuardPass}, Guard{Rule: ruleBalance, Kind: GuardFunds, Result: GuardPass}
	switch w.Bears(wallet.Moved(0, wallet.Held, r.cost(price))) {
	case wallet.OverLimit:
		exposure.Result = GuardRefuse
		exposure.Words = fmt.Sprintf("The message costs %s, %s are spent or held, and this tenant may spend %s until the operator lifts that limit.",
			r.costWords(price), w.Exposure(), w.Limit)
	case wallet.NoFunds:
		balance.Result = GuardRefuse
		balance.Words = fmt.Sprintf("The message costs %s, and %s are available.", r.costWords(price), w.Available())
	}
	return []Guard{exposure, balance}
}

func (r *Request) costWords(price wallet.MicroUSD) string {
	if r.Text.Parts > 1 {
		return fmt.Sprintf("%s (%d parts at %s)", r.cost(price), r.Text.Parts, price)
	}
	return price.String()
}

// pay holds what the message costs, so that the next request of the batch sees what is left.
func (res *Result) pay(r *Request, f *Facts) {
	if w := r.purse(f); w != nil {
		res.Price, _ = r.price(f)
		*w = w.After(wallet.Moved(0, wallet.Held, r.cost(res.Price)))
	}
}

// ByWallet reports whether the decision depends on what else was held of its wallet.
func (d *Decision) ByWallet() bool {
	by := d.Refusal()
	return by != nil && (by.Rule == ruleExposure || by.Rule == ruleBalance)
}
