package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// ExceptionView is one thing that a person has to settle.
type ExceptionView struct {
	ID         string            `json:"id"`
	At         string            `json:"at" format:"date-time"`
	Kind       string            `json:"kind" doc:"unmatched, ambiguous, conflicting, unreadable, lost_answer or missing. Accept unknown values."`
	State      string            `json:"state" doc:"open, attached, dismissed, reread or settled. See docs/states.md. Accept unknown values."`
	Open       bool              `json:"open" doc:"It waits for a person, or for evidence that settles it."`
	Connection string            `json:"connection"`
	Tenant     string            `json:"tenant,omitempty" doc:"Whose it is, where those of all tenants were asked for."`
	Message    *string           `json:"message"`
	Attempt    int               `json:"attempt,omitempty"`
	Part       int               `json:"part,omitempty"`
	Receipt    *string           `json:"receipt"`
	Detail     string            `json:"detail"`
	Candidates []AttemptPartView `json:"candidates,omitempty" doc:"The attempts that a receipt without a match may belong to; message is that of the first."`
	Actions    []string          `json:"actions" nullable:"false" doc:"What it can be resolved by: attach, dismiss, reread. Accept unknown values."`
	Resolution *ResolutionView   `json:"resolution" doc:"null: it is open."`
	GroupCount int64             `json:"group_count" doc:"How many of this connection, kind and hour there are."`
}

// AttemptPartView names one part of one attempt.
type AttemptPartView struct {
	Message string `json:"message"`
	Attempt int    `json:"attempt"`
	Part    int    `json:"part"`
}

// ResolutionView is what became of an exception.
type ResolutionView struct {
	At     string           `json:"at" format:"date-time"`
	By     *string          `json:"by" doc:"Who resolved it; null: evidence did, by itself."`
	Reason string           `json:"reason"`
	State  string           `json:"state,omitempty" doc:"What the person said that its status stands for; left out: what it says itself."`
	To     *AttemptPartView `json:"to" doc:"What its evidence was given to; null: to nothing."`
}

func attemptPartView(p exception.Part) AttemptPartView {
	return AttemptPartView{p.Message.String(), int(p.Attempt), int(p.Part)}
}

func exceptionView(x *store.ExceptionView, names map[int64]string) ExceptionView {
	v := ExceptionView{
		ID: x.ID.String(), At: at(x.At), Kind: string(x.Kind), State: x.State.String(), Open: x.State == exception.Open,
		Connection: names[x.Connection], Message: orNull(x.Message.String()), Attempt: int(x.Attempt), Part: int(x.Part),
		Receipt: orNull(x.Receipt.String()), Detail: x.Detail, Actions: []string{}, GroupCount: x.GroupCount,
	}
	for _, c := range x.Candidates {
		v.Candidates = append(v.Candidates, attemptPartView(c))
	}
	for _, a := range x.Permitted() {
		v.Actions = append(v.Actions, string(a))
	}
	if r := x.Resolution; x.State != exception.Open {
		v.Resolution = &ResolutionView{At: at(r.At), By: orNull(r.By), Reason: r.Reason, State: r.State}
		if !r.To.Message.IsZero() {
			to := attemptPartView(r.To)
			v.Resolution.To = &to
		}
	}
	return v
}

type exceptionsIn struct {
	Message    string `query:"message" doc:"Only what is about this message."`
	State      string `query:"state" doc:"open, attached, dismissed, reread or settled."`
	Kind       string `query:"kind"`
	Connection string `query:"connection" doc:"The connection's name."`
	Hour       string `query:"hour" doc:"Of a group, as groups show it (RFC 3339)."`
	AllTenants bool   `query:"all_tenants" doc:"Open ones of every tenant, each with its tenant's name: for a key of the installation's own tenant with the scope admin."`
	Paging
}

func (a *API) listExceptions(ctx context.Context, in *exceptionsIn) (List[ExceptionView], error) {
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return List[ExceptionView]{}, err
	}
	d := &decoder{}
	f, p := in.filter(d, names), in.page(d)
	if err := d.fault(); err != nil {
		return List[ExceptionView]{}, err
	}
	tenants, err := a.tenantsAsked(ctx, in.AllTenants)
	if err != nil {
		return List[ExceptionView]{}, err
	}
	found, err := a.cfg.Store.Exceptions(ctx, principalOf(ctx).Tenant, f, p)
	view := func(x *store.ExceptionView) ExceptionView {
		v := exceptionView(x, names)
		v.Tenant = tenants[x.Tenant]
		return v
	}
	return paged(in.Limit, found, view, exceptionPlace), err
}

// tenantsAsked are the names of all tenants, for an operator who asks for what is all of theirs.
func (a *API) tenantsAsked(ctx context.Context, all bool) (map[ident.Partition]string, error) {
	if !all {
		return nil, nil
	}
	if who := principalOf(ctx); who.Tenant != a.cfg.Installation || !who.Scopes.Allow(ScopeAdmin) {
		return nil, fault.New(fault.NotFound, "exceptions of all tenants belong to the installation: a key of its own tenant with the scope admin is needed")
	}
	return a.cfg.Store.TenantNames(ctx)
}

func (in *exceptionsIn) filter(d *decoder, names map[int64]string) store.ExceptionFilter {
	f := store.ExceptionFilter{
		Connection: d.connection("connection", in.Connection, names), Hour: d.moment("hour", in.Hour), About: d.messageID("message", in.Message),
	}
	if in.State != "" {
		state, ok := exception.ParseState(in.State)
		if !ok {
			d.wrong("state", "no such state: write open, attached, dismissed, reread or settled")
		}
		f.State = state
	}
	f.Kind, f.AllTenants = d.kind("kind", in.Kind), in.AllTenants
	if f.AllTenants && f.State > exception.Open {
		d.wrong("state", "of all tenants, open ones alone are listed")
	}
	return f
}

// kind reads a kind of exception.
func (d *decoder) kind(place, name string) exception.Kind {
	for _, k := range exception.Kinds {
		if string(k) == name {
			return k
		}
	}
	if name != "" {
		d.wrong(place, "no such kind: the kinds are %s", fault.List(exception.Kinds))
	}
	return ""
}

// connection reads a connection's name.
func (d *decoder) connection(place, name string, names map[int64]string) int64 {
	id := idOf(names, name)
	if name != "" && id == 0 {
		d.wrong(place, "there is no connection of this name")
	}
	return id
}

func exceptionPlace(x *store.ExceptionView) (clock.Micros, [16]byte) { return x.At, x.ID }

func (a *API) getException(ctx context.Context, in *oneIn) (ExceptionView, error) {
	id, err := parseID[ident.Exception](in.ID)
	if err != nil {
		return ExceptionView{}, err
	}
	x, err := a.cfg.Store.Exception(ctx, subjectOf(ctx), id)
	if err != nil {
		return ExceptionView{}, err
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	return exceptionView(x, names), err
}
