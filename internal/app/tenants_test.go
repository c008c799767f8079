package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// as is the same gateway, with another key.
func (g *gateway) as(key string) *gateway {
	other := *g
	other.key = key
	return &other
}

// expect calls and wants a status.
func (g *gateway) expect(status int, method, path string, body any) reply {
	g.t.Helper()
	r := g.call(method, path, body)
	if r.Status != status {
		g.t.Errorf("%s %s: %d, want %d: %s", method, path, r.Status, status, r.Raw)
	}
	return r
}

// tenant makes a tenant with an admin key, and returns the gateway with it.
func (g *gateway) tenant(name string) *gateway {
	g.t.Helper()
	g.expect(201, "POST", "/v1/tenants", map[string]any{"name": name, "prepaid": false})
	made := g.expect(201, "POST", "/v1/tenants/"+name+"/keys", `{"name":"first","scopes":["admin"]}`)
	return g.as(made.at("key"))
}

// keyOf makes a key of the tenant's own.
func (g *gateway) keyOf(body string) *gateway {
	g.t.Helper()
	return g.as(g.expect(201, "POST", "/v1/keys", body).at("key"))
}

// A tenant sends under the gateway's default sender until it has its own, and then under those; what is changed is in
// force with the next request.
//
// covers: X5
func TestATenantSendsUnderItsSenders(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		acme := g.tenant("acme")
		n := 0
		sends := func(who *gateway, sender string) (status int, as, words string) {
			n++
			body := alert(fmt.Sprint("A-", n), "+12025550100")
			if sender != "" {
				body["sender"] = sender
			}
			r := who.post(body)
			if r.Status == 400 && !strings.Contains(r.Raw, `"pointer":"#/sender"`) {
				t.Errorf("%q: %s", sender, r.Raw)
			}
			return r.Status, g.as(who.key).message(r.at("message.id")).at("sender"), r.Raw
		}
		senders := "/v1/tenants/acme/senders"
		for _, c := range []struct {
			before func()
			sender string
			status int
			as     string // or, of a refusal, what it says
		}{
			{nil, "", 201, "Einmal"},
			{nil, "Einmal", 201, "Einmal"},
			{nil, "SHOP", 400, "registered for this tenant: Einmal"},
			{func() { g.expect(201, "POST", senders, `{"sender":"SHOP"}`) }, "", 201, "SHOP"},
			{nil, "Einmal", 400, "registered for this tenant: SHOP"},
			{func() { g.expect(201, "POST", senders, `{"sender":"+49 151 23456789","default":true}`) }, "", 201, "4915123456789"},
			{nil, "SHOP", 201, "SHOP"},
			{nil, "+4915123456789", 201, "4915123456789"},
			{nil, "shop", 400, "registered for this tenant: 4915123456789, SHOP"},
			{func() {
				g.expect(409, "DELETE", senders+"/4915123456789", nil)
				g.expect(200, "DELETE", senders+"/SHOP", nil)
			}, "SHOP", 400, "4915123456789"},
		} {
			if c.before != nil {
				c.before()
			}
			status, as, words := sends(acme, c.sender)
			if status != c.status || status == 201 && as != c.as || status == 400 && !strings.Contains(words, c.as) {
				t.Errorf("sender %q: %d as %q, want %d %s: %s", c.sender, status, as, c.status, c.as, words)
			}
		}
		if status, as, words := sends(g, "ANYTHING"); status != 201 || as != "ANYTHING" {
			t.Errorf("the installation's own tenant: %d as %q: %s", status, as, words)
		}
		g.expect(409, "POST", "/v1/tenants/default/senders", `{"sender":"SHOP"}`)
	})
}

