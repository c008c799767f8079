package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/store"
)

// TenantView is a tenant, as those who run the installation see it.
type TenantView struct {
	Name        string  `json:"name" doc:"Its id: it never changes." example:"acme"`
	Label       string  `json:"label" doc:"What people call it."`
	State       string  `json:"state" doc:"active or suspended: then it reads, and begins nothing new. Accept unknown values."`
	Prepaid     bool    `json:"prepaid" doc:"Whether it pays from a wallet."`
	CreatedAt   *string `json:"created_at" format:"date-time" doc:"null: it is from before that was kept."`
	CreatedBy   string  `json:"created_by,omitempty"`
	StateSince  *string `json:"state_since" format:"date-time" doc:"When its state last changed; null: it never has."`
	StateBy     string  `json:"state_by,omitempty" doc:"Who changed it."`
	StateReason string  `json:"state_reason,omitempty"`
}

func tenantView(t store.Tenant) TenantView {
	return TenantView{
		Name: t.Name, Label: t.Label, State: t.State.String(), Prepaid: t.Prepaid, CreatedAt: stamp(t.CreatedAt), CreatedBy: t.CreatedBy,
		StateSince: stamp(t.StateAt), StateBy: t.StateBy, StateReason: t.StateReason,
	}
}

func (a *API) registerTenants() {
	operators := func(method, path, id, summary string) huma.Operation {
		o := op(method, path, id, "Tenants", summary)
		o.Middlewares = append(o.Middlewares, a.operator)
		return o
	}
	add(a, operators("GET", "/v1/tenants", "list-tenants", "Tenants by name"), ScopeAdmin, a.listTenants)
	add(a, made(withBody(operators("POST", "/v1/tenants", "create-tenant", "Make a tenant"), a.schema(tenantBody{}))), ScopeAdmin, a.createTenant)
	add(a, a.ofTenant(op("GET", "/v1/tenants/{tenant}", "get-tenant", "Tenants", "One tenant")), ScopeAdmin, a.getTenant)
	add(a, a.ofTenant(withBody(op("PATCH", "/v1/tenants/{tenant}", "change-tenant", "Tenants", "Change a tenant's label, suspend it, or lift that"), a.schema(tenantChange{}))),
		ScopeAdmin, a.changeTenant)
}

type listTenantsIn struct {
	After string `query:"after" maxLength:"64" doc:"Where the page before ended: its next."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many entries at most."`
}

func (a *API) listTenants(ctx context.Context, in *listTenantsIn) (List[TenantView], error) {
	found, err := a.cfg.Store.ListTenants(ctx, in.After, in.Limit+1)
	page := List[TenantView]{Data: []TenantView{}}
	for i := range found {
		if i == in.Limit {
			page.Next = &found[i-1].Name
			break
		}
		page.Data = append(page.Data, tenantView(found[i]))
	}
	return page, err
}

type tenantBody struct {
	Name    string `json:"name" doc:"Its id, for paths, metrics and queues: lower-case letters, digits and hyphens. It never changes." example:"acme"`
	Label   string `json:"label,omitempty" doc:"What people call it; else its name."`
	Prepaid bool   `json:"prepaid,omitempty" default:"true" doc:"Whether it pays from a wallet."`
}

func (a *API) createTenant(ctx context.Context, in *smallIn) (TenantView, error) {
	t := store.Tenant{Prepaid: true, CreatedBy: by(ctx)}
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"name", d.required(&t.Name, tenant.RightName)}, {"label", d.text(&t.Label)}, {"prepaid", d.flag(&t.Prepaid)}}
	}, needed{"name", tenant.RightName})
	if err != nil {
		return TenantView{}, err
	}
	d := &decoder{}
	if !tenant.CheckName(t.Name) {
		d.wrong("#/name", "%s", tenant.RightName)
	}
	if t.Label == "" {
		t.Label = t.Name
	}
	d.named("label", t.Label)
	if err := d.fault(); err != nil {
		return TenantView{}, err
	}
	if t, err = a.cfg.Store.CreateTenant(ctx, t); err != nil {
		return TenantView{}, err
	}
	a.changed(ctx)
	a.cfg.Log.Info("a tenant was made", "tenant", t.Name, "key", principalOf(ctx).Key)
	return tenantView(t), nil
}

type tenantIn struct {
	Tenant string `path:"tenant"`
}

func (a *API) getTenant(ctx context.Context, in *tenantIn) (TenantView, error) {
	t, err := a.cfg.Store.TenantByName(ctx, in.Tenant)
	return tenantView(t), err
}

type tenantChange struct {
	Label  string `json:"label,omitempty"`
	State  string `json:"state,omitempty" doc:"active or suspended; with by and reason."`
	By     string `json:"by,omitempty" doc:"The person who changes the state."`
	Reason string `json:"reason,omitempty" doc:"Why; it is kept."`
}

func (a *API) changeTenant(ctx context.Context, in *smallIn) (TenantView, error) {
	c, err := decodeTenantChange(in)
	if err != nil {
		return TenantView{}, err
	}
	t, err := a.cfg.Store.ChangeTenant(ctx, subjectOf(ctx), c)
	if err != nil {
		return TenantView{}, err
	}
	a.changed(ctx)
	a.cfg.Log.Warn("a tenant was changed", "tenant", t.Name, "state", t.State.String(), "key", principalOf(ctx).Key)
	return tenantView(t), nil
}

func decodeTenantChange(in *smallIn) (c store.TenantChange, err error) {
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"label", d.optional(&c.Label)}, {"state", oneOf(d, &c.State, tenant.ParseState, tenant.States())},
			{"by", d.required(&c.By, rightBy)}, {"reason", d.required(&c.Reason, rightStateReason)},
		}
	})
	if err != nil {
		return c, err
	}
	d := &decoder{}
	if c.Label != nil {
		d.named("label", *c.Label)
	}
	d.shown("by", c.By)
	d.shown("reason", c.Reason)
	if c.State == 0 && c.Label == nil {
		d.wrong("#", "name what is to change: label or state")
	}
	if c.State != 0 && c.By == "" {
		d.wrong("#/by", "missing: %s", rightBy)
	}
	if c.State != 0 && c.Reason == "" {
		d.wrong("#/reason", "missing: %s", rightStateReason)
	}
	return c, d.fault()
}

const rightStateReason = "why the tenant is suspended, or is not any more"
