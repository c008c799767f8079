package app

import (
	"context"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// prices is this node's copy of the prices. Until it is loaded there are none, which refuses whoever pays. A price that
// changes at a moment does so by this node's clock: what was decided is stored with the message and stands.
type prices struct {
	store store.Wallets
	clock clock.Clock
	book  atomic.Pointer[wallet.Book]
}

func newPrices(s store.Wallets, c clock.Clock) *prices {
	p := &prices{store: s, clock: c}
	p.book.Store(wallet.NewBook(nil))
	return p
}

// load implements control.Loader.
func (p *prices) load(ctx context.Context) error {
	all, err := p.store.Prices(ctx)
	if err == nil {
		p.book.Store(wallet.NewBook(all))
	}
	return err
}

// find is the price of a part for a tenant.
func (p *prices) find(of ident.Partition, e164 string) (wallet.MicroUSD, bool) {
	found, ok := p.book.Load().Find(of, e164, clock.FromTime(p.clock.Now()))
	return found.PerPart, ok
}
