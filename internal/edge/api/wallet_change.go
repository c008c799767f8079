package api

import (
	"context"

	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func (a *API) registerWallet() {
	const tag = "Wallet"
	both(a, op("GET", "/v1/wallet", "get-wallet", tag, "What a prepaid tenant has"), ScopeRead, a.getWallet)
	both(a, op("GET", "/v1/wallet/entries", "list-wallet-entries", tag, "What was paid in, and what was charged, the newest first"), ScopeRead, a.listEntries)
	theirs(a, made(withBody(op("POST", "/v1/topups", "top-up", tag, "Pay in, or take back"), a.schema(topUpBody{}))), a.topUp)
	theirs(a, withBody(op("POST", "/v1/limit", "set-limit", tag, "Lift how much it may spend, or set it"), a.schema(limitBody{})), a.setLimit)
	operators := func(method, path, id, summary string) huma.Operation {
		o := op(method, path, id, tag, summary)
		o.Middlewares = append(o.Middlewares, a.operator)
		return o
	}
	add(a, operators("GET", "/v1/prices", "list-prices", "What parts cost"), ScopeAdmin, a.listPrices)
	put := withBody(operators("PUT", "/v1/prices", "set-prices", "Replace what parts cost"), a.schema(pricesBody{}))
	put.MaxBodyBytes = maxPrices
	add(a, put, ScopeAdmin, a.setPrices)
	verify := operators("GET", "/v1/wallets/verify", "verify-wallets", "Prove that wallets, transfers and messages fit")
	verify.Middlewares = append(verify.Middlewares, lasting)
	add(a, verify, ScopeAdmin, a.verifyWallets)
}

// lasting lets an operation take as long as it has to: it reads everything there is.
func lasting(ctx huma.Context, next func(huma.Context)) {
	_, w := humago.Unwrap(ctx)
	postpone(w, 24*time.Hour)
	next(ctx)
}

type topUpBody struct {
	Amount    int64  `json:"amount_micro_usd" doc:"In millionths of a US dollar; negative: so much is taken back." example:"50000000"`
	Reference string `json:"reference" doc:"Your own, of this payment alone: the same request again is the same payment." example:"invoice 2026-117"`
	Reason    string `json:"reason" doc:"Why; it is kept." example:"bank transfer"`
}

// PaymentView is a payment.
type PaymentView struct {
	EntryView
	Made bool `json:"made" doc:"false: it was stored before, by the same reference."`
}

const (
	rightAmount    = "an amount in millionths of a US dollar, such as 50000000 for 50 dollars; negative to take back"
	rightReference = "your own reference of this payment, such as the invoice's number"
	rightPaid      = "why, such as bank transfer"
)

func (a *API) topUp(ctx context.Context, in *smallIn) (PaymentView, error) {
	p := store.Payment{Tenant: subjectOf(ctx), Person: by(ctx)}
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"amount_micro_usd", d.money(&p.Amount)}, {"reference", d.required(&p.Reference, rightReference)}, {"reason", d.required(&p.Reason, rightPaid)},
		}
	}, needed{"amount_micro_usd", rightAmount}, needed{"reference", rightReference}, needed{"reason", rightPaid})
	if err != nil {
		return PaymentView{}, err
	}
	d := &decoder{}
	d.named("reference", p.Reference)
	d.shown("reason", p.Reason)
	if p.Amount == 0 {
		d.wrong("#/amount_micro_usd", "nothing: %s", rightAmount)
	}
	if err := d.fault(); err != nil {
		return PaymentView{}, err
	}
	p.ID = ident.NewTransfer(p.Tenant)
	stored, made, err := a.cfg.Store.Pay(ctx, p)
	if err != nil {
		return PaymentView{}, err
	}
	return PaymentView{paymentEntry(stored), made}, nil
}

type limitBody struct {
	Lift   bool   `json:"lift,omitempty" doc:"true: there is no limit any more."`
	Limit  *int64 `json:"limit_micro_usd,omitempty" doc:"In place of lift: how much may be spent and held together since the tenant was made."`
	Floor  *int64 `json:"floor_micro_usd,omitempty" doc:"Beside one of those or alone: what is not held of the balance never goes below this. Below 0 it is credit, above 0 a reserve that cannot be spent; a new tenant's is 0."`
	By     string `json:"by" doc:"The person who says so."`
	Reason string `json:"reason" doc:"Why; it is kept."`
}

