package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// ExceptionView is one thing that a person has to settle.
type ExceptionView struct {
	ID         string  `json:"id"`
	At         string  `json:"at" format:"date-time"`
	Kind       string  `json:"kind" doc:"unmatched, ambiguous, conflicting, unreadable or lost_answer. Accept unknown values."`
	Open       bool    `json:"open"`
	Connection string  `json:"connection"`
	Message    *string `json:"message"`
	Attempt    int     `json:"attempt,omitempty"`
	Part       int     `json:"part,omitempty"`
	Receipt    *string `json:"receipt"`
	Detail     string  `json:"detail"`
	GroupCount int64   `json:"group_count" doc:"How many of this connection, kind and hour there are."`
}

func exceptionView(x *store.ExceptionView, names map[int64]string) ExceptionView {
	return ExceptionView{
		ID: x.ID.String(), At: at(x.At), Kind: string(x.Kind), Open: x.State == exception.Open, Connection: names[x.Connection],
		Message: orNull(x.Message.String()), Attempt: int(x.Attempt), Part: int(x.Part),
		Receipt: orNull(x.Receipt.String()), Detail: x.Detail, GroupCount: x.GroupCount,
	}
}

func (a *API) listExceptions(ctx context.Context, in *aboutIn) (List[ExceptionView], error) {
	about, p, err := in.read()
	if err != nil {
		return List[ExceptionView]{}, err
	}
	found, err := a.cfg.Store.Exceptions(ctx, principalOf(ctx).Tenant, store.ExceptionFilter{About: about}, p)
	if err != nil {
		return List[ExceptionView]{}, err
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return List[ExceptionView]{}, err
	}
	view := func(x *store.ExceptionView) ExceptionView { return exceptionView(x, names) }
	return paged(in.Limit, found, view, exceptionPlace), nil
}

func exceptionPlace(x *store.ExceptionView) (clock.Micros, [16]byte) { return x.At, x.ID }
