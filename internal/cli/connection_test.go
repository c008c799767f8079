package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	carrierB = `{"name":"carrier_b","kind":"smpp","from":"api","enabled":true,"simulated":false,"state":"bound","waiting":12,"settings":{"kind":"smpp","password":"env:B"},"version":2,"changed_at":"2026-12-31T10:00:00Z","changed_by":"ann, key k"}`
	twoRules = `{"from":"api","rules":[{"purpose":"login","prefix":"49","use":["carrier_b","carrier_a"]},{"use":["carrier_a"]}],"version":3,"changed_at":null}`
)

// connected is a gateway that knows one connection and two routes.
func connected(asked *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
		switch {
		case r.URL.Path == "/v1/routes" && strings.Contains(string(body), `"rules":[]`):
			reply(w, 200, `{"from":"default","rules":[],"version":4,"changed_at":null}`)
		case r.URL.Path == "/v1/routes":
			reply(w, 200, twoRules)
		case r.Method == "DELETE":
			reply(w, 200, `{"name":"carrier_b","removed":true}`)
		case r.Method == "GET" && r.URL.Path == "/v1/connections":
			reply(w, 200, `{"data":[`+carrierB+`],"next":null}`)
		default:
			reply(w, 200, carrierB)
		}
	}
}

// covers: X5
func TestConnections(t *testing.T) {
	const one = "/v1/connections/carrier_b"
	for command, c := range map[string]struct{ asks, says string }{
		"connection list":           {"GET /v1/connections?limit=200", "carrier_b  smpp  bound  12       api   2026-12-31 10:00:00.000  ann, key k"},
		"connection show carrier_b": {"GET " + one, `"password": "env:B"`},
		"connection add carrier_b kind=smpp address=h:2775 window=20 tls=true password=env:B lookup.by=[\"own_reference\"] lookup.source=manual system_id=007": {
			`POST /v1/connections {"enabled":true,"name":"carrier_b","settings":{"address":"h:2775","kind":"smpp","lookup":{"by":["own_reference"],"source":"manual"},"password":"env:B","system_id":"007","tls":true,"window":20}}`,
			"next: einmal connection show carrier_b",
		},
		"connection add carrier_b kind=simulator --disabled":            {`POST /v1/connections {"enabled":false,"name":"carrier_b","settings":{"kind":"simulator"}}`, "connection carrier_b is added, and is bound"},
		"connection set carrier_b rate=null receipts.zone=UTC window=3": {"PATCH " + one + ` {"settings":{"rate":null,"receipts":{"zone":"UTC"},"window":3}}`, "state          bound"},
		"connection enable carrier_b":                                   {"PATCH " + one + ` {"enabled":true}`, "enabled        yes"},
		"connection disable carrier_b":                                  {"PATCH " + one + ` {"enabled":false}`, "from           api"},
		"connection remove carrier_b":                                   {"DELETE " + one, "connection carrier_b is removed"},
		"connection remove carrier_b --json":                            {"DELETE " + one, `"removed":true`},
		"route list":                                                    {"GET /v1/routes", "login    any     49      any     carrier_b, carrier_a\nany      any     any     any     carrier_a"},
	} {
		var asked []string
		m := newMachine(t, connected(&asked))
		code, out, errs := m.run(strings.Fields(command)...)
		if code != exitDone || errs != "" || !strings.Contains(out, c.says) || len(asked) != 1 || asked[0] != c.asks {
			t.Errorf("%s: %d %s%s after %q", command, code, out, errs, asked)
		}
	}
	var asked []string
	m := newMachine(t, connected(&asked))
	if code, _, errs := m.run("connection", "set", "carrier_b", "window"); code != exitUsage || !strings.Contains(errs, "member=value") || len(asked) != 0 {
		t.Errorf("%d %s after %q", code, errs, asked)
	}
}

// covers: X5
func TestRouteSet(t *testing.T) {
	for text, c := range map[string]struct {
		code       int
		asks, says string
	}{
		"routes:\n- {purpose: login, prefix: 49, use: [b, a]}\n- {use: [a]}\n": {
			exitDone, `PUT /v1/routes {"rules":[{"purpose":"login","prefix":"49","use":["b","a"]},{"use":["a"]}],"version":3}`, "login    any     49"},
		"routes: []\n":                          {exitDone, `PUT /v1/routes {"rules":[],"version":3}`, "There are no routes"},
		"routes:\n- {usee: [a]}\n":              {exitUsage, "", `[2:4] unknown field "usee"`},
		`{"version":1,"rules":[{"use":["a"]}]}`: {exitUsage, "", "write YAML as in the configuration file:  routes:"},
		"- {use: [a]}\n":                        {exitUsage, "", "the file is no list of routes"},
		"":                                      {exitUsage, "", "write  routes:"},
	} {
		var asked []string
		m := newMachine(t, connected(&asked))
		file := filepath.Join(t.TempDir(), "routes.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := m.run("route", "set", file)
		if code != c.code || !strings.Contains(out+errs, c.says) || c.asks != "" && (len(asked) != 2 || asked[1] != c.asks) || c.asks == "" && len(asked) > 0 {
			t.Errorf("%q: %d %s%s after %q", text, code, out, errs, asked)
		}
	}
}
