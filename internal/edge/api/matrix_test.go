package api

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// about is what a route is about, which decides who may call it.
type about int

const (
	ofCaller   about = iota // what the caller's tenant has, or makes
	ofOne                   // one thing of a tenant
	ofOperator              // what belongs to those who run the installation
)

// routeCase is how a route is called rightly. Words in capitals in a body are filled in anew for each call.
type routeCase struct {
	about
	body string
	ok   int // what its owner gets here; 0: 200
}

// shared are the routes that a tenant has of its own and those who run the installation have of any, by what is behind
// /v1 and /v1/tenants/{tenant}.
var shared = map[string]routeCase{
	"GET /keys": {}, "POST /keys": {body: `{"name":"NAME","scopes":["read"]}`, ok: 201}, "POST /keys/{id}/rotate": {about: ofOne, body: `{}`, ok: 201},
	"DELETE /keys/{id}": {about: ofOne}, "GET /users": {}, "GET /users/{id}": {about: ofOne},
	"POST /users":       {body: `{"login":"NAME","name":"Ann","role":["read"]}`, ok: 201},
	"PATCH /users/{id}": {about: ofOne, body: `{"state":"suspended"}`}, "GET /guests": {},
	"POST /guests": {body: `{"name":"tester","phone":"PHONE"}`, ok: 201}, "DELETE /guests/{id}": {about: ofOne},
	"GET /senders": {}, "GET /numbers": {}, "GET /wallet": {}, "GET /wallet/entries": {},
}

// routeCases has every route that asks for a key. Who adds a route says here whose it is.
var routeCases = map[string]routeCase{
	"POST /v1/messages": {body: strings.Replace(ordinary, "A-1", "NAME", 1), ok: 201}, "POST /v1/messages/batch": {body: bodies["POST /v1/messages/batch"]},
	"GET /v1/messages": {}, "GET /v1/messages/{id}": {about: ofOne}, "GET /v1/messages/{id}/timeline": {about: ofOne},
	"POST /v1/messages/{id}/cancel": {about: ofOne, body: `{"reason":"mistake"}`, ok: 409}, // it is delivered
	// A prepaid tenant's words are the operator's.
	"POST /v1/messages/{id}/requeue":                  {about: ofOne, body: `{"reason":"not in their list"}`, ok: 403},
	"POST /v1/tenants/{tenant}/messages/{id}/requeue": {about: ofOperator, body: `{"reason":"not in their list"}`, ok: 409},
	"POST /v1/messages/{id}/outcome":                  {about: ofOne, body: bodies["POST /v1/messages/{id}/outcome"], ok: 403},
	"POST /v1/tenants/{tenant}/messages/{id}/outcome": {about: ofOperator, body: bodies["POST /v1/messages/{id}/outcome"], ok: 409},
	"GET /v1/decisions":                               {}, "GET /v1/decisions/{id}": {about: ofOne},
	"GET /v1/receipts": {}, "GET /v1/receipts/{id}": {about: ofOne}, "POST /v1/receipts/replay": {about: ofOperator, body: bodies["POST /v1/receipts/replay"]},
	"GET /v1/exceptions": {}, "GET /v1/exceptions/{id}": {about: ofOne},
	"POST /v1/exceptions/{id}/resolve":                  {about: ofOne, body: bodies["POST /v1/exceptions/{id}/resolve"]},
	"POST /v1/tenants/{tenant}/exceptions/{id}/resolve": {about: ofOperator, body: bodies["POST /v1/exceptions/{id}/resolve"]},
	"GET /v1/exception-groups":                          {}, "POST /v1/exception-groups/resolve": {body: bodies["POST /v1/exception-groups/resolve"]},
	"GET /v1/events":   {},
	"GET /v1/webhooks": {}, "POST /v1/webhooks": {body: `{"url":"https://example.com/NAME"}`, ok: 201},
	"GET /v1/webhooks/{id}": {about: ofOne}, "PATCH /v1/webhooks/{id}": {about: ofOne, body: `{"types":["*"]}`}, "DELETE /v1/webhooks/{id}": {about: ofOne},
	"POST /v1/webhooks/{id}/rotate": {about: ofOne, body: `{}`}, "POST /v1/webhooks/{id}/test": {about: ofOne},
	"GET /v1/webhooks/{id}/deliveries": {about: ofOne}, "POST /v1/webhooks/{id}/replay": {about: ofOne},
	"GET /v1/deliveries/{id}": {about: ofOne}, "POST /v1/deliveries/{id}/replay": {about: ofOne, ok: 409}, // it is under way
	"GET /v1/policies": {about: ofOperator}, "GET /v1/policies/{id}": {about: ofOperator},
	"POST /v1/policies":        {about: ofOperator, body: `{"source":"policy: mine"}`, ok: 400},
	"GET /v1/handset/{number}": {about: ofOperator}, "POST /v1/handset/{number}/reply": {about: ofOperator, body: bodies["POST /v1/handset/{number}/reply"]},
	"GET /v1/stops": {}, "POST /v1/stops": {body: bodies["POST /v1/stops"]}, "DELETE /v1/stops/{id}": {about: ofOne, body: bodies["DELETE /v1/stops/{id}"]},
	"GET /v1/connections": {about: ofOperator}, "POST /v1/connections": {about: ofOperator, body: bodies["POST /v1/connections"], ok: 201},
	"GET /v1/connections/{id}": {about: ofOperator}, "PATCH /v1/connections/{id}": {about: ofOperator, body: bodies["PATCH /v1/connections/{id}"]},
	"DELETE /v1/connections/{id}": {about: ofOperator}, "GET /v1/routes": {about: ofOperator}, "PUT /v1/routes": {about: ofOperator, body: bodies["PUT /v1/routes"]},
	"GET /v1/restored": {about: ofOperator}, "POST /v1/restored": {about: ofOperator, body: bodies["POST /v1/restored"], ok: 409},
	"GET /v1/tenants": {about: ofOperator}, "POST /v1/tenants": {about: ofOperator, body: `{"name":"NAME"}`, ok: 201},
	"GET /v1/tenants/{tenant}":                     {about: ofOperator},
	"PATCH /v1/tenants/{tenant}":                   {about: ofOperator, body: `{"label":"NAME"}`},
	"POST /v1/tenants/{tenant}/senders":            {about: ofOperator, body: `{"sender":"NAME"}`, ok: 201},
	"DELETE /v1/tenants/{tenant}/senders/{sender}": {about: ofOperator},
	"POST /v1/tenants/{tenant}/numbers":            {about: ofOperator, body: `{"number":"PHONE"}`, ok: 201},
	"POST /v1/tenants/{tenant}/topups":             {about: ofOperator, body: `{"amount_micro_usd":5,"reference":"NAME","reason":"paid"}`, ok: 201},
	"POST /v1/tenants/{tenant}/limit":              {about: ofOperator, body: `{"lift":true,"by":"ann","reason":"NAME"}`},
	"GET /v1/prices":                               {about: ofOperator}, "PUT /v1/prices": {about: ofOperator, body: `{"data":[{"prefix":"49","micro_usd":7}]}`},
	"GET /v1/wallets/verify":                  {about: ofOperator},
	"PATCH /v1/tenants/{tenant}/numbers/{id}": {about: ofOperator, body: `{"until":"2026-01-01T00:00:00Z"}`},
}

