package api

import (
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// keyID finds a key of tenant A by its scopes.
func (w *world) keyID(scopes string) string {
	for id, k := range w.store.keys {
		if k.Scopes == scopes {
			return id
		}
	}
	w.t.Fatal("no key", scopes)
	return ""
}

// revoke ends a key of tenant A behind the API's back, as another node would.
func (w *world) revoke(key string) {
	w.t.Helper()
	id, err := secret.ParseAPIKey(key)
	must(w.t, err)
	_, err = w.store.RevokeKey(w.t.Context(), tenantA, id.ID)
	must(w.t, err)
}

// bodies are valid requests of the routes that take one.
var bodies = map[string]string{
	"POST /v1/messages": ordinary, "POST /v1/messages/{id}/cancel": `{"reason":"mistake"}`, "POST /v1/keys": `{"name":"n","scopes":["read"]}`,
	"POST /v1/policies": `{"source":"policy: shop"}`,
	"POST /v1/restored": `{"reason":"disk"}`, "POST /v1/messages/{id}/requeue": `{"reason":"not in their list"}`,
	"POST /v1/messages/batch": `{"messages":[` + ordinary + `]}`, "POST /v1/handset/{number}/reply": `{"text":"yes","to":"4711"}`,
	"POST /v1/webhooks": `{"url":"https://example.com/hooks"}`, "PATCH /v1/webhooks/{id}": `{"enabled":true}`, "POST /v1/webhooks/{id}/rotate": `{}`,
	"POST /v1/stops": `{"purpose":"drill","by":"ann","reason":"a drill"}`, "DELETE /v1/stops/{id}": `{"by":"ann","reason":"it is over"}`,
	"POST /v1/connections": `{"name":"carrier","settings":{"kind":"simulator"}}`, "PATCH /v1/connections/{id}": `{"enabled":true,"version":1}`,
	"PUT /v1/routes":                    `{"version":0,"rules":[{"use":["carrier"]}]}`,
	"POST /v1/receipts/replay":          `{"connection":"simulator","by":"ann","reason":"FAILED is documented now"}`,
	"POST /v1/messages/{id}/outcome":    `{"outcome":"accepted","by":"ann","reason":"in their list"}`,
	"POST /v1/exceptions/{id}/resolve":  `{"action":"dismiss","by":"ann","reason":"a test of theirs"}`,
	"POST /v1/exception-groups/resolve": `{"connection":"simulator","kind":"unmatched","hour":"2026-12-31T10:00:00Z","action":"dismiss","by":"ann","reason":"a test of theirs"}`,
}

func TestBearerForms(t *testing.T) {
	w := newWorld(t)
	for header, status := range map[string]int{
		"Bearer " + w.admin: 200, "bearer " + w.admin: 200, "Bearer  " + w.admin: 200,
		w.admin: 401, "Basic " + w.admin: 401, "Bearer": 401, "Bearer " + w.admin + " x": 401,
	} {
		if rec := w.call("GET", "/v1/keys", "", "", "Authorization", header); rec.Code != status {
			t.Errorf("%.7s…: %d", header, rec.Code)
		}
	}
	if rec := w.call("GET", "/v1/keys", w.admin, "", "Authorization", "Bearer "+w.admin); rec.Code != 401 {
		t.Errorf("two headers: %d", rec.Code)
	}
}

func TestKeysAreLookedUpOnceASecond(t *testing.T) {
	w := newWorld(t)
	key := w.key(tenantA, "read")
	ask := func() int { return w.call("GET", "/v1/messages", key, "").Code }
	for range 5 {
		ask()
	}
	if w.store.keyReads != 1 {
		t.Errorf("%d reads", w.store.keyReads)
	}
	w.revoke(key)
	if ask() != 200 {
		t.Error("a key that was just looked up is read again")
	}
	w.clock.Advance(keyLife)
	if ask() != 401 {
		t.Error("a revoked key works longer than it may")
	}
}

// What a look-up found while a key was revoked through this node is not believed afterwards: it may be from before.
func TestALookUpFromBeforeAChangeIsForgotten(t *testing.T) {
	w := newWorld(t)
	key := w.key(tenantA, "read")
	ring := w.api.keyring
	w.store.onKey = func() { // between the read and its remembrance
		w.store.onKey = nil
		w.revoke(key)
		ring.forget()
	}
	w.call("GET", "/v1/messages", key, "")
	w.problem(w.call("GET", "/v1/messages", key, ""), 401, fault.Unauthenticated)
}

// A key that expires within the second for which it is believed works exactly as long as it lives.
func TestAKeyExpiresExactly(t *testing.T) {
	w := newWorld(t)
	key := w.key(tenantA, "read")
	id, err := secret.ParseAPIKey(key)
	must(t, err)
	k := w.store.keys[id.ID]
	k.Left = 300 * time.Millisecond
	w.store.keys[id.ID] = k
	ask := func() int { return w.call("GET", "/v1/messages", key, "").Code }
	if ask() != 200 {
		t.Fatal("a key that lives is refused")
	}
	k.Left, k.Works = 0, false // as the store says from then on
	w.store.keys[id.ID] = k
	w.clock.Advance(300*time.Millisecond - 1)
	if ask() != 200 || w.store.keyReads != 1 {
		t.Errorf("refused before its end, or read again: %d reads", w.store.keyReads)
	}
	w.clock.Advance(1)
	w.problem(w.call("GET", "/v1/messages", key, ""), 401, fault.Unauthenticated)
}

// A user's key does what both the key and the user may, and nothing once the user is suspended.
func TestAUsersKeyIsWithinTheRole(t *testing.T) {
	w := newWorld(t)
	change := func(key string, to func(*store.KeyHolder)) {
		id, err := secret.ParseAPIKey(key)
		must(t, err)
		k := w.store.keys[id.ID]
		to(&k)
		w.store.keys[id.ID] = k
	}
	key := w.key(tenantA, "admin")
	change(key, func(k *store.KeyHolder) {
		k.User, k.UserName, k.Role, k.UserState = ident.NewUser(tenantA), "Ann", "review", tenant.Active
	})
	if rec := w.call("GET", "/v1/messages", key, ""); rec.Code != 200 {
		t.Errorf("reading: %d", rec.Code)
	}
	w.problem(w.call("GET", "/v1/keys", key, ""), 403, fault.Scope)
	w.problem(w.call("POST", "/v1/messages", key, ordinary), 403, fault.Scope)
	change(key, func(k *store.KeyHolder) { k.UserState = tenant.Suspended })
	w.clock.Advance(keyLife)
	w.problem(w.call("GET", "/v1/messages", key, ""), 401, fault.Unauthenticated)
	gone := w.key(tenantA, "admin")
	change(gone, func(k *store.KeyHolder) { k.User = ident.NewUser(tenantA) }) // who is not in the store
	w.problem(w.call("GET", "/v1/messages", gone, ""), 401, fault.Unauthenticated)
}

func TestAStoreThatIsDownLetsNobodyIn(t *testing.T) {
	w := newWorld(t)
	w.store.down = true
	rec := w.call("POST", "/v1/messages", w.admin, ordinary)
	w.problem(rec, 503, fault.Unavailable)
	if len(w.outbound.got) != 0 {
		t.Error("somebody was let in")
	}
	w.store.down = false
	if rec := w.call("POST", "/v1/messages", w.admin, ordinary); rec.Code != 201 {
		t.Errorf("the failure was remembered: %d", rec.Code)
	}
}

func TestTheCacheOfKeysIsBounded(t *testing.T) {
	w := newWorld(t)
	for range maxCachedKeys + 10 {
		w.call("GET", "/v1/keys", secret.NewAPIKey().Text(), "")
	}
	if got := len(w.api.keyring.cached); got > maxCachedKeys {
		t.Errorf("%d", got)
	}
}

func TestKeysAreMadeAndRevoked(t *testing.T) {
	w := newWorld(t)
	var made NewKeyView
	w.decode(w.call("POST", "/v1/keys", w.admin, `{"name":"shop","scopes":["read","read"]}`), 201, &made)
	if made.Name != "shop" || len(made.Scopes) != 1 {
		t.Errorf("%+v", made)
	}
	if rec := w.call("GET", "/v1/messages", made.Key, ""); rec.Code != 200 {
		t.Errorf("%d", rec.Code)
	}
	var all Keys
	rec := w.get("/v1/keys", 200, &all)
	if len(all.Data) != 2 || strings.Contains(rec.Body.String(), strings.Split(made.Key, "_")[2]) {
		t.Errorf("%s", rec.Body)
	}
	var gone KeyView
	w.decode(w.call("DELETE", "/v1/keys/"+made.ID, w.admin, ""), 200, &gone)
	if gone.RevokedAt == nil {
		t.Errorf("%+v", gone)
	}
	if rec := w.call("GET", "/v1/messages", made.Key, ""); rec.Code != 401 {
		t.Errorf("through the node that revoked it, a key ends at once: %d", rec.Code)
	}
	own := w.keyID("admin")
	w.problem(w.call("DELETE", "/v1/keys/"+own, w.admin, ""), 409, fault.State)
	p := w.problem(w.call("POST", "/v1/keys", w.admin, `{"name":"","scopes":["root"]}`), 400, fault.Invalid)
	if len(p.Errors) != 1 || p.Errors[0].Pointer != "#/name" {
		t.Errorf("%+v", p)
	}
	w.problem(w.call("POST", "/v1/keys", w.admin, `{"name":"x","scopes":["root"]}`), 400, fault.Invalid)
	w.problem(w.call("POST", "/v1/keys", w.admin, `{}`), 400, fault.Invalid)
}
