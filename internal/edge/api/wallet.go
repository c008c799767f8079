package api

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// WalletView is what a prepaid tenant has. Amounts are millionths of a US dollar.
type WalletView struct {
	Balance   int64   `json:"balance_micro_usd" doc:"Paid in, less what is settled."`
	Held      int64   `json:"held_micro_usd" doc:"Of messages that wait, are being sent, or of which nobody knows whether they were."`
	Available int64   `json:"available_micro_usd" doc:"What can be spent: the balance less what is held and the floor."`
	Floor     int64   `json:"floor_micro_usd" doc:"What is not held of the balance never goes below this: below 0 it is credit, above 0 a reserve."`
	Spent     int64   `json:"spent_micro_usd" doc:"Settled since the tenant was made."`
	Limit     *int64  `json:"limit_micro_usd" doc:"How much may be spent and held together since the tenant was made; null: the operator has lifted that."`
	LimitLeft *int64  `json:"limit_left_micro_usd"`
	LimitBy   string  `json:"limit_by,omitempty" doc:"Who changed the limit or the floor last."`
	LimitWhy  string  `json:"limit_reason,omitempty"`
	LimitAt   *string `json:"limit_at" format:"date-time" doc:"null: both are those of a new tenant."`
	CreatedAt string  `json:"created_at" format:"date-time"`
}

func walletView(v store.WalletView) WalletView {
	out := WalletView{
		Balance: int64(v.Balance), Held: int64(v.Held), Available: int64(v.Available()), Floor: int64(v.Floor), Spent: int64(v.Spent),
		LimitBy: v.LiftedBy, LimitWhy: v.LiftedReason, LimitAt: stamp(v.LiftedAt), CreatedAt: at(v.CreatedAt),
	}
	if room, limited := v.Room(); limited {
		limit, left := int64(v.Limit), int64(room)
		out.Limit, out.LimitLeft = &limit, &left
	}
	return out
}

// CostView is what a message costs its tenant.
type CostView struct {
	Held    int64 `json:"held_micro_usd" doc:"It may turn out to have been sent."`
	Settled int64 `json:"settled_micro_usd" doc:"The provider took it."`
}

// ChargeView is the charge of one part of one attempt.
type ChargeView struct {
	Attempt   int     `json:"attempt"`
	Part      int     `json:"part"`
	Amount    int64   `json:"amount_micro_usd"`
	State     string  `json:"state" doc:"held, settled or released. Accept unknown values."`
	Payer     string  `json:"payer" doc:"tenant; house: it was found to have been sent when the tenant had nothing left for it."`
	At        string  `json:"at" format:"date-time"`
	SettledAt *string `json:"settled_at" format:"date-time" doc:"When it was settled or released; null: it is held."`
}

// EntryView is one line of a wallet.
type EntryView struct {
	ID        string       `json:"id" doc:"Of a payment; of what was sent the message's."`
	Kind      string       `json:"kind" doc:"charge, topup or adjustment. Accept unknown values."`
	At        string       `json:"at" format:"date-time"`
	Amount    int64        `json:"amount_micro_usd" doc:"By so much it changed the balance."`
	Reference string       `json:"reference,omitempty" doc:"The operator's, of a payment."`
	By        string       `json:"by,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Message   *string      `json:"message" doc:"Of a charge."`
	Price     *int64       `json:"price_micro_usd" doc:"Of a part, as it was decided."`
	Cost      *CostView    `json:"cost,omitempty"`
	Charges   []ChargeView `json:"charges,omitempty"`

	place walletPlace
}

// walletPlace is where an entry stands among the others.
type walletPlace struct {
	at clock.Micros
	id [16]byte
}

func paymentEntry(p store.Payment) EntryView {
	kind, _ := wallet.PaymentOf(p.Amount)
	return EntryView{
		ID: p.ID.String(), Kind: kind.String(), At: at(p.At), Amount: int64(p.Amount), Reference: p.Reference, By: p.Person, Reason: p.Reason,
		place: walletPlace{p.At, p.ID},
	}
}

func chargeEntry(m store.ChargedMessage) EntryView {
	cost, price := store.CostOf(m.Charges), int64(m.Price)
	v := EntryView{
		ID: m.Message.String(), Kind: wallet.Charge.String(), At: at(m.At), Amount: -int64(cost.Settled), Message: orNull(m.Message.String()), Price: &price,
		Cost: costView(cost), place: walletPlace{m.At, m.Message},
	}
	for _, c := range m.Charges {
		v.Charges = append(v.Charges, ChargeView{
			Attempt: int(c.Attempt), Part: int(c.Part.Part), Amount: int64(c.Amount), State: c.State.String(), Payer: c.Payer.String(),
			At: at(c.At), SettledAt: stamp(c.SettledAt),
		})
	}
	return v
}

func costView(c store.Cost) *CostView { return &CostView{int64(c.Held), int64(c.Settled)} }

func (a *API) getWallet(ctx context.Context, _ *struct{}) (WalletView, error) {
	v, err := a.cfg.Store.Wallet(ctx, subjectOf(ctx))
	return walletView(v), err
}

type entriesIn struct{ Paging }

// listEntries merges payments and messages, the newest first.
func (a *API) listEntries(ctx context.Context, in *entriesIn) (List[EntryView], error) {
	d := &decoder{}
	p, of := in.page(d), subjectOf(ctx)
	if err := d.fault(); err != nil {
		return List[EntryView]{}, err
	}
	if _, err := a.cfg.Store.Wallet(ctx, of); err != nil {
		return List[EntryView]{}, err
	}
	payments, err := a.cfg.Store.Payments(ctx, of, p)
	if err != nil {
		return List[EntryView]{}, err
	}
	charged, err := a.cfg.Store.Charged(ctx, of, p)
	if err != nil {
		return List[EntryView]{}, err
	}
	var all []EntryView
	for _, one := range payments {
		all = append(all, paymentEntry(one))
	}
	for _, one := range charged {
		all = append(all, chargeEntry(one))
	}
	slices.SortFunc(all, func(a, b EntryView) int {
		return cmp.Or(cmp.Compare(b.place.at, a.place.at), bytes.Compare(b.place.id[:], a.place.id[:]))
	})
	same := func(e EntryView) EntryView { return e }
	return paged(in.Limit, all, same, func(e EntryView) (clock.Micros, [16]byte) { return e.place.at, e.place.id }), nil
}
