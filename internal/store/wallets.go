package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Wallets are the money of prepaid tenants. A tenant without a wallet pays nothing: its wallet is fault.NotFound.
type Wallets interface {
	Wallet(ctx context.Context, tenant ident.Partition) (WalletView, error)
	// Payments lists what was paid in and taken back, the newest first.
	Payments(ctx context.Context, tenant ident.Partition, p Page) ([]Payment, error)
	// Charged lists the messages that cost something, the newest first, with their charges.
	Charged(ctx context.Context, tenant ident.Partition, p Page) ([]ChargedMessage, error)
	// Pay stores a payment. The same reference with the same amount is the same payment: it is returned as it is stored,
	// with made false. fault.State: the reference is another payment's, or what is to be taken back is not there.
	Pay(ctx context.Context, p Payment) (stored Payment, made bool, err error)
	// SetLimit changes how much a tenant may spend, and how far down. fault.State: it has spent and held more than that, or
	// less is left.
	SetLimit(ctx context.Context, l LimitChange) (WalletView, error)
	// VerifyWallets holds wallets, transfers and messages against each other as they are at one moment, and tells found of
	// each difference.
	VerifyWallets(ctx context.Context, found func(WalletDifference)) (WalletProof, error)

	// Prices lists all prices, also those that are over or still to come.
	Prices(ctx context.Context) ([]wallet.Price, error)
	// SetPrices replaces them. Messages keep the price that they were decided with.
	SetPrices(ctx context.Context, all []wallet.Price) error
}

// WalletView is a wallet with who set its limit or its floor.
type WalletView struct {
	Tenant ident.Partition
	wallet.Wallet
	LiftedBy, LiftedReason string       // who changed the limit or the floor last; "": nobody has
	LiftedAt               clock.Micros // 0: nobody has
	CreatedAt              clock.Micros
}

// Payment is a transfer between the operator and a tenant.
type Payment struct {
	ID        ident.Transfer
	Tenant    ident.Partition
	Amount    wallet.MicroUSD // negative: it is taken back
	At        clock.Micros
	Reference string // the operator's own, one payment's alone
	Person    string
	Reason    string
}

// ChargedMessage is a message that costs something.
type ChargedMessage struct {
	Message ident.Message
	Tenant  ident.Partition
	At      clock.Micros
	Price   wallet.MicroUSD // of a part
	Charges []ChargeRow
}

// ChargeRow is the charge of one part of one attempt.
type ChargeRow struct {
	wallet.Part
	Amount    wallet.MicroUSD
	State     wallet.State
	Payer     wallet.Account // the tenant, or the house
	At        clock.Micros
	SettledAt clock.Micros // when it left Held; 0: it has not
}

// Cost is what charges come to.
type Cost struct{ Held, Settled wallet.MicroUSD }

// CostOf adds up what a tenant pays.
func CostOf(charges []ChargeRow) (c Cost) {
	for _, one := range charges {
		switch {
		case one.Payer != wallet.Tenant:
		case one.State == wallet.Held:
			c.Held += one.Amount
		case one.State == wallet.Settled:
			c.Settled += one.Amount
		}
	}
	return c
}

// LimitChange is an operator's word on a tenant's limit, its floor, or both.
type LimitChange struct {
	Tenant         ident.Partition
	Limit          *wallet.MicroUSD // wallet.Lifted: there is none any more; nil: it stays
	Floor          *wallet.MicroUSD // below 0: credit; above: a reserve that cannot be spent; nil: it stays
	Person, Reason string
}

// WalletDifference is something that does not fit.
type WalletDifference struct {
	Tenant  ident.Partition
	Message ident.Message // zero: it is about the wallet as a whole
	Detail  string
}

// WalletProof says what was looked at.
type WalletProof struct {
	At          clock.Micros
	Wallets     int
	Messages    int64 // that cost something
	Transfers   int64
	Gone        int64 // charges whose messages are not kept any more: they count in the sums alone
	Differences int64
}
