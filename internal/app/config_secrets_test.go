package app_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/ground/settings"
)

// hidden is what no error shows. It is as long as a bind's password may be.
const hidden = "zq7Vex9k"

// A configuration with a mistake beside a secret, or in the secret itself: the error says where, and not the secret.
//
// covers: X7, D15
func TestWrongConfigurationKeepsSecrets(t *testing.T) {
	const (
		carrier = "connections:\n  carrier:\n    kind: smpp\n    address: smsc.example.net:2775\n"
		url     = "postgres://einmal:" + hidden + "@127.0.0.1/einmal"
	)
	beside := map[string]string{ // the names of the members that are secrets
		"store":                        "store: " + url + "\n",
		"connections.carrier.password": carrier + "    password: " + hidden + "\n",
	}
	l, err := loadAll(t, beside["connections.carrier.password"], nil, app.Flags{})
	must(t, err)
	for _, m := range settings.Members(&l.Config, "EINMAL_") {
		if m.Secret != "" && beside[m.Name()] == "" {
			t.Errorf("%s is a secret, and no mistake beside it is tried: add it", m.Name())
		}
	}
	for text, want := range map[string]string{
		beside["store"] + "stroe: x\n":                                                         `[2:1] unknown field "stroe"`,
		beside["store"] + "log: {level: [x]}\n":                                                "[2:14] ",
		beside["store"] + "  x: y\n":                                                           "[1:8] ",
		beside["store"] + beside["store"]:                                                      `[2:1] mapping key "store" already defined`,
		"store: my" + url + "\n":                                                               "store: write sqlite",
		"store: [" + url + "]\n":                                                               "[1:8] ",
		"store: \"" + url + "\n":                                                               "[1:8] ",
		"store: *" + hidden + "\n":                                                             "[1:9] could not find alias",
		"store: |" + hidden + "\n":                                                             "[1:8] invalid header option",
		beside["connections.carrier.password"] + "    bindz: 2\n":                              `[6:5] unknown field "bindz"`,
		beside["connections.carrier.password"] + "    binds: many\n":                           "[6:12] binds: from 1 to 100",
		beside["connections.carrier.password"] + "    no_echo: maybe\n":                        "[6:14] ",
		beside["connections.carrier.password"] + "   binds: 2\n":                               "[6:4] ",
		beside["connections.carrier.password"] + "    password: other\n":                       `[6:5] mapping key "password" already defined`,
		beside["connections.carrier.password"] + "    kind: other\n":                           `mapping key "kind"`,
		carrier + "    bindz: 2\n    password: " + hidden + "\n":                               `[5:5] unknown field "bindz"`,
		carrier + "    password: " + hidden + hidden + "\n":                                    "password: at most 8 octets",
		carrier + "    password: [" + hidden + "]\n":                                           "[5:15] ",
		carrier + "    password: *" + hidden + "\n":                                            "[5:16] could not find alias",
		carrier + "    password: |" + hidden + "\n":                                            "[5:15] invalid header option",
		carrier + "    password: @" + hidden + "\n":                                            "[5:15] ",
		carrier + "    password: " + hidden + ": x\n":                                          "[5:15] ",
		carrier + "    password:" + hidden + "\n":                                              "[5:5] ",
		carrier + "    password: '" + hidden + "\n":                                            "[5:15] ",
		carrier + "    system_id: a\n    \"password=" + hidden + " \\\" " + hidden + "\": x\n": "[6:5] unknown field",
	} {
		_, err := loadAll(t, text, nil, app.Flags{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hidden) {
			t.Errorf("%s is told as %v, want %s", text, err, want)
		}
	}
}

// The same holds for variables and flags.
//
// covers: X7, D15
func TestWrongVariablesKeepSecrets(t *testing.T) {
	const url = "mysql://einmal:" + hidden + "@127.0.0.1/einmal"
	const carrier = "connections: {carrier: {kind: smpp, address: 'x:1'}}\n"
	for _, c := range []struct {
		environ []string
		flags   app.Flags
		want    string
	}{
		{[]string{"EINMAL_STORE=" + url}, app.Flags{}, "env EINMAL_STORE"},
		{[]string{"EINMAL_STROE=" + url}, app.Flags{}, "the variable EINMAL_STROE sets nothing"},
		{nil, app.Flags{Store: url}, "flag --store"},
		{[]string{"EINMAL_CONNECTIONS_CARRIER_PASSWORD=" + hidden + hidden}, app.Flags{}, "at most 8 octets"},
		{[]string{"EINMAL_CONNECTIONS_CARRIER_PASWORD=" + hidden}, app.Flags{}, "EINMAL_CONNECTIONS_CARRIER_PASSWORD"},
		{[]string{"EINMAL_CONNECTIONS_CARRIER_PASSWORD=" + hidden, "EINMAL_CONNECTIONS_CARRIER_BINDS=many"}, app.Flags{}, "binds: from 1 to 100"},
	} {
		_, err := loadAll(t, carrier, c.environ, c.flags)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), hidden) {
			t.Errorf("%v %+v is told as %v, want %s", c.environ, c.flags, err, c.want)
		}
	}
}

// Settings that are sent to the API come back in no answer and stand in no log, whatever is wrong with them.
//
// covers: X5, D15
func TestWrongSettingsKeepSecrets(t *testing.T) {
	log := &written{}
	g := startLogged(t, testConfig(t, "sqlite"), slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	g.does(201, "POST", "/v1/connections", `{"name":"there","settings":{"kind":"smpp","address":"127.0.0.1:1","password":"env:EINMAL_NOT_SET"},"enabled":false}`)
	for settings, want := range map[string]string{
		`{"kind":"smpp","address":"x:1","password":"` + hidden + `"}`:               "password: a secret is not stored",
		`{"kind":"smpp","address":"x:1","password":"` + hidden + `","bindz":2}`:     "unknown field",
		`{"kind":"smpp","address":"x:1","password":"` + hidden + `","binds":"x"}`:   "binds: from 1 to 100",
		`{"kind":"smpp","address":"x:1","password":["` + hidden + `"]}`:             "cannot unmarshal",
		`{"kind":"smpp","address":"x:1","password":{"a":"` + hidden + `"}}`:         "cannot unmarshal",
		`{"kind":"smpp","address":"x:1","password":"file:/` + hidden + `","a":1}`:   "unknown field",
		`{"kind":"smpp","address":"x:1","password":"` + hidden + hidden + `"}`:      "password: a secret is not stored",
		`{"kind":"smpp","address":"x:1","` + hidden + ` \" ` + hidden + `":"pass"}`: "unknown field",
	} {
		for _, r := range []reply{
			g.call(http.MethodPost, "/v1/connections", `{"name":"new","settings":`+settings+`}`),
			g.call(http.MethodPatch, "/v1/connections/there", `{"settings":`+settings+`}`),
		} {
			if r.Status != 400 || !strings.Contains(r.Raw, want) || strings.Contains(r.Raw, hidden) {
				t.Errorf("%s: %d %s, want %s", settings, r.Status, r.Raw, want)
			}
		}
	}
	g.stop()
	if in := found(log.b.Bytes(), hidden); len(in) > 0 || log.b.Len() == 0 {
		t.Errorf("the log has %v in %d octets", in, log.b.Len())
	}
}
