package api

import (
	"context"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/store"
)

// fakeConnections has one connection and remembers what it was asked.
type fakeConnections struct {
	name    string
	change  ConnectionChange
	rules   []RouteView
	version int64
	err     error
}

func (f *fakeConnections) Connections(context.Context) ([]ConnectionView, error) {
	one := ConnectionView{Name: "carrier", Kind: "simulator", From: "api", State: "bound", Version: 1}
	two := one
	two.Name = "other"
	return []ConnectionView{one, two}, nil
}

func (f *fakeConnections) AddConnection(_ context.Context, name string, c ConnectionChange) error {
	f.name, f.change = name, c
	return f.err
}

func (f *fakeConnections) ChangeConnection(_ context.Context, name string, c ConnectionChange) error {
	f.name, f.change = name, c
	return f.err
}

func (f *fakeConnections) Routes(context.Context) (RoutesView, error) {
	return RoutesView{From: "api", Rules: f.rules, Version: f.version + 1}, nil
}

func (f *fakeConnections) PutRoutes(_ context.Context, rules []RouteView, version int64, by string) error {
	f.rules, f.version, f.change.By = rules, version, by
	return f.err
}

// What is asked of connections and routes reaches who administers them whole, with who asks.
//
// covers: X5
func TestConnectionsAreAdministered(t *testing.T) {
	w := newWorld(t)
	f := w.api.cfg.Connections.(*fakeConnections)
	rec := w.call("POST", "/v1/connections", w.admin, `{"name":" carrier ","settings":{"window":20,"kind":"simulator"},"enabled":false}`)
	if rec.Code != 201 || f.name != "carrier" || string(f.change.Settings) != `{"kind":"simulator","window":20}` || *f.change.Enabled || !strings.Contains(f.change.By, "checkout admin, key ") {
		t.Errorf("%d %s: %s, %+v", rec.Code, rec.Body, f.name, f.change)
	}
	rec = w.call("PATCH", "/v1/connections/carrier", w.admin, `{"settings":{"rate":null},"version":7}`)
	if rec.Code != 200 || string(f.change.Settings) != `{"rate":null}` || f.change.Enabled != nil || *f.change.Version != 7 || f.change.Remove {
		t.Errorf("%d %s: %+v", rec.Code, rec.Body, f.change)
	}
	if rec = w.call("DELETE", "/v1/connections/carrier", w.admin, ""); rec.Code != 200 || !f.change.Remove {
		t.Errorf("%d %s: %+v", rec.Code, rec.Body, f.change)
	}
	rec = w.call("PUT", "/v1/routes", w.admin, `{"version":4,"rules":[{"purpose":"login","tenant":"acme","prefix":"49","sender":"SHOP","use":["a","b"]},{"use":["a"]}]}`)
	if r := f.rules; rec.Code != 200 || f.version != 4 || len(r) != 2 || r[0].Tenant != "acme" || r[0].Prefix+r[0].Sender+r[0].Purpose != "49SHOPlogin" || len(r[0].Use) != 2 || !strings.Contains(rec.Body.String(), `"version":5`) {
		t.Errorf("%d %s: %+v", rec.Code, rec.Body, f)
	}
	first, second := List[ConnectionView]{}, List[ConnectionView]{}
	w.decode(w.call("GET", "/v1/connections?limit=1", w.admin, ""), 200, &first)
	w.decode(w.call("GET", "/v1/connections?limit=1&after="+*first.Next, w.admin, ""), 200, &second)
	if first.Data[0].Name != "carrier" || second.Data[0].Name != "other" || second.Next != nil {
		t.Errorf("pages %+v, then %+v", first, second)
	}
	f.err = store.ErrOtherVersion
	if rec = w.call("PUT", "/v1/routes", w.admin, `{"version":4,"rules":[]}`); rec.Code != 409 || !strings.Contains(rec.Body.String(), "read it again") {
		t.Errorf("somebody was faster: %d %s", rec.Code, rec.Body)
	}
	if rec = w.call("GET", "/v1/connections/nobody", w.admin, ""); rec.Code != 404 {
		t.Errorf("one that is not there: %d %s", rec.Code, rec.Body)
	}
}

func TestWrongConnectionBodies(t *testing.T) {
	w := newWorld(t)
	for what, want := range map[string]string{
		`POST /v1/connections {"name":"x"}`:                                  "#/settings",
		`POST /v1/connections {"settings":{}}`:                               "#/name",
		`POST /v1/connections {"name":"x","settings":"kind: smpp"}`:          "#/settings",
		`PATCH /v1/connections/carrier {"enabled":"yes"}`:                    "#/enabled",
		`PATCH /v1/connections/carrier {"version":-1}`:                       "#/version",
		`PUT /v1/routes {"rules":[]}`:                                        "#/version",
		`PUT /v1/routes {"version":1,"rules":{}}`:                            "#/rules",
		`PUT /v1/routes {"version":1,"rules":[{"use":["a"],"prefxi":"49"}]}`: "did you mean prefix?",
		`PUT /v1/routes {"version":1.5,"rules":[{"use":["a"]}]}`:             "#/version",
		`PUT /v1/routes {"version":1,"rules":[{"use":["a"]},{"use":"b"}]}`:   "#/rules/1/use",
	} {
		method, rest, _ := strings.Cut(what, " ")
		path, body, _ := strings.Cut(rest, " ")
		if rec := w.call(method, path, w.admin, body); rec.Code != 400 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", what, rec.Code, rec.Body, want)
		}
	}
}
