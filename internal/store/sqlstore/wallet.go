package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// onlySlice is the slice of every wallet in this release. A wallet that is too hot for one row can be several.
const onlySlice = 0

var (
	readWallets = define(`select w.tenant, w.balance, w.held, w.spent, w.floor, w.exposure_limit
		from {rows tenant int} cross join wallet w where w.tenant = r.tenant and w.slice = {1}`)
	lockWallets = define(`select w.tenant, w.balance, w.held, w.spent, w.floor, w.exposure_limit
		from {rows tenant int} cross join wallet w where w.tenant = r.tenant and w.slice = {1} order by w.tenant {update}`)
	// Nothing that would break a rule takes: the row is left as it is, and is missing in the count.
	moveWallets = define(`update wallet set balance = wallet.balance + r.paid, held = wallet.held + r.kept, spent = wallet.spent + r.gone
		from {rows tenant int, paid int, kept int, gone int} where wallet.tenant = r.tenant and wallet.slice = {1}
		and wallet.balance + r.paid - wallet.held - r.kept >= wallet.floor
		and (wallet.exposure_limit < 0 or wallet.spent + r.gone + wallet.held + r.kept <= wallet.exposure_limit)`)
	insertTransfers = define(`insert into transfer (id, attempt, part, kind, tenant, slice, debit, credit, amount, state, at, settled_at)
		select id, attempt, part, {1}, tenant, {2}, debit, {3}, amount, state, {4}, settled_at
		from {rows id bytes, attempt int, part int, tenant int, debit int, amount int, state int, settled_at int}`)
)

// errWalletMoved says that a wallet was changed between being read and being charged: the same transaction again, with
// the wallets locked from before it decides.
var errWalletMoved = errors.New("a wallet was changed meanwhile")

// wallets reads those of tenants, locked in the order of the tenants where that is asked for.
func (t *tx) wallets(ctx context.Context, tenants []ident.Partition, locked bool) (map[ident.Partition]*wallet.Wallet, error) {
	r, q := &rows{}, readWallets
	if locked {
		q = lockWallets
	}
	for _, id := range tenants {
		r.add(id)
	}
	found := map[ident.Partition]*wallet.Wallet{}
	return found, t.query(ctx, q, r, func(res *sql.Rows) error {
		var (
			id ident.Partition
			w  wallet.Wallet
		)
		err := res.Scan(&id, &w.Balance, &w.Held, &w.Spent, &w.Floor, &w.Limit)
		found[id] = &w
		return err
	}, onlySlice)
}

// moves are changes of wallets, added up.
type moves map[ident.Partition]wallet.Delta

func (m moves) add(tenant ident.Partition, d wallet.Delta) { m[tenant] = m[tenant].Plus(d) }

// tenants lists those whose wallets change, in their order.
func (m moves) tenants() []ident.Partition {
	var all []ident.Partition
	for id, d := range m {
		if d != (wallet.Delta{}) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// moveWallets changes wallets, as the last thing of a transaction: one statement, whatever the number of charges. Rows are
// locked in their order first, unless there is one alone. errWalletMoved: one of them cannot bear its change.
func (t *tx) moveWallets(ctx context.Context, m moves) error {
	tenants, r := m.tenants(), &rows{}
	for _, id := range tenants {
		r.add(id, m[id].Balance, m[id].Held, m[id].Spent)
	}
	if len(tenants) > 1 {
		if _, err := t.wallets(ctx, tenants, true); err != nil {
			return err
		}
	}
	n, err := t.exec(ctx, moveWallets, r, onlySlice)
	if err == nil && int(n) != len(tenants) {
		return errWalletMoved
	}
	return err
}

// charge is a transfer of kind charge, to be written.
type charge struct {
	message [16]byte
	wallet.Part
	tenant ident.Partition
	debit  wallet.Account
	amount wallet.MicroUSD
	state  wallet.State
}

// insertCharges writes new charges.
func (t *tx) insertCharges(ctx context.Context, all []charge, now clock.Micros) error {
	r := &rows{}
	for _, c := range all {
		r.add(c.message, c.Attempt, c.Part.Part, c.tenant, c.debit, c.amount, c.state, settledAt(c.state, now))
	}
	n, err := t.exec(ctx, insertTransfers, r, wallet.Charge, onlySlice, wallet.Revenue, now)
	if err == nil && int(n) != len(all) {
		return fmt.Errorf("%d of %d charges were written", n, len(all))
	}
	return err
}

// settledAt is when a charge left Held: now, unless it is held.
func settledAt(s wallet.State, now clock.Micros) clock.Micros {
	if s == wallet.Held {
		return 0
	}
	return now
}
