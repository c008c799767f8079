package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
)

// A key makes, replaces and ends none that is wider than itself: whoever has a test key cannot get a live one with it, nor
// whoever has a key for a day one for ever. Its scopes need no check: who gets here has the scope admin, and so all of them.

// coversKind refuses what is done to a key of a wider kind. It holds at every tenant's place.
func coversKind(ctx context.Context, kind tenant.KeyKind) error {
	if own := principalOf(ctx).Kind; !own.Covers(kind) {
		return fault.New(fault.Scope, "a %s key makes, replaces and ends no %s keys: ask for kind %s, or use a %s key", own, kind, own, kind)
	}
	return nil
}

// coversEnd refuses a key that works longer than the one that makes it. Those who run the installation give a tenant keys
// whose end is the tenant's matter.
func coversEnd(ctx context.Context, end clock.Micros) error {
	who := principalOf(ctx)
	if who.Ends == 0 || subjectOf(ctx) != who.Tenant || end != 0 && end <= who.Ends {
		return nil
	}
	return fault.New(fault.Scope, "this key ends at %s, and makes none that works longer: give an expires_at no later than that, or use a key without an end", at(who.Ends))
}

// coversOld refuses to replace or end a key of a wider kind. One that is not there, or another tenant's, is the store's to
// refuse: what is said of it must not depend on its kind.
func (a *API) coversOld(ctx context.Context, id string) error {
	old, err := a.cfg.Store.Key(ctx, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound && err != nil, err == nil && old.Tenant != subjectOf(ctx):
		return nil
	case err != nil:
		return err
	}
	return coversKind(ctx, old.Kind)
}