func caseOf(r Route) (routeCase, bool) {
	place := strings.TrimPrefix(r.Path, "/v1")
	if theirs, under := strings.CutPrefix(place, "/tenants/{tenant}"); under {
		if c, ok := shared[r.Method+" "+theirs]; ok {
			c.about = ofOperator
			return c, true
		}
	} else if c, ok := shared[r.Method+" "+place]; ok {
		return c, true
	}
	c, ok := routeCases[r.Method+" "+r.Path]
	return c, ok
}

// matrix is every route by every kind of key.
type matrix struct {
	*house
	operator, owner, stranger, suspended *household
	bad                                  map[string]string // keys that are none, or none any more
	low                                  map[string]string // the owner's and the operator's, by tenant and scope
}

// key makes a key of a tenant behind the API's back.
func (h *house) key(o *household, scopes string, expires time.Duration) secret.APIKey {
	h.t.Helper()
	k := secret.NewAPIKey()
	one := store.APIKey{ID: k.ID, Tenant: o.id, Name: h.fill("NAME"), Scopes: scopes, Hash: identity.HashAPIKey(k)}
	if expires > 0 {
		now, err := h.store.Now(context.Background())
		must(h.t, err)
		one.ExpiresAt = now.Add(expires)
	}
	_, err := h.store.PutKey(context.Background(), one, nil)
	must(h.t, err)
	return k
}

func newMatrix(t *testing.T, h *house) *matrix {
	t.Helper()
	m := &matrix{house: h, operator: h.household("installation"), owner: h.household("second"), stranger: h.household("third"), suspended: h.household("fourth")}
	m.bad, m.low = map[string]string{"none": "", "malformed": "em_x", "unknown": secret.NewAPIKey().Text()}, map[string]string{}
	for _, o := range []*household{m.operator, m.owner} {
		revoked, expired := h.key(o, "admin", 0), h.key(o, "admin", time.Second)
		_, err := h.store.RevokeKey(t.Context(), o.id, revoked.ID)
		must(t, err)
		m.bad["revoked, of "+o.name], m.bad["expired, of "+o.name] = revoked.Text(), expired.Text()
		for _, scope := range []string{"send", "read", "review", ""} {
			m.low[o.name+" "+scope] = h.key(o, scope, 0).Text()
		}
	}
	h.advance(time.Second)
	_, err := h.store.ChangeTenant(t.Context(), m.suspended.id, store.TenantChange{State: tenant.Suspended})
	must(t, err)
	return m
}

