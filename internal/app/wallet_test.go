package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// shop is a prepaid tenant of a gateway, with a key of a kind.
func (g *gateway) shop(name, kind string) *gateway {
	g.t.Helper()
	if kind == "live" {
		g.done("POST", "/v1/tenants", map[string]any{"name": name})
	}
	key := g.done("POST", "/v1/tenants/"+name+"/keys", map[string]any{"name": name + "-" + kind, "kind": kind, "scopes": []string{"send", "read"}})
	own := *g
	own.key = key.at("key")
	return &own
}

// done is a call that has to succeed.
func (g *gateway) done(method, path string, body any) reply {
	g.t.Helper()
	r := g.call(method, path, body)
	if r.Status >= 300 {
		g.t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Raw)
	}
	return r
}

// A tenant pays for what the carrier took, and for nothing else; without a price, above its limit and without funds it is
// refused, and what is refused may be asked for again. The installation's own messages cost nothing.
//
// covers: M4, I10, D4, D13
func TestPrepaidTenants(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		own := g.post(alert("own", "+12025550100"))
		shop, tester := g.shop("shop", "live"), g.shop("shop", "test")
		unpriced := shop.post(alert("P-1", "+12025550100"))
		if unpriced.Status != http.StatusPaymentRequired || unpriced.at("decision.rule") != "price.missing" {
			t.Errorf("without a price: %d %s", unpriced.Status, unpriced.Raw)
		}
		g.done("PUT", "/v1/prices", map[string]any{"data": []map[string]any{{"prefix": "1", "micro_usd": 7_500_000}}})
		broke := shop.post(alert("P-1", "+12025550100"), "Idempotency-Key", "p1")
		if broke.Status != http.StatusPaymentRequired || broke.at("code") != "funds" || !strings.Contains(broke.Raw, `{"rule":"wallet.exposure","kind":"limit","result":"pass"},{"rule":"wallet.balance","kind":"funds","result":"refuse"}`) {
			t.Errorf("without funds: %d %s", broke.Status, broke.Raw)
		}
		if d := shop.call("GET", "/v1/decisions/"+broke.at("decision.id"), nil); d.at("action") != "refused" || d.at("would") != "allow" || d.at("message") != "" {
			t.Errorf("the record of a refusal: %s", d.Raw)
		}
		g.done("POST", "/v1/tenants/shop/topups", map[string]any{"amount_micro_usd": 100_000_000, "reference": "inv-1", "reason": "transfer"})
		taken := shop.post(alert("P-1", "+12025550100"), "Idempotency-Key", "p1")
		if taken.Status != http.StatusCreated {
			t.Fatalf("with funds: %d %s", taken.Status, taken.Raw)
		}
		g.settled(shop, taken.at("message.id"), "delivered", 7_500_000)
		rejected := shop.post(alert("P-2", "+12025550102"))
		g.settled(shop, rejected.at("message.id"), "rejected", 0)
		unknown := shop.post(alert("P-3", "+12025550105"))
		shop.await(unknown.at("message.id"), "unknown")
		if m := shop.message(unknown.at("message.id")); m.at("cost.held_micro_usd") != "7.5e+06" || m.at("cost.settled_micro_usd") != "0" {
			t.Errorf("what nobody knows costs %s", m.at("cost"))
		}
		over := shop.post(alert("P-4", "+12025550100")) // 7.5 are spent and 7.5 held
		if over.Status != http.StatusTooManyRequests || over.at("decision.rule") != "wallet.exposure" {
			t.Errorf("above 20 dollars: %d %s", over.Status, over.Raw)
		}
		if free := tester.post(alert("P-5", "+12025550100")); free.Status != http.StatusCreated || !strings.Contains(free.Raw, `"guards":[]`) {
			t.Errorf("a test key: %d %s", free.Status, free.Raw)
		}
		g.done("POST", "/v1/tenants/shop/limit", map[string]any{"lift": true, "by": "ann", "reason": "known"})
		if again := shop.post(alert("P-4", "+12025550100")); again.Status != http.StatusCreated {
			t.Errorf("without a limit: %d %s", again.Status, again.Raw)
		}
		if told := shop.call("GET", "/v1/events", nil).Raw; !strings.Contains(told, `"held_micro_usd":"7500000","settled_micro_usd":"0"`) || !strings.Contains(told, `"settled_micro_usd":"7500000"`) {
			t.Errorf("the events tell nothing of money: %s", told)
		}
		if m := g.message(own.at("message.id")); own.Status != http.StatusCreated || m.at("cost") != "" {
			t.Errorf("the installation's own message costs %s", m.at("cost"))
		}
		// What stays unknown is the operator's to settle.
		id, said := unknown.at("message.id"), map[string]any{"outcome": "not_sent", "by": "ann", "reason": "their list"}
		g.done("POST", "/v1/tenants/shop/messages/"+id+"/outcome", said)
		g.settled(shop, id, "rejected", 0)
		if p := g.done("GET", "/v1/wallets/verify", nil); p.at("differences") != "0" || p.at("messages") != "4" {
			t.Errorf("the proof: %s", p.Raw)
		}
	})
}

// settled waits for a message's end, and what it costs.
func (g *gateway) settled(shop *gateway, id, state string, cost int) {
	g.t.Helper()
	shop.await(id, state)
	if m := shop.message(id); m.at("cost.held_micro_usd") != "0" || m.at("cost.settled_micro_usd") != fmt.Sprint(float64(cost)) {
		g.t.Errorf("a message that is %s costs %s", state, m.at("cost"))
	}
}
