package receipt

import (
	"context"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// ResolverStore is the part of the store that a resolver needs.
type ResolverStore interface {
	store.Resolver
	store.Exceptions
}

// ResolverConfig is a resolver's.
type ResolverConfig struct {
	Store ResolverStore
	Rules store.Rules
	// Committed is called after exceptions were resolved; nil: nobody cares. It must not block.
	Committed func()
}

// Resolver does with exceptions what people decide.
type Resolver struct{ cfg ResolverConfig }

// NewResolver returns a resolver.
func NewResolver(cfg ResolverConfig) *Resolver { return &Resolver{cfg} }

// Resolve resolves one exception. It returns nil also where it was resolved in the very same way before.
func (r *Resolver) Resolve(ctx context.Context, what store.Resolution) error {
	settled, err := r.resolve(ctx, []store.Resolution{what})
	if err != nil {
		return err
	}
	return settled[0].Err
}

func (r *Resolver) resolve(ctx context.Context, rs []store.Resolution) ([]store.Settled, error) {
	settled, err := r.cfg.Store.Resolve(ctx, rs, r.cfg.Rules)
	if err == nil && r.cfg.Committed != nil {
		r.cfg.Committed()
	}
	return settled, err
}

// Group names exceptions that are resolved together. All of them are one tenant's.
type Group struct {
	Tenant ident.Partition
	store.GroupKey
}

// groupBatch is how many exceptions of a group are resolved in one transaction, and in one call: whoever wants the
// whole group asks again while some are open.
const groupBatch = 100

// ResolveGroup resolves the open exceptions of a group, the newest first and no more than a batch of them. It returns
// how many it has resolved, and the errors of those that could not be.
func (r *Resolver) ResolveGroup(ctx context.Context, g Group, a exception.Action, person, reason string) (done int, failed []error, err error) {
	open, err := r.cfg.Store.Exceptions(ctx, g.Tenant, store.ExceptionFilter{
		State: exception.Open, Kind: g.Kind, Connection: g.Connection, Hour: g.Hour,
	}, store.Page{Limit: groupBatch})
	if err != nil || len(open) == 0 {
		return 0, nil, err
	}
	rs := make([]store.Resolution, len(open))
	for i, x := range open {
		rs[i] = store.Resolution{Exception: x.ID, Tenant: g.Tenant, Action: a, Person: person, Reason: reason}
	}
	settled, err := r.resolve(ctx, rs)
	for _, s := range settled {
		if s.Err != nil {
			failed = append(failed, s.Err)
		} else {
			done++
		}
	}
	return done, failed, err
}
