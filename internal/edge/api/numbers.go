package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// NumberView is a number that is a tenant's for a time. It is the business's own and no person's: it is not masked.
type NumberView struct {
	ID        string  `json:"id" doc:"The lease's."`
	Number    string  `json:"number" example:"+12025550100"`
	From      string  `json:"from" format:"date-time" doc:"From then on what arrives on it is the tenant's."`
	Until     *string `json:"until" format:"date-time" doc:"Until just before then; null: it has no end yet."`
	CreatedAt string  `json:"created_at" format:"date-time"`
	CreatedBy string  `json:"created_by"`
}

func numberView(l store.Lease) NumberView {
	return NumberView{ID: l.ID.String(), Number: l.Number, From: at(l.Begins), Until: stamp(l.Ends), CreatedAt: at(l.CreatedAt), CreatedBy: l.CreatedBy}
}

func (a *API) registerNumbers() {
	both(a, op("GET", "/v1/numbers", "list-numbers", "Numbers", "Numbers that are leased to a tenant, now or at another time"), ScopeRead, a.listNumbers)
	theirs(a, made(withBody(op("POST", "/v1/numbers", "lease-number", "Numbers", "Lease a number; nobody else may have it in that time"), a.schema(numberBody{}))), a.leaseNumber)
	theirs(a, withBody(op("PATCH", "/v1/numbers/{id}", "end-lease", "Numbers", "Give a lease another end"), a.schema(numberChange{})), a.endLease)
}

func (a *API) listNumbers(ctx context.Context, in *Paging) (List[NumberView], error) {
	return listOf(ctx, in, a.cfg.Store.ListLeases, numberView, func(l store.Lease) (clock.Micros, [16]byte) { return l.CreatedAt, l.ID })
}

type numberBody struct {
	Number string `json:"number" doc:"With its country code." example:"+12025550100"`
	From   string `json:"from,omitempty" format:"date-time" doc:"Else from now on."`
	Until  string `json:"until,omitempty" format:"date-time" doc:"Else it has no end yet."`
}

func (a *API) leaseNumber(ctx context.Context, in *smallIn) (NumberView, error) {
	l := store.Lease{ID: ident.NewLease(subjectOf(ctx)), Tenant: subjectOf(ctx), CreatedBy: by(ctx)}
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"number", d.required(&l.Number, rightPhone)}, {"from", d.time(&l.Begins)}, {"until", d.time(&l.Ends)}}
	}, needed{"number", rightPhone})
	if err != nil {
		return NumberView{}, err
	}
	d := &decoder{}
	l.Number = d.e164("#/number", l.Number)
	if l.Ends != 0 && l.Ends <= l.Begins {
		d.wrong("#/until", "give a time after from")
	}
	if err := d.fault(); err != nil {
		return NumberView{}, err
	}
	if l, err = a.cfg.Store.LeaseNumber(ctx, l, tenant.Lease); err != nil {
		return NumberView{}, err
	}
	a.changed(ctx)
	return numberView(l), nil
}

type numberChange struct {
	Until *string `json:"until" format:"date-time" doc:"A time that is over means now; null: it has no end."`
}

const rightUntil = "when the lease ends, such as 2026-12-31T10:00:00Z, or null for no end"

func (a *API) endLease(ctx context.Context, in *smallOneIn) (NumberView, error) {
	id, err := parseID[ident.Lease](in.ID)
	if err != nil {
		return NumberView{}, err
	}
	var ends clock.Micros
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"until", func(v strictjson.Value, pointer string) {
			if v.Kind != strictjson.Null {
				d.time(&ends)(v, pointer)
			}
		}}}
	}, needed{"until", rightUntil})
	if err != nil {
		return NumberView{}, err
	}
	l, err := a.cfg.Store.EndLease(ctx, subjectOf(ctx), id, ends, tenant.Lease)
	if err != nil {
		return NumberView{}, err
	}
	a.changed(ctx)
	return numberView(l), nil
}
