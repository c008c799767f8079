package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/fault"
)

// Connections administers connections and routes. Errors are faults: NotFound, Invalid with fields, and State where the
// configuration has the thing, where somebody was faster, or where something else stands in the way.
type Connections interface {
	Connections(ctx context.Context) ([]ConnectionView, error)
	AddConnection(ctx context.Context, name string, c ConnectionChange) error
	ChangeConnection(ctx context.Context, name string, c ConnectionChange) error
	Routes(ctx context.Context) (RoutesView, error)
	PutRoutes(ctx context.Context, rules []RouteView, version int64, by string) error
}

// ConnectionChange is what is to become of a connection. What is left out stays.
type ConnectionChange struct {
	Settings []byte // JSON: the members to be set; null takes one away
	Enabled  *bool
	Remove   bool
	Version  *int64 // the one that was seen; nil: whatever is there
	By       string
}

// ConnectionView is a connection, as the node sees it that answers.
type ConnectionView struct {
	Name      string         `json:"name"`
	Kind      string         `json:"kind" doc:"smpp or simulator. Accept unknown values."`
	From      string         `json:"from" doc:"Where its settings are: api; file, the configuration file of this node, which alone changes them; or default, where nobody has configured any. Accept unknown values."`
	Enabled   bool           `json:"enabled" doc:"Messages are sent over it."`
	Simulated bool           `json:"simulated"`
	State     string         `json:"state" doc:"How it is on this node: bound is the state in which messages leave. For people: accept unknown values."`
	Problem   string         `json:"problem,omitempty" doc:"Why this node cannot run it though it is enabled."`
	Waiting   int            `json:"waiting" doc:"Messages that wait to be sent over it, counted up to 1000 in each lane. While it is disabled they wait on."`
	Settings  map[string]any `json:"settings" doc:"As in the configuration file. Secrets are references or masked."`
	Version   int64          `json:"version" doc:"Counts its changes through the API; 0: it is not the API's."`
	ChangedAt *string        `json:"changed_at" format:"date-time"`
	ChangedBy string         `json:"changed_by,omitempty"`
}

func (a *API) registerConnections() {
	operators := func(method, path, id, summary string) huma.Operation {
		o := op(method, path, id, "Connections", summary)
		o.Middlewares = append(o.Middlewares, a.operator)
		return o
	}
	add(a, operators("GET", "/v1/connections", "list-connections", "Connections by name"), ScopeAdmin, a.listConnections)
	add(a, made(withBody(operators("POST", "/v1/connections", "add-connection", "Add a connection, on all nodes"), a.schema(connectionBody{}))), ScopeAdmin, a.addConnection)
	add(a, operators("GET", "/v1/connections/{id}", "get-connection", "One connection, by its name"), ScopeAdmin, a.getConnection)
	add(a, withBody(operators("PATCH", "/v1/connections/{id}", "change-connection", "Change a connection's settings, disable or enable it"), a.schema(connectionPatch{})),
		ScopeAdmin, a.changeConnection)
	add(a, operators("DELETE", "/v1/connections/{id}", "remove-connection", "Disable a connection and take it from the list; its number stays"), ScopeAdmin, a.removeConnection)
	add(a, operators("GET", "/v1/routes", "get-routes", "Which messages leave over which connection"), ScopeAdmin, a.getRoutes)
	add(a, withBody(operators("PUT", "/v1/routes", "put-routes", "Replace the routes, as a whole"), a.schema(routesBody{})), ScopeAdmin, a.putRoutes)
}

func (a *API) listConnections(ctx context.Context, in *listTenantsIn) (List[ConnectionView], error) {
	all, err := a.cfg.Connections.Connections(ctx)
	page := List[ConnectionView]{Data: []ConnectionView{}}
	for _, c := range all {
		switch {
		case c.Name <= in.After:
		case len(page.Data) == in.Limit:
			page.Next = &page.Data[in.Limit-1].Name
			return page, err
		default:
			page.Data = append(page.Data, c)
		}
	}
	return page, err
}

