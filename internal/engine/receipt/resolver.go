package receipt

import (
	"cmp"
	"context"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// ResolverStore is the part of the store that a resolver needs.
type ResolverStore interface {
	store.Resolver
	store.Rereader
	store.Exceptions
	store.Settler
	Receipt(ctx context.Context, tenant ident.Partition, id ident.Receipt) (*store.LoggedReceipt, error)
}

// ResolverConfig is a resolver's.
type ResolverConfig struct {
	Store ResolverStore
	Rules store.Rules
	Again Again
	// Committed is called after exceptions were resolved; nil: nobody cares. It must not block.
	Committed func()
}

// Resolver does with exceptions what people decide.
type Resolver struct{ cfg ResolverConfig }

// NewResolver returns a resolver.
func NewResolver(cfg ResolverConfig) *Resolver { return &Resolver{cfg} }

// Resolve resolves one exception. It returns nil also where it was resolved in the very same way before, and where it
// stays open, since its receipt is read as it was.
func (r *Resolver) Resolve(ctx context.Context, what store.Resolution) error {
	if what.Action == exception.ReRead {
		return r.rereadOne(ctx, what)
	}
	settled, err := r.resolve(ctx, []store.Resolution{what})
	if err != nil {
		return err
	}
	return settled[0].Err
}

// Word is what a person says of attempts of which nobody knows whether the provider took them.
type Word struct {
	Tenant         ident.Partition
	Message        ident.Message
	Attempt, Part  uint16          // 0: any without an outcome
	Outcome        message.Outcome // accepted, or not_sent
	Person, Reason string
}

// Declare takes a person's word on attempts without an outcome. fault.State: none of those that are meant is without one.
func (r *Resolver) Declare(ctx context.Context, w Word) error {
	settled, err := r.cfg.Store.Settle(ctx, []store.News{{
		Evidence: evidence.Evidence{
			Kind: evidence.Declared, Message: w.Message, Attempt: w.Attempt, Part: w.Part, Outcome: w.Outcome, Person: w.Person, Reason: w.Reason,
		},
		Reference: -1, Tenant: &w.Tenant,
	}}, r.cfg.Rules)
	if err == nil {
		err = settled[0].Err
	}
	if err == nil && r.cfg.Committed != nil {
		r.cfg.Committed()
	}
	return err
}

func (r *Resolver) rereadOne(ctx context.Context, what store.Resolution) error {
	x, err := r.cfg.Store.Exception(ctx, what.Tenant, what.Exception)
	switch {
	case err != nil:
		return err
	case x.State == exception.Reread:
		return nil
	case x.State != exception.Open:
		return fault.New(fault.State, "this exception was resolved before: %s by %s", x.State, cmp.Or(x.Resolution.By, "the gateway itself"))
	case !slices.Contains(x.Permitted(), exception.ReRead):
		return fault.New(fault.Invalid, "an exception of this kind has no receipt to be read again: possible are %s", fault.List(x.Permitted()))
	}
	_, failed, err := r.reread(ctx, []*store.ExceptionView{x}, store.Rereading{Person: what.Person, Reason: what.Reason})
	if err == nil && len(failed) > 0 {
		err = failed[0]
	}
	return err
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

// ResolveGroup resolves the open exceptions of a group, the newest first and no more than a batch of them; read again
// are all, since some may stay open. It returns how many it has resolved, and the errors of those that could not be.
func (r *Resolver) ResolveGroup(ctx context.Context, g Group, a exception.Action, person, reason string) (done int, failed []error, err error) {
	if a == exception.ReRead {
		return r.rereadGroup(ctx, g, store.Rereading{Person: person, Reason: reason})
	}
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

// rereadGroup reads the receipts of all open exceptions of a group again. Those that are kept one by one are a
// thousand at most.
func (r *Resolver) rereadGroup(ctx context.Context, g Group, by store.Rereading) (done int, failed []error, err error) {
	page := store.Page{Limit: groupBatch}
	for {
		open, err := r.cfg.Store.Exceptions(ctx, g.Tenant, store.ExceptionFilter{
			State: exception.Open, Kind: g.Kind, Connection: g.Connection, Hour: g.Hour,
		}, page)
		if err != nil || len(open) == 0 {
			return done, failed, err
		}
		n, wrong, err := r.reread(ctx, open, by)
		done, failed = done+n, append(failed, wrong...)
		if err != nil || len(open) < groupBatch {
			return done, failed, err
		}
		last := open[len(open)-1]
		page.At, page.ID = last.At, last.ID
	}
}