// A team key reaches the tenant's users and guests, and nobody else: that is a refusal with its record, and the same
// request is sent once the phone is a guest's.
//
// covers: D4, X5
func TestATeamKeyReachesTheTeam(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		acme, other := g.tenant("acme"), g.tenant("other")
		const ann, tom, stranger = "+12025550101", "+12025550102", "+12025550103"
		user := acme.expect(201, "POST", "/v1/users", `{"login":"ann","name":"Ann","role":["send"],"phone":"`+ann+`"}`)
		guest := acme.expect(201, "POST", "/v1/guests", `{"name":"Tom","phone":"`+tom+`"}`)
		for path, words := range map[string]string{"/v1/users": user.Raw, "/v1/guests": guest.Raw} { // numbers are masked wherever they are shown
			if all := words + acme.expect(200, "GET", path, nil).Raw; strings.Count(all, `"phone":"+1202•••010`) != 2 || strings.Contains(all, "555") {
				t.Errorf("%s: %s", path, all)
			}
		}
		other.expect(201, "POST", "/v1/guests", `{"name":"Sam","phone":"`+stranger+`"}`)
		team := acme.keyOf(`{"name":"staging","kind":"team","scopes":["send","read"]}`)
		n := 0
		sends := func(to string) reply { n++; return team.post(alert(fmt.Sprint("T-", n), to)) }
		for _, to := range []string{ann, tom} {
			if r := sends(to); r.Status != 201 || !strings.Contains(r.Raw, `{"rule":"key.team","kind":"team","result":"pass"}`) {
				t.Errorf("%d %s", r.Status, r.Raw)
			}
		}
		refused := sends(stranger)
		if refused.Status != 403 || refused.at("code") != "team" || !strings.Contains(refused.at("detail"), "add it as a guest") || strings.Contains(refused.Raw, stranger[4:]) {
			t.Errorf("%d %s", refused.Status, refused.Raw)
		}
		d := team.expect(200, "GET", "/v1/decisions/"+refused.at("decision.id"), nil)
		if d.at("action") != "refused" || d.at("rule") != "key.team" {
			t.Errorf("%s", d.Raw)
		}
		if r := acme.post(alert("live", stranger)); r.Status != 201 {
			t.Errorf("a live key: %d %s", r.Status, r.Raw)
		}
		acme.expect(201, "POST", "/v1/guests", `{"name":"Sam","phone":"`+stranger+`"}`)
		acme.expect(200, "DELETE", "/v1/guests/"+guest.at("id"), nil)
		acme.expect(200, "PATCH", "/v1/users/"+user.at("id"), `{"state":"suspended"}`)
		for to, want := range map[string]int{stranger: 201, tom: 403, ann: 403} {
			if r := sends(to); r.Status != want {
				t.Errorf("afterwards: %d, want %d: %s", r.Status, want, r.Raw)
			}
		}
	})
}

// What a test key sends is simulated, whatever the routes say, and is no message like one that is sent: the same intent
// with a live key is a message of its own, and so is the same idempotency key.
//
// covers: X5, D1, D8
func TestATestKeyReachesNoPhone(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, withLines(t, c, []app.Route{{Use: []string{"carrier"}}}, "carrier", "simulator"))
		acme := g.tenant("acme")
		test := acme.keyOf(`{"name":"ci","kind":"test","scopes":["send","read"]}`)
		const to = "+12025550100"
		tried := test.post(alert("A-1", to), "Idempotency-Key", "k")
		live := acme.post(alert("A-1", to), "Idempotency-Key", "k")
		again := test.post(alert("A-1", to))
		if tried.Status != 201 || tried.at("simulated") != "true" || live.Status != 201 || live.Header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("%s\nthen\n%s", tried.Raw, live.Raw)
		}
		if again.Status != 200 || again.at("message.id") != tried.at("message.id") {
			t.Errorf("the same test again: %d %s", again.Status, again.Raw)
		}
		for id, over := range map[string]string{tried.at("message.id"): "simulator", live.at("message.id"): "carrier"} {
			if m := acme.await(id, "delivered"); m.at("connection") != over {
				t.Errorf("%s left over %s, want %s", id, m.at("connection"), over)
			}
		}
		if got := g.took("carrier"); len(got) != 1 || got[to[1:]] != 1 || g.took("simulator")[to[1:]] != 1 {
			t.Errorf("the carrier took %v, the simulator %v", got, g.took("simulator"))
		}
		for who, want := range map[*gateway]string{test: tried.at("message.id"), acme: live.at("message.id")} {
			if found := who.expect(200, "GET", "/v1/messages?idempotency_key=k", nil); strings.Count(found.Raw, "msg_") != 1 || !strings.Contains(found.Raw, want) {
				t.Errorf("by its idempotency key: %s, want %s", found.Raw, want)
			}
		}
	})
}