func (a *API) getConnection(ctx context.Context, in *oneIn) (ConnectionView, error) {
	all, err := a.cfg.Connections.Connections(ctx)
	if err != nil {
		return ConnectionView{}, err
	}
	for _, c := range all {
		if c.Name == in.ID {
			return c, nil
		}
	}
	return ConnectionView{}, fault.New(fault.NotFound, "there is no connection of this name")
}

type connectionBody struct {
	Name     string         `json:"name" doc:"Letters, digits and the signs _ - . without spaces. It never changes." example:"carrier_b"`
	Settings map[string]any `json:"settings" doc:"The members of a connection in the configuration file. Secrets are references: env:NAME or file:PATH."`
	Enabled  *bool          `json:"enabled,omitempty" doc:"Else true."`
}

const (
	rightConnection = "a name such as carrier_b"
	rightSettings   = `the members of a connection, such as {"kind": "smpp", "address": "smsc.example.net:2775"}`
)

func (a *API) addConnection(ctx context.Context, in *smallIn) (ConnectionView, error) {
	var name string
	c := ConnectionChange{By: by(ctx)}
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"name", d.required(&name, rightConnection)}, {"settings", d.raw(&c.Settings)}, {"enabled", d.choice(&c.Enabled)}}
	}, needed{"name", rightConnection}, needed{"settings", rightSettings})
	if err == nil {
		err = a.cfg.Connections.AddConnection(ctx, name, c)
	}
	return a.changedConnection(ctx, name, err)
}

type connectionPatch struct {
	Settings map[string]any `json:"settings,omitempty" doc:"Members to be set; null takes one away, and so its default counts. kind and id_space cannot be changed."`
	Enabled  *bool          `json:"enabled,omitempty" doc:"false: what was sent is awaited, then it is closed; what waits for it waits on."`
	Version  *int64         `json:"version,omitempty" doc:"The version that was seen: another one is 409."`
}

func (a *API) changeConnection(ctx context.Context, in *smallOneIn) (ConnectionView, error) {
	c := ConnectionChange{By: by(ctx)}
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"settings", d.raw(&c.Settings)}, {"enabled", d.choice(&c.Enabled)}, {"version", d.count(&c.Version)}}
	})
	if err == nil {
		err = a.cfg.Connections.ChangeConnection(ctx, in.ID, c)
	}
	return a.changedConnection(ctx, in.ID, err)
}

func (a *API) changedConnection(ctx context.Context, name string, err error) (ConnectionView, error) {
	if err != nil {
		return ConnectionView{}, err
	}
	a.changed(ctx)
	return a.getConnection(ctx, &oneIn{ID: name})
}

// RemovedConnection says what was removed.
type RemovedConnection struct {
	Name    string `json:"name"`
	Removed bool   `json:"removed" doc:"true: it is in no list any more. The same name added again is the same connection."`
}

func (a *API) removeConnection(ctx context.Context, in *oneIn) (RemovedConnection, error) {
	if err := a.cfg.Connections.ChangeConnection(ctx, in.ID, ConnectionChange{Remove: true, By: by(ctx)}); err != nil {
		return RemovedConnection{}, err
	}
	a.changed(ctx)
	return RemovedConnection{in.ID, true}, nil
}

// raw reads an object as it is, for somebody who knows its members.
func (d *decoder) raw(into *[]byte) memberReader {
	return func(v strictjson.Value, pointer string) {
		if d.is(v, pointer, strictjson.Object) {
			*into = v.AppendCanonical(nil)
		}
	}
}

// choice reads a flag that may be left out.
func (d *decoder) choice(into **bool) memberReader {
	return func(v strictjson.Value, pointer string) {
		var chosen bool
		d.flag(&chosen)(v, pointer)
		*into = &chosen
	}
}
