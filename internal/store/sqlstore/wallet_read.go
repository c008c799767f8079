package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const walletColumns = `tenant, balance, held, spent, floor, exposure_limit, lifted_by, lifted_reason, lifted_at, created_at`

var (
	readWallet = define(`select ` + walletColumns + ` from wallet where tenant = {1} and slice = {2}`)
	lockWallet = define(`select ` + walletColumns + ` from wallet where tenant = {1} and slice = {2} {update}`)
)

func scanWallet(res *sql.Rows) (v store.WalletView, err error) {
	err = res.Scan(&v.Tenant, &v.Balance, &v.Held, &v.Spent, &v.Floor, &v.Limit, &v.LiftedBy, &v.LiftedReason, &v.LiftedAt, &v.CreatedAt)
	return v, err
}

// oneWallet is a statement's only row; fault.NotFound if there is none.
func (t *tx) oneWallet(ctx context.Context, q *template, tenant ident.Partition) (v store.WalletView, err error) {
	err = t.row(ctx, q, nil, func(res *sql.Rows) (err error) {
		v, err = scanWallet(res)
		return err
	}, tenant, onlySlice)
	if errors.Is(err, sql.ErrNoRows) {
		return v, notFound("wallet: this tenant pays nothing")
	}
	return v, err
}

// Wallet implements store.Wallets.
func (s *Store) Wallet(ctx context.Context, tenant ident.Partition) (store.WalletView, error) {
	v, err := s.read().oneWallet(ctx, readWallet, tenant)
	return v, unavailable(err)
}

const paymentColumns = `t.id, t.tenant, t.kind, t.amount, t.at, t.reference, t.person, t.reason`

func scanPayment(res *sql.Rows) (p store.Payment, err error) {
	var (
		id   []byte
		kind wallet.Kind
	)
	err = res.Scan(&id, &p.Tenant, &kind, &p.Amount, &p.At, &p.Reference, &p.Person, &p.Reason)
	p.ID = ident.Transfer(keyFrom(id))
	if kind == wallet.Adjustment {
		p.Amount = -p.Amount
	}
	return p, err
}

// Payments implements store.Wallets.
func (s *Store) Payments(ctx context.Context, tenant ident.Partition, p store.Page) ([]store.Payment, error) {
	q, args := list(`select `+paymentColumns+` from transfer t`, "t.at desc, t.id desc",
		append([]clause{{"t.tenant = %s and t.kind > 1", []any{tenant}}}, after(p, "t.at", "t.id")...), p.Limit)
	var all []store.Payment
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		one, err := scanPayment(res)
		all = append(all, one)
		return err
	}, args...)
	return all, unavailable(err)
}

// Charged implements store.Wallets.
func (s *Store) Charged(ctx context.Context, tenant ident.Partition, p store.Page) ([]store.ChargedMessage, error) {
	clauses := []clause{{"m.tenant = %s", []any{tenant}}, {sql: "m.price > 0"}}
	q, args := list(`select m.id, m.tenant, m.created_at, m.price from message m`, "m.created_at desc, m.id desc", append(clauses, after(p, "m.created_at", "m.id")...), p.Limit)
	var all []store.ChargedMessage
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		var (
			id []byte
			m  store.ChargedMessage
		)
		err := res.Scan(&id, &m.Tenant, &m.At, &m.Price)
		m.Message = ident.Message(keyFrom(id))
		all = append(all, m)
		return err
	}, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	ids := make([]ident.Message, len(all))
	for i := range all {
		ids[i] = all[i].Message
	}
	charges, err := s.read().chargeRows(ctx, ids)
	for i := range all {
		all[i].Charges = charges[all[i].Message]
	}
	return all, unavailable(err)
}

// chargeRows reads the charges of messages for people.
func (t *tx) chargeRows(ctx context.Context, messages []ident.Message) (map[ident.Message][]store.ChargeRow, error) {
	ids, all := &rows{}, map[ident.Message][]store.ChargeRow{}
	for _, id := range messages {
		ids.add(id)
	}
	return all, t.query(ctx, readCharges, ids, func(res *sql.Rows) error {
		var (
			id []byte
			c  store.ChargeRow
		)
		err := res.Scan(&id, &c.Attempt, &c.Part.Part, &c.Payer, &c.Amount, &c.State, &c.At, &c.SettledAt)
		m := ident.Message(keyFrom(id))
		all[m] = append(all[m], c)
		return err
	}, wallet.Charge)
}

// addCosts says what messages cost, where something is paid for them.
func (s *Store) addCosts(ctx context.Context, messages []*store.Message) error {
	var ids []ident.Message
	for _, m := range messages {
		if m.Price > 0 {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	charges, err := s.read().chargeRows(ctx, ids)
	for _, m := range messages {
		m.Cost = store.CostOf(charges[m.ID])
	}
	return unavailable(err)
}

var readPrices = define(`select tenant, prefix, micro_usd, from_at from price order by tenant, prefix, from_at`)

// Prices implements store.Wallets.
func (s *Store) Prices(ctx context.Context) ([]wallet.Price, error) {
	var all []wallet.Price
	err := s.read().query(ctx, readPrices, nil, func(res *sql.Rows) error {
		var p wallet.Price
		err := res.Scan(&p.Tenant, &p.Prefix, &p.PerPart, &p.From)
		all = append(all, p)
		return err
	})
	return all, unavailable(err)
}

var (
	dropPrices   = define(`delete from price where tenant >= {1}`)
	insertPrices = define(`insert into price (tenant, prefix, micro_usd, from_at) select * from {rows tenant int, prefix text, micro_usd int, from_at int}`)
)

// SetPrices implements store.Wallets. What is deleted waits for another list that is being set: the later one stands.
func (s *Store) SetPrices(ctx context.Context, all []wallet.Price) error {
	return s.once(ctx, func(t *tx) error {
		if err := t.raiseControl(t.ctx); err != nil { // first: it is what two that do the same meet in
			return err
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		r := &rows{}
		for _, p := range all {
			if p.From == clock.Micros(0) {
				p.From = now
			}
			r.add(p.Tenant, p.Prefix, p.PerPart, p.From)
		}
		if _, err := t.exec(t.ctx, dropPrices, nil, 0); err != nil {
			return err
		}
		_, err = t.exec(t.ctx, insertPrices, r)
		return err
	})
}