// A suspended tenant begins nothing; what it had begun goes on, can be read and taken back, and all is as before once
// that is lifted.
//
// covers: X5
func TestASuspendedTenantIsServedWhatItHas(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		acme := g.tenant("acme")
		const to = "+12025550110" // receipt after a while: it is on its way when the tenant is suspended
		first := acme.post(alert("A-1", to), "Idempotency-Key", "k")
		suspend := `{"state":"suspended","by":"ann","reason":"unpaid"}`
		if r := g.expect(200, "PATCH", "/v1/tenants/acme", suspend); r.at("state") != "suspended" || r.at("state_by") != "ann" || r.at("state_reason") != "unpaid" {
			t.Errorf("%s", r.Raw)
		}
		for name, body := range map[string]any{"/v1/messages": alert("A-2", to), "/v1/messages/batch": map[string]any{"messages": []any{alert("A-2", to)}}} {
			if r := acme.expect(403, "POST", name, body); r.at("code") != "suspended" || !strings.Contains(r.at("detail"), "operator") {
				t.Errorf("%s", r.Raw)
			}
		}
		acme.expect(403, "POST", "/v1/keys", `{"name":"n","scopes":["read"]}`)
		acme.await(first.at("message.id"), "accepted")
		acme.expect(409, "POST", "/v1/messages/"+first.at("message.id")+"/cancel", `{"reason":"it has left"}`)
		g.expect(409, "PATCH", "/v1/tenants/default", suspend)
		g.expect(200, "PATCH", "/v1/tenants/acme", `{"state":"active","by":"ann","reason":"paid"}`)
		if r := acme.post(alert("A-1", to), "Idempotency-Key", "k"); r.Status != http.StatusCreated || r.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("its first request again: %d %s", r.Status, r.Raw)
		}
		if r := acme.post(alert("A-2", to)); r.Status != http.StatusCreated {
			t.Errorf("%d %s", r.Status, r.Raw)
		}
	})
}

// A key is replaced without a moment in which none works, and a user's keys do what the user may and say who did it.
//
// covers: X5
func TestKeysAreReplacedAndBelongToPeople(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		acme := g.tenant("acme")
		made := acme.expect(201, "POST", "/v1/keys", `{"name":"shop","scopes":["send"],"kind":"test"}`)
		rotated := acme.expect(201, "POST", "/v1/keys/"+made.at("id")+"/rotate", `{}`)
		if rotated.at("new.name") != "shop" || rotated.at("new.kind") != "test" || rotated.at("new.scopes") != "[send]" || rotated.at("old.expires_at") == "" {
			t.Errorf("%s", rotated.Raw)
		}
		third := acme.expect(409, "POST", "/v1/keys/"+rotated.at("new.id")+"/rotate", `{}`)
		if !strings.Contains(third.at("detail"), "revoke one") {
			t.Errorf("%s", third.Raw)
		}
		acme.expect(409, "POST", "/v1/keys", `{"name":"shop","scopes":["send"]}`)
		for _, key := range []string{made.at("key"), rotated.at("new.key")} {
			if r := acme.as(key).post(alert("A-1", "+12025550100")); r.Status >= 300 {
				t.Errorf("%d %s", r.Status, r.Raw)
			}
		}
		acme.expect(200, "DELETE", "/v1/keys/"+made.at("id"), nil)
		next := acme.expect(201, "POST", "/v1/keys/"+rotated.at("new.id")+"/rotate", `{"old_ends_in":"0s"}`)
		acme.as(rotated.at("new.key")).expect(401, "GET", "/v1/messages", nil)
		acme.as(next.at("new.key")).expect(403, "GET", "/v1/messages", nil)

		user := acme.expect(201, "POST", "/v1/users", `{"login":"Ann","name":"Ann Archer","role":["send","read"]}`)
		id := user.at("id")
		acme.expect(400, "POST", "/v1/keys", `{"name":"laptop","scopes":["admin"],"user":"`+id+`"}`)
		ann := acme.keyOf(`{"name":"laptop","scopes":["send","read"],"user":"` + id + `"}`)
		g.expect(200, "POST", "/v1/stops", `{"tenant":"acme","by":"bob","reason":"so that it waits"}`)
		waits := ann.post(alert("A-2", "+12025550100"))
		ann.expect(200, "POST", "/v1/messages/"+waits.at("message.id")+"/cancel", `{"reason":"mistake"}`)
		if story := ann.expect(200, "GET", "/v1/messages/"+waits.at("message.id")+"/timeline", nil); !strings.Contains(story.Raw, "Ann Archer") {
			t.Errorf("the timeline does not name her: %s", story.Raw)
		}
		acme.expect(200, "PATCH", "/v1/users/"+id, `{"role":["read"]}`)
		ann.expect(403, "POST", "/v1/messages", alert("A-3", "+12025550100"))
		ann.expect(200, "GET", "/v1/messages", nil)
		acme.expect(200, "PATCH", "/v1/users/"+id, `{"state":"suspended"}`)
		ann.expect(401, "GET", "/v1/messages", nil)
		acme.expect(400, "POST", "/v1/keys", `{"name":"phone","scopes":["read"],"user":"`+id+`"}`)
	})
}