// fill fills in a body's words: names and phones that nobody has.
func (h *house) fill(text string) string {
	h.serial++
	return strings.NewReplacer("NAME", fmt.Sprint("n", h.serial), "PHONE", fmt.Sprintf("+1202555%04d", 1000+h.serial)).Replace(text)
}

// at is a route's path, at the place of one tenant, about a thing of one.
func (m *matrix) at(r Route, place, of *household) string {
	kind := strings.Split(strings.Replace(r.Path, "/tenants/{tenant}", "", 1)+"/", "/")[2]
	id := of.ids()[kind]
	switch kind {
	case "policies":
		id = "builtin@1"
	case "connections":
		id = "carrier"
	}
	return strings.NewReplacer("{tenant}", place.name, "{id}", id, "{sender}", of.sender, "{number}", number).Replace(r.Path)
}

// ask calls a route.
func (m *matrix) ask(r Route, path, key string) *httptest.ResponseRecorder {
	c, _ := caseOf(r)
	return m.call(r.Method, path, key, m.fill(c.body))
}

// ownerOf is whose key a route is for.
func (m *matrix) ownerOf(c routeCase) *household {
	if c.about == ofOperator {
		return m.operator
	}
	return m.owner
}

// refuses wants a problem document of a code.
func (m *matrix) refuses(r Route, who string, rec *httptest.ResponseRecorder, status int, code fault.Code) {
	m.t.Helper()
	if rec.Code != status || !strings.Contains(rec.Body.String(), `"`+string(code)+`"`) {
		m.t.Errorf("%s %s with the key %q: %d, want %d %s: %s", r.Method, r.Path, who, rec.Code, status, code, rec.Body)
	}
	if got := rec.Header().Get("WWW-Authenticate"); (got != "") != (status == 401) {
		m.t.Errorf("%s %s with the key %q: WWW-Authenticate %q", r.Method, r.Path, who, got)
	}
}

// Every route of the API is called with every kind of key that it must refuse, over the store itself: with none, with
// one that is malformed, unknown, revoked or expired, with too low a scope, by a suspended tenant, by another tenant,
// and at another tenant's place. Each gets its exact status, and afterwards the store is what it was, row for row. Then
// each is called by its owner, who gets through: a refusal proves nothing where everybody is refused.
//
// covers: I15, X5
func TestEveryRouteByEveryKey(t *testing.T) {
	onEveryStore(t, walkEveryRoute)
}

func walkEveryRoute(t *testing.T, h *house) {
	m := newMatrix(t, h)
	before, guarded := m.dump(), 0
	for _, r := range m.api.Routes() {
		c, known := caseOf(r)
		switch {
		case r.Scope == "":
			if strings.HasPrefix(r.Path, "/v1/") {
				t.Errorf("%v asks for no key", r)
			}
			continue
		case !known:
			t.Errorf("%s %s has no case: say in routeCases whose it is, and how it is called", r.Method, r.Path)
			continue
		}
		guarded++
		m.walkBadKeys(r, c)
		m.walkSuspended(r, c)
		m.walkStrangers(r, c)
	}
	for name, after := range m.dump() {
		if before[name] != after {
			t.Errorf("what was refused changed the table %s:\n%s\nwas\n%s", name, after, before[name])
		}
	}
	if len(m.dump()) != len(before) || len(before) < 20 || guarded < 50 {
		t.Errorf("%d tables, %d routes: the walk is not what it was", len(before), guarded)
	}
	m.walkOwners()
}

func (m *matrix) walkBadKeys(r Route, c routeCase) {
	m.t.Helper()
	path := m.at(r, m.owner, m.owner)
	for name, key := range m.bad {
		m.refuses(r, name, m.ask(r, path, key), 401, fault.Unauthenticated)
	}
	for name, key := range m.low {
		of, scope, _ := strings.Cut(name, " ")
		if of == m.ownerOf(c).name && !ParseScopes(scope).Allow(r.Scope) {
			m.refuses(r, name, m.ask(r, path, key), 403, fault.Scope)
		}
	}
}

// walkSuspended calls what a suspended tenant may not: it begins nothing, and is no operator.
func (m *matrix) walkSuspended(r Route, c routeCase) {
	m.t.Helper()
	path := m.at(r, m.suspended, m.suspended)
	switch {
	case !whileSuspended(r.Method, r.Path):
		m.refuses(r, "suspended", m.ask(r, path, m.suspended.key), 403, fault.Suspended)
	case c.about == ofOperator:
		m.refuses(r, "suspended", m.ask(r, path, m.suspended.key), 404, fault.NotFound)
	case r.Method == "GET":
		if rec := m.ask(r, path, m.suspended.key); rec.Code != 200 {
			m.t.Errorf("%v of a suspended tenant: %d %s", r, rec.Code, rec.Body)
		}
	}
}

