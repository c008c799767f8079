package sqlstore

import (
	"context"
	"errors"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/ident"
)

// payers are the tenants of the batch that may have a wallet. Where there are none, no statement is spent on money.
func (d *deciding) payers() []ident.Partition {
	var all []ident.Partition
	seen := map[ident.Partition]bool{}
	for _, s := range d.batch {
		if s.Charge.Asked && !seen[s.Tenant] {
			seen[s.Tenant] = true
			all = append(all, s.Tenant)
		}
	}
	return all
}

// readWallets reads the wallets of the batch. Without a lock they are what they were a moment ago: what is charged to
// them is checked again when it is written.
func (d *deciding) readWallets(ctx context.Context) (err error) {
	if payers := d.payers(); len(payers) > 0 {
		d.wallets, err = d.t.wallets(ctx, payers, d.locked)
	}
	return err
}

// outrun reports that the batch used up a wallet which it had not locked: some of its requests were refused for what
// others of it took, and between the two somebody may have paid in, or been released. Whoever is refused is refused by
// what is true.
func (d *deciding) outrun() bool {
	if d.locked {
		return false
	}
	taken := map[ident.Partition]bool{}
	for i, o := range d.out {
		if d.fresh(i) && o.Price > 0 {
			taken[d.batch[i].Tenant] = true
		}
	}
	for i, o := range d.out {
		if d.fresh(i) && taken[d.batch[i].Tenant] && o.Decision.ByWallet() {
			return true
		}
	}
	return false
}

// charge holds what the batch's new messages cost. It is the last thing of the transaction.
func (d *deciding) charge(ctx context.Context) error {
	var charges []charge
	held := moves{}
	for i, o := range d.out {
		if !d.fresh(i) || o.Price == 0 {
			continue
		}
		s := d.batch[i]
		for part := range max(s.Text.Parts, 1) {
			charges = append(charges, charge{
				s.Message, wallet.Part{Attempt: 1, Part: uint16(part + 1)}, s.Tenant, wallet.Tenant, o.Price, wallet.Held, // at most 255 parts
			})
			held.add(s.Tenant, wallet.Moved(0, wallet.Held, o.Price))
		}
	}
	if len(charges) == 0 {
		return nil
	}
	if err := d.t.insertCharges(ctx, charges, d.facts.Now); err != nil {
		return err
	}
	err := d.t.moveWallets(ctx, held)
	if d.locked && errors.Is(err, errWalletMoved) {
		return errors.New("a locked wallet cannot bear what was allowed") // a defect: made again it would end the same way
	}
	return err
}

// costOf is what the event says by which a message is taken; nil where nothing is paid for it.
func costOf(price wallet.MicroUSD, parts int) map[string]string {
	if price == 0 {
		return nil
	}
	return costDetail(nil, price*wallet.MicroUSD(max(parts, 1)), 0)
}

// wallets of a preview are read without a lock, and nothing comes of what is held of them.
func (t *tx) previewWallets(ctx context.Context, r *intent.Request, f *intent.Facts) (err error) {
	if r.Charge.Asked {
		f.Wallets, err = t.wallets(ctx, []ident.Partition{r.Tenant}, false)
	}
	return err
}
