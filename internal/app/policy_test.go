package app_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

const shopPolicy = `policy: shop
version: 1
region: US
purposes:
  order_confirmation:
    kind: confirmation
    key: [event.id, event.version, sender]
    window: {while: [delivered, undelivered], at_most: 30d}
`

// shopVersion is a version of the policy, changed.
func shopVersion(n int, changes ...string) string {
	changes = append(changes, "version: 1", fmt.Sprint("version: ", n))
	return strings.NewReplacer(changes...).Replace(shopPolicy)
}

// withPolicy is the configuration with a policy file, whose path it returns.
func withPolicy(t *testing.T, c app.Config, source string) (app.Config, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.yaml")
	must(t, os.WriteFile(path, []byte(source), 0o600))
	c.Policy = "file:" + path
	return c, path
}

func (g *gateway) apply(source string) reply {
	g.t.Helper()
	return g.call(http.MethodPost, "/v1/policies", map[string]string{"file": "shop.yaml", "source": source})
}

// A policy file is in force from the start; a version that comes while the gateway runs changes the key of a purpose,
// and reopens nothing.
//
// covers: X3, D6, D14
func TestPolicyFile(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		c, _ = withPolicy(t, c, shopPolicy)
		g := start(t, c)
		local := order("P-1", "1", "(202) 555-0143") // in the policy's region
		first := g.post(local)
		if first.Status != 201 || first.at("decision.policy_version") != "shop@1" {
			t.Fatalf("%d %s", first.Status, first.Raw)
		}
		if r := g.apply(shopVersion(2, "[event.id, event.version, sender]", "[event.id]")); r.Status != 200 || r.at("changed") != "true" || r.at("in_force") != "true" || r.at("by") == "" {
			t.Fatalf("%d %s", r.Status, r.Raw)
		}
		again := g.post(local)
		if again.Status != 200 || again.at("decision.policy_version") != "shop@2" || again.at("message.id") != first.at("message.id") {
			t.Errorf("the same under another key: %d %s", again.Status, again.Raw)
		}
		d := g.call("GET", "/v1/decisions/"+again.at("decision.id"), nil)
		was := g.call("GET", "/v1/decisions/"+first.at("decision.id"), nil)
		if d.at("matched_key") != was.at("deduplication_key") || d.at("deduplication_key") == d.at("matched_key") {
			t.Errorf("under which key it was found: %s", d.Raw)
		}
		if r := g.post(order("P-2", "1", "(202) 555-0143")); r.Status != 201 {
			t.Errorf("a new intent: %d %s", r.Status, r.Raw)
		}
		if r := g.post(order("P-2", "2", "(202) 555-0143")); r.Status != 200 {
			t.Errorf("another event version under the new key: %d %s", r.Status, r.Raw)
		}
	})
}

const mappingRules = `mapping:
  - name: old_shop
    when: {api_key: old shop, sender: SHOP, member: {metadata.app: {matches: '^web'}}}
    purpose: order_confirmation
    event: {type: order, id: {header: X-Order-Id}, version: "1"}
  - name: by_text
    when: {text: {matches: 'order (?P<order>[A-Z]-[0-9]+)'}}
    purpose: order_confirmation
    event: {id: {capture: order}, version: "1"}
`

// A caller who knows nothing of intents is mapped to one by its key, its sender and what it sends; the decision names
// the rule.
//
// covers: D18, D14
func TestMapping(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		c, _ = withPolicy(t, c, shopPolicy+mappingRules)
		g := start(t, c)
		made := g.call("POST", "/v1/keys", map[string]any{"name": "old shop", "scopes": []string{"send", "read"}})
		shop := *g
		shop.key = made.at("key")
		body := map[string]any{"to": "(202) 555-0143", "text": "It is confirmed.", "sender": "SHOP", "metadata": map[string]string{"app": "web 2"}}
		first, again := shop.post(body, "X-Order-Id", "A-7"), shop.post(body, "x-order-id", "A-7")
		if first.Status != 201 || first.at("decision.mapped_by") != "old_shop" || first.at("decision.rule") != "order_confirmation.window" {
			t.Fatalf("%d %s", first.Status, first.Raw)
		}
		if again.Status != 200 || again.at("message.id") != first.at("message.id") {
			t.Errorf("again: %d %s", again.Status, again.Raw)
		}
		if r := shop.post(body, "X-Order-Id", "A-8"); r.Status != 201 || r.at("decision.mapped_by") != "old_shop" {
			t.Errorf("another order: %d %s", r.Status, r.Raw)
		}
		if r := shop.post(body); r.at("decision.mapped_by") != "" || r.at("decision.rule") != "unnamed.window" {
			t.Errorf("without an order: %d %s", r.Status, r.Raw)
		}
		d := g.call("GET", "/v1/decisions/"+again.at("decision.id"), nil)
		if d.at("mapped_by") != "old_shop" || d.at("event.id") != "A-7" || d.at("purpose") != "order_confirmation" {
			t.Errorf("its decision: %s", d.Raw)
		}
		text := g.post(map[string]any{"to": "(202) 555-0143", "text": "Your order A-7 is confirmed.", "sender": "SHOP"})
		if text.Status != 200 || text.at("decision.mapped_by") != "by_text" || text.at("message.id") != first.at("message.id") || text.at("decision.same_text") != "false" {
			t.Errorf("the same order by its text: %d %s", text.Status, text.Raw)
		}
	})
}

