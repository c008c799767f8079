package api

import (
	"context"
	"strings"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// StopView is an emergency stop.
type StopView struct {
	ID           string  `json:"id"`
	InForce      bool    `json:"in_force"`
	Tenant       *string `json:"tenant" doc:"Whose messages it holds; null: everybody's. For a key of another tenant than the installation's own it is always null, and means that tenant."`
	Purpose      *string `json:"purpose" doc:"null: of every purpose."`
	Connection   *string `json:"connection" doc:"null: on every connection."`
	Since        string  `json:"since" format:"date-time"`
	By           string  `json:"by" doc:"Who set it; of a stop that the installation's own tenant set, other tenants see 'the operator', and no reason."`
	Reason       string  `json:"reason"`
	LiftedAt     *string `json:"lifted_at" format:"date-time" doc:"null: it is in force."`
	LiftedBy     string  `json:"lifted_by,omitempty"`
	LiftedReason string  `json:"lifted_reason,omitempty"`
}

// NewStopView is the answer to setting a stop.
type NewStopView struct {
	StopView
	Made  bool `json:"made" doc:"false: a stop of this scope was in force already, and is the one that is shown."`
	Flows int  `json:"flows" doc:"In how many flows messages of this scope ever waited. 0: none so far; look at the spelling."`
}

// stopNames are the names in stops.
type stopNames struct {
	tenants     map[ident.Partition]string
	connections map[int64]string
}

func (a *API) stopNames(ctx context.Context) (n stopNames, err error) {
	if n.tenants, err = a.cfg.Store.TenantNames(ctx); err == nil {
		n.connections, err = a.cfg.Store.ConnectionNames(ctx)
	}
	return n, err
}

// Operator stands for the person of a stop that is another tenant's than the one who looks.
const Operator = "the operator"

func (n stopNames) view(s *store.Stop, viewer ident.Partition) StopView {
	v := StopView{
		ID: s.ID.String(), InForce: s.LiftedAt == 0, Since: at(s.At), By: Operator, LiftedAt: stamp(s.LiftedAt),
		Purpose: orNull(s.Scope.Purpose), Connection: orNull(n.connections[s.Scope.Connection]),
	}
	if viewer == store.Installation {
		v.Tenant = orNull(n.tenants[s.Scope.Tenant])
	}
	if s.Owner == viewer {
		v.By, v.Reason, v.LiftedBy, v.LiftedReason = s.Person, s.Reason, s.LiftedBy, s.LiftedReason
	}
	return v
}

type stopsIn struct {
	InForce bool `query:"in_force" doc:"true: those in force alone."`
	Paging
}

func (a *API) listStops(ctx context.Context, in *stopsIn) (List[StopView], error) {
	d := &decoder{}
	p := in.page(d)
	if err := d.fault(); err != nil {
		return List[StopView]{}, err
	}
	who := principalOf(ctx)
	found, err := a.cfg.Store.ListStops(ctx, who.Tenant, in.InForce, p)
	if err != nil {
		return List[StopView]{}, err
	}
	names, err := a.stopNames(ctx)
	view := func(s store.Stop) StopView { return names.view(&s, who.Tenant) }
	return paged(in.Limit, found, view, func(s store.Stop) (clock.Micros, [16]byte) { return s.At, s.ID }), err
}

type stopIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type stopBody struct {
	All        bool   `json:"all,omitempty" doc:"true: everything that waits; then nothing else is named."`
	Tenant     string `json:"tenant,omitempty" doc:"The tenant's name. A key of another tenant than the installation's own stops its own alone, named or not."`
	Purpose    string `json:"purpose,omitempty"`
	Connection string `json:"connection,omitempty" doc:"The connection's name. What is named together must fit together: a tenant and a purpose stop that tenant's messages of that purpose."`
	By         string `json:"by" doc:"The person who does this."`
	Reason     string `json:"reason" doc:"Why; it is kept."`
}

const (
	rightBy         = "write who does this"
	rightStopReason = "write why; it is kept for ever, with who did it"
)

func (a *API) createStop(ctx context.Context, in *stopIn) (NewStopView, error) {
	names, err := a.stopNames(ctx)
	if err != nil {
		return NewStopView{}, err
	}
	body, err := decodeStop(in)
	if err != nil {
		return NewStopView{}, err
	}
	who := principalOf(ctx)
	scope, err := names.scope(&body, who.Tenant)
	if err != nil {
		return NewStopView{}, err
	}
	s, made, err := a.cfg.Store.PutStop(ctx, store.Stop{
		ID: ident.NewStop(who.Tenant), Scope: scope, Owner: who.Tenant, Person: body.By, Reason: body.Reason, Caller: who.Key,
	})
	if err != nil {
		return NewStopView{}, err
	}
	a.cfg.Log.Warn("an emergency stop is in force", "stop", s.ID.String(), "made", made)
	flows, err := a.cfg.Store.CountFlows(ctx, scope)
	return NewStopView{StopView: names.view(&s, who.Tenant), Made: made, Flows: flows}, err
}

func decodeStop(in *stopIn) (body stopBody, err error) {
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"all", d.flag(&body.All)}, {"tenant", d.text(&body.Tenant)}, {"purpose", d.text(&body.Purpose)}, {"connection", d.text(&body.Connection)},
			{"by", d.required(&body.By, rightBy)}, {"reason", d.required(&body.Reason, rightStopReason)},
		}
	}, needed{"by", rightBy}, needed{"reason", rightStopReason})
	if err != nil {
		return body, err
	}
	d := &decoder{}
	d.shown("by", body.By)
	d.shown("reason", body.Reason)
	switch named := body.Tenant + body.Purpose + body.Connection; {
	case body.All && named != "":
		d.wrong("#/all", "all leaves nothing to name: leave it out, or the others")
	case !body.All && named == "":
		d.wrong("#", "name a tenant, a purpose or a connection, or write \"all\": true")
	}
	return body, d.fault()
}

