package api

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// keyOf makes an admin key of a kind that ends after a time; 0: it does not.
func (h *house) keyOf(o *household, kind tenant.KeyKind, life time.Duration) (secret.APIKey, clock.Micros) {
	h.t.Helper()
	now, err := h.store.Now(h.t.Context())
	must(h.t, err)
	k := secret.NewAPIKey()
	one := store.APIKey{ID: k.ID, Tenant: o.id, Name: h.fill("NAME"), Scopes: "admin", Hash: identity.HashAPIKey(k), Kind: kind}
	if life > 0 {
		one.ExpiresAt = now.Add(life)
	}
	_, err = h.store.PutKey(h.t.Context(), one, nil)
	must(h.t, err)
	return k, one.ExpiresAt
}

// refusesWider wants a refusal of a key that is wider than the one that asks, or none.
func (h *house) refusesWider(what string, rec *httptest.ResponseRecorder, wider bool, ok int, words string) {
	h.t.Helper()
	switch {
	case !wider && rec.Code != ok:
		h.t.Errorf("%s: %d %s", what, rec.Code, rec.Body)
	case wider && (rec.Code != 403 || !strings.Contains(rec.Body.String(), `"`+string(fault.Scope)+`"`) || !strings.Contains(rec.Body.String(), words)):
		h.t.Errorf("%s: %d %s, want %s", what, rec.Code, rec.Body, words)
	}
}

// Each kind of admin key makes, replaces and ends keys of each kind: its own tenant's at its own place, and as one of the
// installation's those of another tenant. What is refused leaves the keys as they were.
//
// covers: I15, X5
func TestKeysCoverTheKindsThatTheyMake(t *testing.T) {
	onEveryStore(t, func(t *testing.T, h *house) {
		wide := map[tenant.KeyKind]int{tenant.TestKey: 1, tenant.TeamKey: 2, tenant.LiveKey: 3}
		operator, other := h.household("installation"), h.household("second")
		for holder := range wide {
			own, _ := h.keyOf(operator, holder, 0)
			theirs, _ := h.keyOf(other, holder, 0)
			for kind := range wide {
				for _, place := range []struct {
					of   *household
					path string
					key  string
				}{{operator, "/v1/keys", own.Text()}, {other, "/v1/keys", theirs.Text()}, {other, "/v1/tenants/" + other.name + "/keys", own.Text()}} {
					wider, words := wide[kind] > wide[holder], fmt.Sprintf("or use a %s key", kind)
					what := fmt.Sprintf("a %s key and a %s key at %s", holder, kind, place.path)
					before, err := h.store.ListKeys(t.Context(), place.of.id)
					must(t, err)
					h.refusesWider("make: "+what, h.call("POST", place.path, place.key, h.fill(`{"name":"NAME","scopes":["admin"],"kind":"`+kind.String()+`"}`)), wider, 201, words)
					old, _ := h.keyOf(place.of, kind, 0)
					h.refusesWider("rotate: "+what, h.call("POST", place.path+"/"+old.ID+"/rotate", place.key, `{}`), wider, 201, words)
					h.refusesWider("revoke: "+what, h.call("DELETE", place.path+"/"+old.ID, place.key, ""), wider, 200, words)
					after, err := h.store.ListKeys(t.Context(), place.of.id)
					must(t, err)
					if made := len(after) - len(before); made != map[bool]int{true: 1, false: 3}[wider] {
						t.Errorf("%s: %d keys more", what, made)
					}
					if left, err := h.store.Key(t.Context(), old.ID); err != nil || left.ExpiresAt == 0 == !wider || left.RevokedAt == 0 == !wider {
						t.Errorf("%s: the old one is %+v, %v", what, left, err)
					}
				}
			}
			if rec := h.call("POST", "/v1/keys", own.Text(), h.fill(`{"name":"NAME","scopes":["read"]}`)); (rec.Code == 201) != (holder == tenant.LiveKey) {
				t.Errorf("a %s key makes one of no kind, which is live: %d %s", holder, rec.Code, rec.Body)
			}
		}
	})
}

// A key that ends makes none that ends later, by itself or in another one's place, but gives other tenants what they need.
//
// covers: I15, X5
func TestKeysMakeNoneThatOutliveThem(t *testing.T) {
	onEveryStore(t, func(t *testing.T, h *house) {
		operator, other := h.household("installation"), h.household("second")
		own, end := h.keyOf(operator, tenant.LiveKey, time.Hour)
		endless, _ := h.keyOf(operator, tenant.LiveKey, 0)
		for _, c := range []struct {
			member string
			wider  bool
		}{{"", true}, {at(end.Add(time.Microsecond)), true}, {at(end), false}, {at(end.Add(-time.Minute)), false}} {
			ends := ""
			if c.member != "" {
				ends = `"expires_at":"` + c.member + `"`
			}
			body := h.fill(strings.TrimSuffix(`{"name":"NAME","scopes":["admin"],`+ends, ",") + "}")
			words := "this key ends at " + at(end)
			h.refusesWider("make "+body, h.call("POST", "/v1/keys", own.Text(), body), c.wider, 201, words)
			h.refusesWider("by an endless key "+body, h.call("POST", "/v1/keys", endless.Text(), strings.Replace(body, `:"n`, `:"m`, 1)), false, 201, "")
			h.refusesWider("for a tenant "+body, h.call("POST", "/v1/tenants/"+other.name+"/keys", own.Text(), body), false, 201, "")
			old, _ := h.keyOf(operator, tenant.LiveKey, 0)
			h.refusesWider("rotate {"+ends+"}", h.call("POST", "/v1/keys/"+old.ID+"/rotate", own.Text(), "{"+ends+"}"), c.wider, 201, words)
		}
	})
}
