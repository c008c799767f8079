package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/settings"
	"github.com/einmal/einmal/internal/store"
)

// administration is api.Connections. Whoever changes something reads first what other nodes have changed.
type administration struct{ *App }

var _ api.Connections = administration{}

// Connections implements api.Connections.
func (a administration) Connections(ctx context.Context) ([]api.ConnectionView, error) {
	views := []api.ConnectionView{}
	for _, l := range a.lines.all() {
		if l.removed {
			continue
		}
		v, err := l.view()
		if err != nil {
			return nil, err
		}
		if v.Waiting, err = a.waiting(ctx, l, waitingTo); err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

func (l *line) view() (api.ConnectionView, error) {
	v := api.ConnectionView{
		Name: l.name, Kind: l.cfg.Kind, From: l.source, Enabled: l.enabled, Simulated: l.simulated(), State: l.status(),
		Version: l.changed.Version, ChangedBy: l.changed.By,
	}
	if l.enabled {
		v.Problem = l.trouble()
	}
	v.ChangedAt = api.Stamp(l.changed.At)
	shown, err := l.shown()
	if err == nil {
		err = json.Unmarshal(shown, &v.Settings)
	}
	return v, err
}

// shown is a line's settings as JSON: as they were given to the API, or those of the configuration, secrets masked.
func (l *line) shown() ([]byte, error) {
	if l.source == fromAPI {
		return []byte(l.settings), nil
	}
	k := l.cfg
	k.Password = settings.Mask("value", k.Password)
	b, err := yaml.MarshalWithOptions(k, yaml.JSON())
	return bytes.TrimSpace(b), err
}

// AddConnection implements api.Connections. A name that was removed gets its number back, and what is stored under it.
func (a administration) AddConnection(ctx context.Context, name string, c api.ConnectionChange) error {
	if err := a.control.Load(ctx); err != nil {
		return err
	}
	if !connectionName.MatchString(name) {
		return wrongMember("#/name", "write letters, digits and the signs _ - . without spaces, at most 64")
	}
	put := store.ConnectionSetting{Settings: string(c.Settings), Enabled: c.Enabled == nil || *c.Enabled, Changed: store.Changed{By: c.By}}
	before := a.lines.now.Load().byName[name]
	switch {
	case before != nil && before.source != fromAPI:
		return before.notHere()
	case before != nil && !before.removed:
		return fault.New(fault.State, "there is a connection of this name: change it with PATCH /v1/connections/%s", name)
	case before != nil:
		put.Version = before.changed.Version
	}
	k, err := a.checkSettings(name, c.Settings, before)
	if err != nil {
		return err
	}
	if put.ID, _, err = a.store.EnsureConnection(ctx, name, k.IDSpace); err == nil {
		_, err = a.store.PutConnection(ctx, put)
	}
	return err
}

// ChangeConnection implements api.Connections.
func (a administration) ChangeConnection(ctx context.Context, name string, c api.ConnectionChange) error {
	if err := a.control.Load(ctx); err != nil {
		return err
	}
	l := a.lines.now.Load().byName[name]
	switch {
	case l == nil || l.removed:
		return fault.New(fault.NotFound, "there is no connection of this name")
	case l.source != fromAPI:
		return l.notHere()
	case c.Version != nil && *c.Version != l.changed.Version:
		return store.ErrOtherVersion
	}
	put := store.ConnectionSetting{ID: l.id, Name: name, Settings: l.settings, Enabled: l.enabled, Removed: c.Remove, Changed: l.changed}
	if c.Enabled != nil {
		put.Enabled = *c.Enabled
	}
	if put.Enabled = put.Enabled && !c.Remove; c.Remove {
		if err := a.unused(ctx, l); err != nil {
			return err
		}
	}
	merged, err := merge([]byte(l.settings), c.Settings)
	if err != nil {
		return err
	}
	put.Settings = string(merged)
	if _, err := a.checkSettings(name, merged, l); err != nil {
		return err
	}
	if put.Settings == l.settings && put.Enabled == l.enabled && !c.Remove {
		return nil // nothing is another: the line is not started again
	}
	put.By = c.By
	_, err = a.store.PutConnection(ctx, put)
	return err
}

// notHere refuses to change what the configuration says.
func (l *line) notHere() error {
	if l.source == fromDefault {
		return fault.New(fault.State, "%s is the connection of a configuration that names none: name connections in the configuration file, or add others beside it", l.name)
	}
	return fault.New(fault.State, "connections.%s is in the configuration file: change it there, on every node, and start the nodes again", l.name)
}

// checkSettings reads settings. What is stored under a connection's number holds for its kind and its id space alone.
func (a administration) checkSettings(name string, given []byte, before *line) (Connection, error) {
	k, err := readSettings(given)
	if err == nil {
		err = k.refuseLiterals()
	}
	if err == nil {
		err = a.cfg.checkConnection(name, k)
	}
	switch {
	case err != nil:
		return k, wrongMember("#/settings", strings.TrimPrefix(err.Error(), "connections."+name+": "))
	case before != nil && before.cfg.Kind != k.Kind:
		return k, wrongMember("#/settings/kind", "a connection keeps its kind: add another one under another name")
	case before != nil && before.cfg.IDSpace != k.IDSpace:
		return k, wrongMember("#/settings/id_space", "a connection keeps its id space: message ids that are stored in it would not be found in another")
	}
	return k, nil
}

func wrongMember(pointer, detail string) error {
	return &fault.Fault{Code: fault.Invalid, Detail: "one field is wrong", Fields: []fault.Field{{Pointer: pointer, Detail: detail}}}
}

// merge changes members of an object by those of another (RFC 7396). Both were read as objects before.
func merge(into, change []byte) ([]byte, error) {
	if change == nil {
		return into, nil
	}
	var have, want map[string]any
	if err := errors.Join(json.Unmarshal(into, &have), json.Unmarshal(change, &want)); err != nil {
		return nil, err
	}
	return json.Marshal(merged(have, want))
}

func merged(have, want map[string]any) map[string]any {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range want {
		inner, nested := value.(map[string]any)
		was, _ := out[name].(map[string]any)
		switch {
		case value == nil:
			delete(out, name)
		case nested:
			out[name] = merged(was, inner)
		default:
			out[name] = value
		}
	}
	return out
}

// Routes implements api.Connections.
func (a administration) Routes(context.Context) (api.RoutesView, error) {
	r := a.lines.now.Load().routes
	v := api.RoutesView{From: r.source, Rules: []api.RouteView{}, Version: r.changed.Version, ChangedBy: r.changed.By}
	v.ChangedAt = api.Stamp(r.changed.At)
	for _, one := range r.shown {
		v.Rules = append(v.Rules, api.RouteView(one))
	}
	return v, nil
}

// PutRoutes implements api.Connections.
func (a administration) PutRoutes(ctx context.Context, rules []api.RouteView, version int64, by string) error {
	if err := a.control.Load(ctx); err != nil {
		return err
	}
	now := a.lines.now.Load()
	if now.routes.source == fromFile {
		return fault.New(fault.State, "routes are in the configuration file: change them there, on every node, and start the nodes again")
	}
	all := make([]Route, len(rules))
	for i, r := range rules {
		all[i] = Route(r)
	}
	err := checkRoutes(all, func(name string) bool { l := now.byName[name]; return l != nil && !l.removed })
	if err != nil {
		return wrongMember("#/rules", err.Error())
	}
	tenants, err := a.store.TenantNames(ctx)
	if err != nil {
		return err
	}
	for i, r := range all {
		if r.Tenant != "" && partitionOf(tenants, r.Tenant) == 0 {
			return wrongMember("#/rules", ruleWords(i)+": tenant: there is no tenant of this name")
		}
	}
	_, err = a.store.PutRoutes(ctx, store.RouteList{Rules: a.resolveRoutes(all, tenants), Changed: store.Changed{Version: version, By: by}})
	return err
}

// unused refuses to remove a connection to which routes lead, or for which messages wait.
func (a administration) unused(ctx context.Context, l *line) error {
	for i, one := range a.lines.now.Load().routes.shown {
		if slices.Contains(one.Use, l.name) {
			return fault.New(fault.State, "%s of the routes leads to %s: take it out of them first, or disable the connection", ruleWords(i), l.name)
		}
	}
	n, err := a.waiting(ctx, l, 1)
	if n > 0 {
		return fault.New(fault.State, "messages wait for %s: let them leave, which they do while it is enabled, or cancel them", l.name)
	}
	return err
}

// waitingTo is how far what waits is counted in each lane.
const waitingTo = 1000

// waiting counts what waits for a line.
func (a administration) waiting(ctx context.Context, l *line, most int) (n int, err error) {
	b, err := a.store.Backlog(ctx, l.id, most)
	for _, waiting := range b.Pending {
		n += waiting
	}
	return n, err
}
