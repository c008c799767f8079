package app

import (
	"context"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// prices is this node's copy of the prices. Until it is loaded there are none, which refuses whoever pays. Which price has
// begun is not this node's to say: it hands on those that may hold, and whoever decides goes by the store's clock.
type prices struct {
	store store.Wallets
	book  atomic.Pointer[wallet.Book]
}

func newPrices(s store.Wallets) *prices {
	p := &prices{store: s}
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

// offer is what a part may cost a tenant.
func (p *prices) offer(of ident.Partition, e164 string) wallet.Offer {
	return p.book.Load().Offer(of, e164)
}
