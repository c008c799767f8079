package wallet

// NewTenantLimit is how much a new tenant may have spent and held since it was made, until the operator lifts that by
// name (M4).
const NewTenantLimit = 20 * Dollar

// Lifted in place of a limit says that there is none.
const Lifted MicroUSD = -1

// Wallet is what a tenant has.
type Wallet struct {
	Balance MicroUSD // paid in, less what is settled
	Held    MicroUSD // of charges whose outcome is not known yet
	Spent   MicroUSD // settled since the wallet was made
	Floor   MicroUSD // what is not held of the balance never goes below this
	Limit   MicroUSD // Spent and Held together never go above this; Lifted: no limit
}

// New is the wallet of a new tenant.
func New() Wallet { return Wallet{Limit: NewTenantLimit} }

// Available is what can be spent.
func (w Wallet) Available() MicroUSD { return w.Balance - w.Held - w.Floor }

// Exposure is what has been spent since the wallet was made, or may turn out to have been.
func (w Wallet) Exposure() MicroUSD { return w.Spent + w.Held }

// Room is how much more the limit permits; ok is false where it was lifted.
func (w Wallet) Room() (left MicroUSD, ok bool) { return w.Limit - w.Exposure(), w.Limit != Lifted }

// Shortage says why a wallet cannot bear something.
type Shortage uint8

// The shortages, in the order in which they are named.
const (
	NoShortage Shortage = iota
	OverLimit           // the exposure would go above the limit
	NoFunds             // what is available does not cover it
)

// Bears says whether a change leaves the wallet within its limit and above its floor. One that takes nothing is always
// borne: it can only mend what is.
func (w Wallet) Bears(d Delta) Shortage {
	room, limited := w.Room()
	switch {
	case limited && d.Spent+d.Held > 0 && d.Spent+d.Held > room:
		return OverLimit
	case d.Balance-d.Held < 0 && d.Held-d.Balance > w.Available():
		return NoFunds
	}
	return NoShortage
}

// After is the wallet with a change.
func (w Wallet) After(d Delta) Wallet {
	w.Balance, w.Held, w.Spent = w.Balance+d.Balance, w.Held+d.Held, w.Spent+d.Spent
	return w
}

// Delta is a change of a wallet.
type Delta struct{ Balance, Held, Spent MicroUSD }

// Plus adds two changes.
func (d Delta) Plus(e Delta) Delta {
	return Delta{d.Balance + e.Balance, d.Held + e.Held, d.Spent + e.Spent}
}

// Takes reports whether the change needs more than there was: something of what is available, or of the limit.
func (d Delta) Takes() bool { return d.Balance < d.Held || d.Spent+d.Held > 0 }

// Paid is the change by which money was paid in, or taken back where it is negative.
func Paid(amount MicroUSD) Delta { return Delta{Balance: amount} }

// Moved is the change by which a charge goes from one state to another; from 0: there was no charge.
func Moved(from, to State, amount MicroUSD) Delta {
	before, after := from.bears(amount), to.bears(amount)
	return Delta{after.Balance - before.Balance, after.Held - before.Held, after.Spent - before.Spent}
}

// bears is what a charge in this state does to its wallet.
func (s State) bears(amount MicroUSD) Delta {
	switch s {
	case Held:
		return Delta{Held: amount}
	case Settled:
		return Delta{Balance: -amount, Spent: amount}
	}
	return Delta{}
}