// noAmount is none that a request can give.
const noAmount = -wallet.Largest - 1

const rightLimitReason = "why this tenant may spend more, or less"

func (a *API) setLimit(ctx context.Context, in *smallIn) (WalletView, error) {
	l := store.LimitChange{Tenant: subjectOf(ctx)}
	var lift bool
	limit, floor := noAmount, noAmount
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"lift", d.flag(&lift)}, {"limit_micro_usd", d.money(&limit)}, {"floor_micro_usd", d.money(&floor)},
			{"by", d.required(&l.Person, rightBy)}, {"reason", d.required(&l.Reason, rightLimitReason)},
		}
	}, needed{"by", rightBy}, needed{"reason", rightLimitReason})
	if err != nil {
		return WalletView{}, err
	}
	d := &decoder{}
	d.named("by", l.Person)
	d.shown("reason", l.Reason)
	d.limits(&l, lift, limit, floor)
	if err := d.fault(); err != nil {
		return WalletView{}, err
	}
	v, err := a.cfg.Store.SetLimit(ctx, l)
	if err != nil {
		return WalletView{}, err
	}
	a.cfg.Log.Warn("a tenant's limit or floor was changed", "tenant", int(l.Tenant), "limit_micro_usd", int64(v.Wallet.Limit), "floor_micro_usd", int64(v.Floor), "key", principalOf(ctx).Key)
	return walletView(v), nil
}

// limits reads what is to be changed of a wallet: the limit, the floor, or both.
func (d *decoder) limits(l *store.LimitChange, lift bool, limit, floor wallet.MicroUSD) {
	switch {
	case lift && limit != noAmount || !lift && limit == noAmount && floor == noAmount:
		d.wrong("#", "say either lift: true, or limit_micro_usd; beside it or alone floor_micro_usd")
	case limit != noAmount && limit < 0:
		d.wrong("#/limit_micro_usd", "write 0 or more; lift: true takes the limit away")
	case lift:
		l.Limit = new(wallet.Lifted)
	case limit != noAmount:
		l.Limit = &limit
	}
	if floor != noAmount {
		l.Floor = &floor
	}
}

// money reads an amount: a whole number of millionths.
func (d *decoder) money(into *wallet.MicroUSD) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.Number) {
			return
		}
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if err != nil || n > int64(wallet.Largest) || n < -int64(wallet.Largest) {
			d.wrong(pointer, "write a whole number of millionths of a US dollar, at most %d", int64(wallet.Largest))
			return
		}
		*into = wallet.MicroUSD(n)
	}
}

// WalletProofView says what a proof has looked at and found.
type WalletProofView struct {
	At          string           `json:"at" format:"date-time" doc:"The moment that it is about."`
	Wallets     int              `json:"wallets"`
	Messages    int64            `json:"messages" doc:"Those that cost something."`
	Transfers   int64            `json:"transfers"`
	Gone        int64            `json:"gone" doc:"Charges whose messages are not kept any more: they count in the sums alone."`
	Differences int64            `json:"differences" doc:"0: everything fits."`
	Data        []DifferenceView `json:"data" nullable:"false" doc:"The first hundred differences."`
}

// DifferenceView is something that does not fit.
type DifferenceView struct {
	Tenant  string  `json:"tenant"`
	Message *string `json:"message" doc:"null: it is about the wallet as a whole."`
	Detail  string  `json:"detail"`
}

// mostDifferences is how many differences are told.
const mostDifferences = 100

func (a *API) verifyWallets(ctx context.Context, _ *struct{}) (WalletProofView, error) {
	names, err := a.cfg.Store.TenantNames(ctx)
	if err != nil {
		return WalletProofView{}, err
	}
	found := []DifferenceView{}
	proof, err := a.cfg.Store.VerifyWallets(ctx, func(d store.WalletDifference) {
		if len(found) < mostDifferences {
			found = append(found, DifferenceView{names[d.Tenant], idOrNull(d.Message), d.Detail})
		}
	})
	return WalletProofView{
		At: at(proof.At), Wallets: proof.Wallets, Messages: proof.Messages, Transfers: proof.Transfers, Gone: proof.Gone, Differences: proof.Differences, Data: found,
	}, err
}

// maxPrices bounds a price list, in bytes.
const maxPrices = 8 << 20
