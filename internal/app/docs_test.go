package app_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// example is what stands between two marks of a page.
func example(t *testing.T, page, mark string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	must(t, err)
	found := regexp.MustCompile("(?s)<!-- " + mark + " -->\n```[a-z]+\n(.*?)```\n<!-- /" + mark + " -->").FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/%s has no example marked %s", page, mark)
	}
	return string(found[1])
}

// The configuration page's example is read as printed.
func TestConfigurationExample(t *testing.T) {
	t.Setenv("CARRIER_A_PASSWORD", "secret")
	c, err := load(t, example(t, "configuration.md", "config"), app.Flags{})
	must(t, err)
	if k := c.Connections["carrier_a"]; k.Window != 20 || k.Binds != 2 || k.Kind != "smpp" || len(k.Lookup.By) != 1 || k.Receipts.IDs.Receipt != "decimal" ||
		k.Receipts.States["FAILED"] != "undelivered" || k.Receipts.Errors["069"] == "" || k.Receipts.Confirmed.Source == "" || time.Duration(k.Receipts.Time) != 48*time.Hour || k.Rate == 0 || len(k.Senders) != 2 || k.Addresses.ShortCode != "abbreviated" ||
		k.Statuses.Codes["0x08"] != "retry_later" || k.Statuses.Codes["0x0401"] != "account" || k.Statuses.Source == "" {
		t.Errorf("the example was read as %+v", c)
	}
}

// Its routes lead each message where the page says, and what it has of connections is read as printed.
func TestRoutesExample(t *testing.T) {
	t.Setenv("CARRIER_A_PASSWORD", "secret")
	t.Setenv("CARRIER_B_PASSWORD", "secret")
	c, err := load(t, example(t, "configuration.md", "routes"), app.Flags{})
	must(t, err)
	if len(c.Connections) != 3 || c.Connections["carrier_a_backup"].IDSpace != "carrier_a" || len(c.Routes) != 4 || c.Routes[1].Prefix != "49" || c.Routes[0].Use[0] != "carrier_b" {
		t.Errorf("the example was read as %+v", c)
	}
}

// The API page's connection and routes are taken as printed, one after the other.
func TestConnectionExample(t *testing.T) {
	t.Setenv("CARRIER_B_PASSWORD", "secret")
	g := start(t, testConfig(t, "sqlite"))
	made := g.does(http.StatusCreated, "POST", "/v1/connections", example(t, "api.md", "connection"))
	if made.at("name") != "carrier_b" || made.at("settings.window") != "20" || made.at("settings.password") != "env:CARRIER_B_PASSWORD" {
		t.Errorf("made %s", made.Raw)
	}
	if r := g.does(http.StatusOK, "PUT", "/v1/routes", example(t, "api.md", "rules")); r.at("version") != "1" || r.at("from") != "api" {
		t.Errorf("the routes are %s", r.Raw)
	}
}

// So is the example of the page about TLS, but for a fingerprint that nobody has.
func TestTLSExample(t *testing.T) {
	text := strings.Replace(example(t, "tls.md", "tls"), "6C:1A:…", strings.Repeat("6C:1A:", 15)+"6c:1a", 1)
	c, err := load(t, text, app.Flags{})
	must(t, err)
	if c.Listen.TLS.ClientCert != "required" || len(c.Listen.Clients) != 2 || c.PublicURL == "" || c.Listen.InClear() {
		t.Errorf("the example was read as %+v", c.Listen)
	}
	for _, c := range []struct{ right, wrong, want string }{
		{"key: k3v7abcdef", "key: em_k3v9", "write the id of an API key"},
		{"6C:1A:6C", "6C", "64 hexadecimal digits"},
		{"name: shop.internal.example", "name: ''", "either fingerprint or name"},
	} {
		if _, err := load(t, strings.Replace(text, c.right, c.wrong, 1), app.Flags{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.wrong, err, c.want)
		}
	}
}

// The API page's request is taken as printed, and answered as the page says.
func TestRequestExample(t *testing.T) {
	g := start(t, testConfig(t, "sqlite"))
	body := example(t, "api.md", "request")
	first, second := g.post(body), g.post(body)
	if first.Status != http.StatusCreated || second.Status != http.StatusOK || second.at("message.id") != first.at("message.id") {
		t.Errorf("%d %s\n%d %s", first.Status, first.Raw, second.Status, second.Raw)
	}
	m := g.await(first.at("message.id"), "delivered")
	if m.at("metadata.basket") != "77" || m.at("correlation_id") != "checkout-77f1" {
		t.Errorf("the message is %s", m.Raw)
	}
}

// The API page's stop is taken as printed, and holds what the page says.
func TestStopExample(t *testing.T) {
	g := start(t, testConfig(t, "sqlite"))
	if r := g.call(http.MethodPost, "/v1/stops", example(t, "api.md", "stop")); r.Status != http.StatusOK || r.at("made") != "true" || r.at("flows") != "0" {
		t.Errorf("%d %s", r.Status, r.Raw)
	}
	if m := g.message(g.post(alert("S", "+12025550100")).at("message.id")); m.at("stopped.by") != "Ann" || m.at("state") != "pending" {
		t.Errorf("the message is %s", m.Raw)
	}
}

// So is its tenant, whose name is its id from then on.
func TestTenantExample(t *testing.T) {
	g := start(t, testConfig(t, "sqlite"))
	r := g.call(http.MethodPost, "/v1/tenants", example(t, "api.md", "tenant"))
	if again := g.call(http.MethodGet, "/v1/tenants/"+r.at("name"), nil); r.Status != http.StatusCreated || again.Raw != r.Raw || r.at("state") != "active" || r.at("prepaid") != "false" {
		t.Errorf("%d %s\nthen %s", r.Status, r.Raw, again.Raw)
	}
}

// So is its batch: two destinations are two intents, and the same again is a replay of both.
func TestBatchExample(t *testing.T) {
	g := start(t, testConfig(t, "sqlite"))
	body := example(t, "api.md", "batch")
	for _, replayed := range []string{"false", "true"} {
		r := g.call(http.MethodPost, "/v1/messages/batch", body)
		data, _ := r.Body["data"].([]any)
		if r.Status != http.StatusOK || len(data) != 2 {
			t.Fatalf("%d %s", r.Status, r.Raw)
		}
		for _, one := range data {
			if got := (reply{Body: one.(map[string]any)}); got.at("status") != "201" || got.at("replayed") != replayed {
				t.Errorf("%v", one)
			}
		}
	}
	if r := g.call(http.MethodGet, "/v1/messages?to=%2B12025550130", nil); len(r.Body["data"].([]any)) != 1 {
		t.Errorf("%s", r.Raw)
	}
}

// The API page's replay reads the log again, for show.
func TestReplayExample(t *testing.T) {
	g := start(t, testConfig(t, "sqlite"))
	g.await(g.post(alert("replay", "+12025550100")).at("message.id"), "delivered")
	if r := g.call(http.MethodPost, "/v1/receipts/replay", example(t, "api.md", "replay")); r.Status != http.StatusOK || r.at("looked_at") != "1" || r.at("changed") != "0" || r.at("dry_run") != "true" {
		t.Errorf("%d %s", r.Status, r.Raw)
	}
}
