package watch

import (
	"context"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Store is a store that tells a hub what its transactions have changed. It decides nothing and changes nothing. A
// method that changes messages and is not here is seen by the hub's question.
type Store struct {
	store.Store
	Hub *Hub
}

// Claim implements store.Dispatcher.
func (s Store) Claim(ctx context.Context, spec store.ClaimSpec) (store.Claims, error) {
	claims, err := s.Store.Claim(ctx, spec)
	for _, c := range claims.Taken {
		s.Hub.Changed(c.Message)
	}
	return claims, err
}

// OpenAttempts implements store.Dispatcher.
func (s Store) OpenAttempts(ctx context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error) {
	opened, err := s.Store.OpenAttempts(ctx, spec, claims)
	for i := range opened {
		s.Hub.Changed(opened[i].Message)
	}
	return opened, err
}

// Settle implements store.Settler.
func (s Store) Settle(ctx context.Context, news []store.News, rules store.Rules) ([]store.Settled, error) {
	settled, err := s.Store.Settle(ctx, news, rules)
	s.tell(settled)
	return settled, err
}

// SettleLogged implements store.ReceiptLog.
func (s Store) SettleLogged(ctx context.Context, logged []*store.LoggedReceipt, news []store.News, rules store.Rules) ([]store.Settled, error) {
	settled, err := s.Store.SettleLogged(ctx, logged, news, rules)
	s.tell(settled)
	return settled, err
}

// Resolve implements store.Resolver.
func (s Store) Resolve(ctx context.Context, rs []store.Resolution, rules store.Rules) ([]store.Settled, error) {
	settled, err := s.Store.Resolve(ctx, rs, rules)
	s.tell(settled)
	return settled, err
}

func (s Store) tell(settled []store.Settled) {
	ids := make([]ident.Message, 0, len(settled))
	for i := range settled {
		if settled[i].Err == nil && !settled[i].Message.IsZero() {
			ids = append(ids, settled[i].Message)
		}
	}
	s.Hub.Changed(ids...)
}
