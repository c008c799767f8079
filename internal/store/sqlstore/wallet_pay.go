package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	insertWallet = define(`insert into wallet (tenant, slice, balance, held, spent, floor, exposure_limit, lifted_by, lifted_reason, lifted_at, created_at)
		values ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {8}, {9}, {10})`)
	insertPayment = define(`insert into transfer (id, attempt, part, kind, tenant, slice, debit, credit, amount, state, at, settled_at, reference, person, reason)
		select {1}, 0, 0, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {9}, {10}, {11}, {12} where true on conflict do nothing`)
	findPayment = define(`select ` + paymentColumns + ` from transfer t where t.tenant = {1} and t.reference = {2} and t.kind > 1`)
	setLimit    = define(`update wallet set exposure_limit = {3}, floor = {4}, lifted_by = {5}, lifted_reason = {6}, lifted_at = {7} where tenant = {1} and slice = {2}`)
)

// createWallet makes the wallet of a new tenant, in the transaction that makes the tenant.
func (t *tx) createWallet(ctx context.Context, tenant ident.Partition, now clock.Micros) error {
	w := wallet.New()
	_, err := t.exec(ctx, insertWallet, nil, tenant, onlySlice, w.Balance, w.Held, w.Spent, w.Floor, w.Limit, "", 0, now)
	return err
}

// Pay implements store.Wallets. The unique index is the referee between two that store the same reference.
func (s *Store) Pay(ctx context.Context, p store.Payment) (stored store.Payment, made bool, err error) {
	err = s.once(ctx, func(t *tx) error {
		stored, err = t.pay(t.ctx, p)
		return err
	})
	return stored, err == nil && stored.ID == p.ID, err
}

func (t *tx) pay(ctx context.Context, p store.Payment) (store.Payment, error) {
	have, err := t.oneWallet(ctx, readWallet, p.Tenant)
	if err != nil {
		return p, err
	}
	now, err := t.now(ctx)
	if err != nil {
		return p, err
	}
	kind, amount := wallet.PaymentOf(p.Amount)
	debit, credit := wallet.Sides(kind)
	n, err := t.exec(ctx, insertPayment, nil, p.ID, kind, p.Tenant, onlySlice, debit, credit, amount, wallet.Settled, now, p.Reference, p.Person, p.Reason)
	if err != nil {
		return p, err
	}
	stored, err := t.payment(ctx, p)
	if err != nil || n == 0 {
		return stored, err
	}
	err = t.moveWallets(ctx, moves{p.Tenant: wallet.Paid(p.Amount)})
	if errors.Is(err, errWalletMoved) {
		return p, fault.New(fault.State, "%s are available, and %s cannot be taken back", have.Available(), -p.Amount)
	}
	return stored, err
}

// payment reads the payment of a reference, which has to be the wanted one.
func (t *tx) payment(ctx context.Context, want store.Payment) (stored store.Payment, err error) {
	err = t.row(ctx, findPayment, nil, func(res *sql.Rows) (err error) {
		stored, err = scanPayment(res)
		return err
	}, want.Tenant, want.Reference)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return stored, fault.New(fault.Unavailable, "the payment is being stored by somebody else; send the same request again")
	case err == nil && stored.Amount != want.Amount:
		return stored, fault.New(fault.State, "this reference is that of a payment of %s: give another payment a reference of its own", stored.Amount)
	}
	return stored, err
}

// SetLimit implements store.Wallets. The change is made under the wallet's lock, so that no charge is between it and the
// check.
func (s *Store) SetLimit(ctx context.Context, l store.LimitChange) (changed store.WalletView, err error) {
	err = s.once(ctx, func(t *tx) error {
		if changed, err = t.oneWallet(t.ctx, lockWallet, l.Tenant); err != nil {
			return err
		}
		limit, floor := *cmp.Or(l.Limit, &changed.Limit), *cmp.Or(l.Floor, &changed.Floor)
		switch {
		case changed.Limit == limit && changed.Floor == floor && changed.LiftedBy == l.Person && changed.LiftedReason == l.Reason:
			return nil // the same word again, whose answer was lost, say
		case limit != wallet.Lifted && changed.Exposure() > limit:
			return fault.New(fault.State, "%s are spent or held already: the limit cannot be lower", changed.Exposure())
		case changed.Balance-changed.Held < floor:
			return fault.New(fault.State, "%s of the balance are not held: the floor cannot be higher", changed.Balance-changed.Held)
		}
		if changed.LiftedAt, err = t.now(t.ctx); err != nil {
			return err
		}
		changed.Limit, changed.Floor, changed.LiftedBy, changed.LiftedReason = limit, floor, l.Person, l.Reason
		_, err = t.exec(t.ctx, setLimit, nil, l.Tenant, onlySlice, limit, floor, l.Person, l.Reason, changed.LiftedAt)
		return err
	})
	return changed, err
}
