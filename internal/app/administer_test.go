package app_test

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// What cannot be is refused with what would be right, and changes nothing.
//
// covers: X5
func TestWrongConnections(t *testing.T) {
	c := testConfig(t, "sqlite")
	g, other := start(t, c), newCarrier(t)
	g.does(201, "POST", "/v1/connections", `{"name":"carrier_b","settings":`+other.settings("")+`}`)
	before := g.does(200, "GET", "/v1/connections", "").Raw + g.does(200, "GET", "/v1/routes", "").Raw
	for _, r := range []struct {
		status             int
		method, path, body string
		want               string
	}{
		{400, "POST", "", `{"name":"a b","settings":{"kind":"simulator"}}`, "without spaces"},
		{400, "POST", "", `{"name":"x","settings":{"kind":"fax"}}`, "simulator or smpp"},
		{400, "POST", "", `{"name":"x","settings":{"kind":"smpp","address":"h:1","password":"hunter2"}}`, "write a reference, env:NAME or file:PATH"},
		{400, "POST", "", `{"name":"x","settings":{"kind":"simulator","ledger":"/tmp/x"}}`, "a file is named in the configuration alone"},
		{400, "POST", "", `{"name":"x","settings":{"kind":"simulator","windwo":3}}`, `"unknown field \"windwo\": the nearest that there is, is window"`},
		{400, "POST", "", `{"name":"x","settings":{"kind":"simulator","window":0}}`, "window: from 1 to 10000"},
		{400, "POST", "", `{"name":"x","settings":{"kind":"simulator","id_space":"nowhere"}}`, "id space"},
		{400, "POST", "", `{"name":"x","settings":{"kind":"simulator","response_timeout":"30m"}}`, "receipts.grace"},
		{409, "POST", "", `{"name":"carrier_b","settings":{"kind":"simulator"}}`, "change it with PATCH"},
		{409, "POST", "", `{"name":"simulator","settings":{"kind":"simulator"}}`, "a configuration that names none"},
		{409, "PATCH", "/simulator", `{"enabled":false}`, "a configuration that names none"},
		{404, "PATCH", "/carrier_c", `{"enabled":false}`, "no connection of this name"},
		{409, "PATCH", "/carrier_b", `{"enabled":false,"version":7}`, "read it again"},
		{400, "PATCH", "/carrier_b", `{"settings":{"kind":"simulator","address":null,"system_id":null}}`, "keeps its kind"},
		{400, "PATCH", "/carrier_b", `{"settings":{"id_space":"simulator"}}`, "keeps its id space"},
		{400, "PATCH", "/carrier_b", `{"settings":{"address":null}}`, "host:port"},
		{404, "DELETE", "/carrier_c", "", "no connection of this name"},
		{409, "PUT", "/v1/routes", `{"version":3,"rules":[{"use":["carrier_b"]}]}`, "read it again"},
		{400, "PUT", "/v1/routes", `{"version":0,"rules":[{"use":["carrier_c"]}]}`, "there is no connection"},
		{400, "PUT", "/v1/routes", `{"version":0,"rules":[{"purpose":"x","use":["carrier_b"]}]}`, "add a last rule {use: [carrier_b]}"},
		{400, "PUT", "/v1/routes", `{"version":0,"rules":[{"tenant":"acme","use":["carrier_b"]},{"use":["simulator"]}]}`, "rule 1: tenant: there is no tenant of this name"},
	} {
		path := r.path
		if !strings.HasPrefix(path, "/v1") {
			path = "/v1/connections" + path
		}
		var body any
		if r.body != "" {
			body = r.body
		}
		got := g.call(r.method, path, body)
		if got.Status != r.status || !strings.Contains(got.Raw, r.want) || strings.Contains(got.Raw, "hunter2") {
			t.Errorf("%s %s %s: %d %s, want %d with %q", r.method, path, r.body, got.Status, got.Raw, r.status, r.want)
		}
	}
	g.becomes("carrier_b", "bound")
	before = strings.Replace(before, `"state":"starting"`, `"state":"bound"`, 1)
	if after := g.does(200, "GET", "/v1/connections", "").Raw + g.does(200, "GET", "/v1/routes", "").Raw; bounds(after) != bounds(before) {
		t.Errorf("what was refused changed something: %s, before %s", after, before)
	}
}

// bounds leaves out the states, which move by themselves.
func bounds(s string) string {
	var out []string
	for _, member := range strings.Split(s, ",") {
		if !strings.HasPrefix(member, `"state"`) {
			out = append(out, member)
		}
	}
	return strings.Join(out, ",")
}

// What the configuration file says is shown, without its secrets, and changed there alone.
//
// covers: X5
func TestTheFileComesFirst(t *testing.T) {
	other := newCarrier(t)
	l, err := load(t, `
connections:
  carrier: {kind: smpp, address: '`+other.Addr()+`', system_id: einmal, password: hunter2, rate: 100/s}
  test: {kind: simulator}
routes:
- {purpose: alert, use: [test]}
- {use: [carrier]}
`, app.Flags{Listen: "127.0.0.1:0", Data: t.TempDir()})
	must(t, err)
	g := start(t, l)
	one := g.does(200, "GET", "/v1/connections/carrier", "")
	if one.at("from") != "file" || one.at("settings.rate") != "100/s" || one.at("settings.password") == "" || strings.Contains(one.Raw, "hunter2") || one.at("version") != "0" {
		t.Errorf("shown as %s", one.Raw)
	}
	for what, body := range map[string]string{"PATCH /v1/connections/carrier": `{"enabled":false}`, "DELETE /v1/connections/carrier": "", "PUT /v1/routes": `{"version":0,"rules":[]}`} {
		method, path, _ := strings.Cut(what, " ")
		if r := g.does(409, method, path, body); !strings.Contains(r.Raw, "in the configuration file") {
			t.Errorf("%s: %s", what, r.Raw)
		}
	}
	if r := g.does(200, "GET", "/v1/routes", ""); r.at("from") != "file" || !strings.Contains(r.Raw, `{"purpose":"alert","use":["test"]}`) {
		t.Errorf("routes: %s", r.Raw)
	}
}