// What cannot follow is refused with what would be right, and leaves the policy in force as it is.
//
// covers: X3, D6
func TestPoliciesThatCannotFollow(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		if r := g.apply(shopVersion(9)); r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Raw)
		}
		for name, c := range map[string]struct {
			source string
			status int
			says   string
		}{
			"back":          {shopVersion(7), 409, "give it the version 10"},
			"other content": {shopVersion(9, "30d", "7d"), 409, "give this file the version 10"},
			"a wrong file":  {shopVersion(10, "30d", "7x"), 400, "line 8, column"},
			"failing tests": {shopVersion(10) + "tests:\n  - {name: a click, send: [{at: 0s, text: x}], expect: [suppress]}\n", 400, "the test \\\"a click\\\" expects suppress, and it is allow new_intent"},
			"the built-in":  {shopVersion(10, "policy: shop", "policy: builtin"), 409, "give yours another name"},
		} {
			if r := g.apply(c.source); r.Status != c.status || !strings.Contains(r.Raw, c.says) {
				t.Errorf("%s: %d %s", name, r.Status, r.Raw)
			}
		}
		if r := g.apply(shopVersion(9)); r.Status != 200 || r.at("changed") != "false" {
			t.Errorf("the same again: %d %s", r.Status, r.Raw)
		}
		if r := g.call("GET", "/v1/policies/current", nil); r.at("id") != "shop@9" || !strings.Contains(r.at("source"), "version: 9") {
			t.Errorf("in force is %s", r.Raw)
		}
	})
}

// A node that starts with an older file works under what is in force, and says so; one that starts without a file
// does as well.
//
// covers: X3
func TestNodesThatStartWithLess(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		newer, _ := withPolicy(t, c, shopVersion(3))
		g := start(t, newer)
		g.stop()
		older, _ := withPolicy(t, c, shopVersion(2, "30d", "7d"))
		for name, config := range map[string]app.Config{"an older file": older, "no file": c} {
			var log bytes.Buffer
			a := app.New(config, slog.New(slog.NewTextHandler(&log, nil)))
			must(t, a.Start(context.Background()))
			if a.PolicyInForce() != "shop@3" {
				t.Errorf("%s: under %s", name, a.PolicyInForce())
			}
			must(t, a.Stop(context.Background()))
			if said := strings.Contains(log.String(), "give it the version 4"); said != (name == "an older file") {
				t.Errorf("%s: %s", name, &log)
			}
		}
		failing, _ := withPolicy(t, c, shopVersion(4)+"tests:\n  - {name: a click, send: [{at: 0s, text: x}], expect: [suppress]}\n")
		err := app.New(failing, slog.New(slog.DiscardHandler)).Start(context.Background())
		if err == nil || !strings.Contains(err.Error(), `line 10: the test "a click" expects suppress`) {
			t.Errorf("tests that fail: %v", err)
		}
		other, _ := withPolicy(t, c, shopVersion(3, "30d", "7d"))
		err = app.New(other, slog.New(slog.DiscardHandler)).Start(context.Background())
		if err == nil || !strings.Contains(err.Error(), "another content") {
			t.Errorf("the same version with another content: %v", err)
		}
	})
}

// A file that was changed is read again when that is asked for. A wrong one changes nothing.
//
// covers: X3
func TestPolicyFileIsReadAgain(t *testing.T) {
	c, path := withPolicy(t, testConfig(t, "sqlite"), shopPolicy)
	g := start(t, c)
	for _, step := range []struct{ source, inForce string }{
		{shopVersion(2), "shop@2"}, {"policy: shop", "shop@2"}, {shopVersion(3), "shop@3"},
	} {
		must(t, os.WriteFile(path, []byte(step.source), 0o600))
		g.ReloadPolicy(context.Background())
		if g.PolicyInForce() != step.inForce {
			t.Errorf("in force is %s, want %s", g.PolicyInForce(), step.inForce)
		}
	}
}

// covers: X3
func TestWrongPolicyFilesAreToldAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.yaml")
	must(t, os.WriteFile(path, []byte("policy: shop\nversion: x\n"), 0o600))
	for policy, want := range map[string]string{
		"file:" + path: "shop.yaml:2:10: not a version", "file:" + path + ".none": "cannot be read", "shop.yaml": "builtin, or file:PATH", "file:": "builtin, or file:PATH",
	} {
		if _, err := load(t, "policy: '"+policy+"'", app.Flags{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", policy, err)
		}
	}
	if _, err := app.Load("", app.Flags{Policy: path}); err == nil || !strings.Contains(err.Error(), "2:10") {
		t.Errorf("by the flag: %v", err)
	}
}