// walkStrangers asks for another tenant's things, at its own place and at the other's.
func (m *matrix) walkStrangers(r Route, c routeCase) {
	m.t.Helper()
	switch c.about {
	case ofOne:
		m.refuses(r, "another tenant's", m.ask(r, m.at(r, m.owner, m.owner), m.stranger.key), 404, fault.NotFound)
		m.refuses(r, "the installation's", m.ask(r, m.at(r, m.owner, m.owner), m.operator.key), 404, fault.NotFound)
	case ofCaller:
		if r.Method == "GET" {
			m.hides(m.ask(r, r.Path, m.stranger.key), r.Path, m.owner)
		}
	case ofOperator:
		for _, who := range []*household{m.owner, m.stranger} {
			m.refuses(r, who.name, m.ask(r, m.at(r, m.owner, m.owner), who.key), 404, fault.NotFound)
		}
		m.walkWrongPlace(r)
	}
}

// walkWrongPlace lets those who run the installation ask at a tenant's place for another one's thing.
func (m *matrix) walkWrongPlace(r Route) {
	m.t.Helper()
	if !strings.Contains(r.Path, "{tenant}") {
		return
	}
	if strings.Count(r.Path, "{") > 1 {
		m.refuses(r, "the operator's", m.ask(r, m.at(r, m.stranger, m.owner), m.operator.key), 404, fault.NotFound)
	} else if r.Method == "GET" {
		m.hides(m.ask(r, m.at(r, m.stranger, m.stranger), m.operator.key), r.Path, m.owner)
	}
	m.refuses(r, "the operator's", m.ask(r, m.at(r, &household{name: "nobody"}, m.owner), m.operator.key), 404, fault.NotFound)
}

// walkOwners calls every route as it is meant, each about things that are new.
func (m *matrix) walkOwners() {
	m.t.Helper()
	for _, what := range restful {
		method, path, _ := strings.Cut(what, " ")
		r := Route{Method: method, Path: path}
		want := 200
		if strings.HasSuffix(path, "/cancel") {
			want = 409 // it is delivered
		}
		if rec := m.ask(r, m.at(r, m.suspended, m.suspended), m.suspended.key); rec.Code != want {
			m.t.Errorf("%s of a suspended tenant: %d %s", what, rec.Code, rec.Body)
		}
	}
	for _, r := range m.api.Routes() {
		c, known := caseOf(r)
		if r.Scope == "" || !known {
			continue
		}
		m.furnish(m.owner)
		want := max(c.ok, 200)
		if rec := m.ask(r, m.at(r, m.owner, m.owner), m.ownerOf(c).key); rec.Code != want {
			m.t.Errorf("%s %s by its owner: %d, want %d: %s", r.Method, r.Path, rec.Code, want, rec.Body)
		}
	}
}

// dump writes all rows of all tables, past the store.
func (m *matrix) dump() map[string]string {
	m.t.Helper()
	db, err := sql.Open(m.opened.driver, m.opened.source)
	must(m.t, err)
	defer func() { must(m.t, db.Close()) }()
	names, err := textsOf(db, m.opened.tables)
	must(m.t, err)
	all := map[string]string{}
	for _, name := range names {
		rows, err := textsOf(db, `select * from "`+name+`"`)
		must(m.t, err)
		slices.Sort(rows)
		all[name] = strings.Join(rows, "\n")
	}
	return all
}

// textsOf reads each row as one text.
func textsOf(db *sql.DB, query string) (all []string, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // what went wrong is asked for below
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		all = append(all, strings.Trim(fmt.Sprint(values...), "[]"))
	}
	return all, rows.Err()
}

// A route that nobody has said anything of must not pass unseen.
func TestTheMatrixKnowsNoOtherRoutes(t *testing.T) {
	h := newHouse(t)
	known := map[string]bool{}
	for _, r := range h.api.Routes() {
		known[r.Method+" "+r.Path] = true
	}
	for _, name := range slices.Sorted(maps.Keys(routeCases)) {
		if !known[name] {
			t.Errorf("%s is a case of no route", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		method, path, _ := strings.Cut(name, " ")
		if !known[method+" /v1"+path] || !known[method+" /v1/tenants/{tenant}"+path] {
			t.Errorf("%s is not at both places", name)
		}
	}
	if _, ok := caseOf(Route{Method: "GET", Path: "/v1/new"}); ok {
		t.Error("a route without a case has one")
	}
}
