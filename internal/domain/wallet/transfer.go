package wallet

import "slices"

// State is where a transfer is. The numbers are stored, and never given to another state.
type State uint8

// The states. A charge belongs to one part of one attempt, and is in exactly one of them.
const (
	Held     State = 1 // it may turn out to have been sent: what it costs is not available
	Settled  State = 2 // the provider took it, and it is paid
	Released State = 3 // it was certainly not sent, and costs nothing
)

// row is one state of the table.
type row struct {
	name      string
	to        []State // by what is learned of the part
	corrected []State // by what corrects something final: a person, a rebuild, a documented rule
}

var states = map[State]row{
	Held:     {"held", []State{Settled, Released}, nil},
	Settled:  {"settled", nil, []State{Held, Released}},
	Released: {"released", nil, []State{Held, Settled}},
}

// States lists all states.
func States() []State { return []State{Held, Settled, Released} }

// String returns the state's spelling, or "" for a number that is none.
func (s State) String() string { return states[s].name }

// Moves reports whether a charge goes from one state to another by what is learned of its part.
func Moves(from, to State) bool { return slices.Contains(states[from].to, to) }

// Corrects reports whether a charge may go from one state to another at all: what was taken for final is corrected where
// its attempt is.
func Corrects(from, to State) bool {
	return Moves(from, to) || slices.Contains(states[from].corrected, to)
}

// Kind is what a transfer is for. The numbers are stored.
type Kind uint8

// The kinds.
const (
	Charge     Kind = 1 // a part of an attempt
	TopUp      Kind = 2 // the tenant has paid in
	Adjustment Kind = 3 // the operator takes something back
)

var kindNames = map[Kind]string{Charge: "charge", TopUp: "topup", Adjustment: "adjustment"}

// String returns the kind's name in the API.
func (k Kind) String() string { return kindNames[k] }

// Account is a side of a transfer. The numbers are stored.
type Account uint8

// The accounts. Every one but a tenant's belongs to the operator.
const (
	Tenant   Account = 1 // the tenant's wallet
	Revenue  Account = 2 // what was sent for tenants
	Deposits Account = 3 // what tenants paid in
	// House pays what a correction found to have been sent when its tenant had nothing left for it: the floor and the limit
	// hold at every commit, and the charge is recorded all the same.
	House Account = 4
)

var accountNames = map[Account]string{Tenant: "tenant", Revenue: "revenue", Deposits: "deposits", House: "house"}

// String returns the account's name in the API.
func (a Account) String() string { return accountNames[a] }

// Sides are the accounts of a payment: money comes in from the deposits, and what is taken back goes there again.
func Sides(k Kind) (debit, credit Account) {
	switch k {
	case TopUp:
		return Deposits, Tenant
	case Adjustment:
		return Tenant, Deposits
	}
	return Tenant, Revenue
}

// PaymentOf is the kind of a payment by its sign, with the amount that its transfer moves.
func PaymentOf(amount MicroUSD) (Kind, MicroUSD) {
	if amount < 0 {
		return Adjustment, -amount
	}
	return TopUp, amount
}

// Part names a charge within its message: one part of one attempt.
type Part struct{ Attempt, Part uint16 }