// longestShown is the longest person or reason, in bytes.
const longestShown = 500

// shown refuses what could not be shown to people as it is.
func (d *decoder) shown(member, text string) {
	if strings.ContainsFunc(text, unshown) {
		d.wrong("#/"+member, "leave out control characters and invisible ones")
	}
	if len(text) > longestShown {
		d.wrong("#/"+member, "too long: at most %d bytes", longestShown)
	}
}

// scope reads what is to be stopped. A tenant other than the installation's own stops its own messages alone, and
// learns of no other tenant whether it exists.
func (n stopNames) scope(body *stopBody, tenant ident.Partition) (flow.Scope, error) {
	d := &decoder{}
	s := flow.Scope{Purpose: body.Purpose, Tenant: idOf(n.tenants, body.Tenant), Connection: idOf(n.connections, body.Connection)}
	foreign := tenant != store.Installation && s.Tenant != tenant
	if body.Tenant != "" && (s.Tenant == 0 || foreign) {
		d.wrong("#/tenant", "there is no tenant of this name")
	}
	if body.Connection != "" && s.Connection == 0 {
		d.wrong("#/connection", "there is no connection of this name")
	}
	if foreign {
		s.Tenant = tenant
	}
	return s, d.fault()
}

// idOf finds a name's number; 0: there is none.
func idOf[ID comparable](names map[ID]string, name string) (none ID) {
	for id, n := range names {
		if n == name && name != "" {
			return id
		}
	}
	return none
}

type liftIn struct {
	ID          string `path:"id"`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type liftBody struct {
	By     string `json:"by" doc:"The person who does this."`
	Reason string `json:"reason" doc:"Why; it is kept."`
}

func (a *API) liftStop(ctx context.Context, in *liftIn) (StopView, error) {
	id, err := parseID[ident.Stop](in.ID)
	if err != nil {
		return StopView{}, err
	}
	who, l := principalOf(ctx), store.Lift{Stop: id}
	l.Owner, l.Caller = who.Tenant, who.Key
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"by", d.required(&l.Person, rightBy)}, {"reason", d.required(&l.Reason, rightStopReason)}}
	}, needed{"by", rightBy}, needed{"reason", rightStopReason})
	if err != nil {
		return StopView{}, err
	}
	d := &decoder{}
	d.shown("by", l.Person)
	d.shown("reason", l.Reason)
	if err := d.fault(); err != nil {
		return StopView{}, err
	}
	s, err := a.cfg.Store.LiftStop(ctx, l)
	if err != nil {
		return StopView{}, err
	}
	a.cfg.Log.Warn("an emergency stop was lifted", "stop", s.ID.String())
	names, err := a.stopNames(ctx)
	return names.view(&s, who.Tenant), err
}
