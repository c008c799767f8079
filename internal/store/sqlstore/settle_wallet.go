package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/ident"
)

var (
	readCharges = define(`select t.id, t.attempt, t.part, t.debit, t.amount, t.state, t.at, t.settled_at from {rows id bytes} cross join transfer t
		where t.id = r.id and t.kind = {1} order by t.id, t.attempt, t.part`)
	moveCharges = define(`update transfer set state = r.state, debit = r.debit, settled_at = r.settled_at
		from {rows id bytes, attempt int, part int, prior int, state int, debit int, settled_at int}
		where transfer.id = r.id and transfer.attempt = r.attempt and transfer.part = r.part and transfer.state = r.prior`)
)

// chargeMove is a charge that goes from one state to another; from 0: it is new.
type chargeMove struct {
	charge
	from wallet.State
}

func (c *chargeMove) delta() wallet.Delta { return wallet.Moved(c.from, c.state, c.amount) }

// settleCharges moves charges to where the batch has taken their attempts, and is the last thing of the transaction.
// Messages that cost nothing, and evidence that moves no charge, take no statement.
func (z *settling) settleCharges(ctx context.Context) error {
	moved, err := z.chargeMoves(ctx)
	if err != nil || len(moved) == 0 {
		return err
	}
	if err := z.askWallets(ctx, payersOf(moved)); err != nil {
		return err
	}
	if err := z.findPayers(ctx, moved); err != nil {
		return z.waited(err)
	}
	fresh, changed, sums := []charge{}, &rows{}, moves{}
	for _, c := range moved {
		if c.debit == wallet.Tenant {
			sums.add(c.tenant, c.delta())
		}
		if c.from == 0 {
			fresh = append(fresh, c.charge)
			continue
		}
		changed.add(c.message, c.Attempt, c.Part.Part, c.from, c.state, c.debit, settledAt(c.state, z.now))
	}
	n, err := z.t.exec(ctx, moveCharges, changed)
	if err == nil && int(n) != len(moved)-len(fresh) {
		err = fmt.Errorf("%d of %d charges were where they should be", n, len(moved)-len(fresh))
	}
	if err != nil {
		return err
	}
	if err := z.t.insertCharges(ctx, fresh, z.now); err != nil {
		return err
	}
	if err := z.t.moveWallets(ctx, sums); errors.Is(err, errWalletMoved) {
		return errors.New("settle charges: a wallet that was looked at under its lock cannot bear them") // a defect
	} else if err != nil {
		return z.waited(err)
	}
	chaos.At(chaos.WalletSettled)
	return nil
}

// payersOf lists the tenants whose wallets may have to be locked, in their order.
func payersOf(moved []chargeMove) []ident.Partition {
	var all []ident.Partition
	for _, c := range moved {
		all = append(all, c.tenant)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// chargeMoves compares where charges are with where their messages want them, for messages of which that has changed.
func (z *settling) chargeMoves(ctx context.Context) ([]chargeMove, error) {
	ids := &rows{}
	want := map[ident.Message]map[wallet.Part]wallet.State{}
	for id, c := range z.cases {
		if !c.locked || c.price == 0 {
			continue
		}
		if now := c.Charges(); !maps.Equal(now, c.charged) {
			want[id] = now
			ids.add(id)
		}
	}
	have, err := z.t.chargesOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	var all []chargeMove
	for id, states := range want {
		all = append(all, z.cases[id].movesOf(have[id], states)...)
	}
	for _, c := range all {
		if c.from != 0 && !wallet.Corrects(c.from, c.state) {
			return nil, fmt.Errorf("a charge would go from %s to %s", c.from, c.state)
		}
	}
	return all, nil
}

// movesOf lists what has to move of one message. A charge that its message knows nothing of any more is released: the
// attempt that it was for will not come.
func (c *caseRow) movesOf(have []charge, want map[wallet.Part]wallet.State) []chargeMove {
	var all []chargeMove
	known := map[wallet.Part]bool{}
	for _, one := range have {
		known[one.Part], one.tenant = true, c.Tenant
		to, ok := want[one.Part]
		if !ok {
			to = wallet.Released
		}
		if from := one.state; from != to {
			one.state = to
			all = append(all, chargeMove{one, from})
		}
	}
	for part, state := range want {
		if !known[part] && state != wallet.Released {
			all = append(all, chargeMove{charge{c.Message, part, c.Tenant, wallet.Tenant, c.price, state}, 0})
		}
	}
	return all
}

// noteCost says with the last event what the message costs from then on, whoever pays it: events never change, so that
// whoever is told of one again is told the same.
func (c *caseRow) noteCost() {
	if c.price == 0 || len(c.Events) == 0 {
		return
	}
	now := c.Charges()
	if maps.Equal(now, c.charged) {
		return
	}
	in := map[wallet.State]wallet.MicroUSD{}
	for _, state := range now {
		in[state] += c.price
	}
	last := &c.Events[len(c.Events)-1]
	last.Detail = costDetail(last.Detail, in[wallet.Held], in[wallet.Settled])
}

// costDetail adds what a message costs to what an event says.
func costDetail(detail map[string]string, held, settled wallet.MicroUSD) map[string]string {
	out := map[string]string{"held_micro_usd": fmt.Sprint(int64(held)), "settled_micro_usd": fmt.Sprint(int64(settled))}
	maps.Copy(out, detail)
	return out
}

// findPayers looks who pays for what takes more than was held. Evidence is not refused for want of money: what was sent
// was sent. Where its tenant has nothing left for it, the house pays, and the floor and the limit hold.
func (z *settling) findPayers(ctx context.Context, moved []chargeMove) error {
	sums := moves{}
	for i := range moved {
		c := &moved[i]
		if c.from == wallet.Released && c.debit == wallet.House {
			c.debit = wallet.Tenant // nothing is paid by anybody at this moment: the tenant is asked first again
		}
		if c.debit == wallet.Tenant {
			sums.add(c.tenant, c.delta())
		}
	}
	var taking []ident.Partition
	for _, id := range sums.tenants() {
		if sums[id].Takes() {
			taking = append(taking, id)
		}
	}
	if len(taking) == 0 {
		return nil
	}
	// All that change, and not the taking ones alone: a second statement would lock the others out of their order.
	found, err := z.t.wallets(ctx, sums.tenants(), true)
	if err != nil {
		return err
	}
	for _, id := range taking {
		if w := found[id]; w == nil || w.Bears(sums[id]) != wallet.NoShortage {
			chargeHouse(moved, id)
		}
	}
	return nil
}

// chargeHouse lets the house pay for what takes something of a tenant.
func chargeHouse(moved []chargeMove, tenant ident.Partition) {
	for i := range moved {
		if c := &moved[i]; c.tenant == tenant && c.debit == wallet.Tenant && (c.from == 0 || c.from == wallet.Released) {
			c.debit = wallet.House
		}
	}
}

// chargesOf reads the charges of messages. They are changed under their message's lock alone.
func (t *tx) chargesOf(ctx context.Context, ids *rows) (map[ident.Message][]charge, error) {
	all := map[ident.Message][]charge{}
	return all, t.query(ctx, readCharges, ids, func(res *sql.Rows) error {
		var (
			id        []byte
			at, since int64
			c         charge
		)
		err := res.Scan(&id, &c.Attempt, &c.Part.Part, &c.debit, &c.amount, &c.state, &at, &since)
		m := ident.Message(keyFrom(id))
		c.message = m
		all[m] = append(all[m], c)
		return err
	}, wallet.Charge)
}
