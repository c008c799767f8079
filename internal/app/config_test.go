package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/ground/settings"
)

func load(t *testing.T, text string, f app.Flags) (app.Config, error) {
	t.Helper()
	l, err := loadAll(t, text, nil, f)
	return l.Config, err
}

// loadAll reads a file beside variables and flags.
func loadAll(t *testing.T, text string, environ []string, f app.Flags) (app.Loaded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "einmal.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return app.Sources{File: path, Environ: environ, Flags: f}.Load()
}

func TestConfigFile(t *testing.T) {
	t.Setenv("CARRIER_PASSWORD", "pass")
	l, err := loadAll(t, `
listen: {http: 127.0.0.1:9090}
store: postgres://u:hidden@db/einmal
receipts: {grace: 1m}
connections:
  carrier_a:
    kind: smpp
    address: smsc.example.net:2775
    system_id: einmal
    password: env:CARRIER_PASSWORD
    window: 20
    rate: 100/s
    senders: {SHOP: {rate: 30/m}, 4711: {rate: 1/s}}
    lookup: {by: [own_reference], source: "operator's manual 4.2"}
`, nil, app.Flags{Listen: "127.0.0.1:7070"})
	must(t, err)
	c := l.Config
	if c.Listen.HTTP != "127.0.0.1:7070" || c.Connections["carrier_a"].Window != 20 || c.Sender == "" {
		t.Errorf("flags, file and defaults did not come together: %+v", c)
	}
	shown := settings.YAML(l.Shown())
	for _, secret := range []string{"hidden", "pass\n"} {
		if strings.Contains(shown, secret) {
			t.Errorf("a secret is shown:\n%s", shown)
		}
	}
	if !strings.Contains(shown, "rate: 100/s") || !strings.Contains(shown, "rate: 30/m") || len(c.Connections["carrier_a"].Senders) != 2 {
		t.Errorf("rates are not shown:\n%s", shown)
	}
	if !strings.Contains(shown, "env:CARRIER_PASSWORD") {
		t.Errorf("a reference is hidden:\n%s", shown)
	}
}

func TestWrongConfig(t *testing.T) {
	for text, want := range map[string]string{
		"listne: {http: x}":                                                                                                              "listne",
		"destinations: {unassigned: no}":                                                                                                 "accept or refuse",
		"receipts: {grace: soon}":                                                                                                        "90s, 15m, 72h or 400d",
		"listen: {http: nowhere}":                                                                                                        "host:port",
		"listen: {tls: {cert: 'file:a'}}":                                                                                                "listen.tls.key: a certificate and its key belong together",
		"listen: {tls: {cert: a, key: 'file:b'}}":                                                                                        "listen.tls.cert: write file:PATH",
		"listen: {tls: {client_ca: 'file:a'}}":                                                                                           "listen.tls.client_ca: clients show certificates over TLS alone",
		"listen: {tls: {client_cert: maybe}}":                                                                                            "listen.tls.client_cert: write required or optional",
		"listen: {tls: {client_cert: required}}":                                                                                         "give client_ca",
		"listen: {clients: {a: {name: a, key: k}}}":                                                                                      "listen.clients: give tls.client_ca",
		"public_url: sms.example.com":                                                                                                    "public_url: write the address",
		"keys: /etc/einmal":                                                                                                              "keys: write file:FOLDER, or env:PREFIX",
		"connections: {a: {kind: smpp, address: 'x:1', tls: {ca: 'file:/no/such'}}}":                                                     "connections.a: tls.ca: open /no/such",
		"connections: {a: {kind: smpp, address: 'x:1', tls: {cert: 'file:/c'}}}":                                                         "connections.a: tls.key: a certificate and its key",
		"connections: {a: {kind: smpp, address: 'x:1', tls: yes please}}":                                                                "[1:52] tls: write true, false, or members",
		"connections: {a: {kind: smpp, address: 'x:1', tls: {caa: x}}}":                                                                  "unknown field",
		"store: mysql://x":                                                                                                               "postgres://user:password@host:port/database",
		"connections: {a: {kind: fax}}":                                                                                                  "simulator or smpp",
		"connections: {a: {kind: smpp, address: x}}":                                                                                     "host:port",
		"connections: {a: {kind: smpp, address: 'x:1', password: 'env:EINMAL_NO_SUCH'}}":                                                 "EINMAL_NO_SUCH",
		"connections: {a: {kind: smpp, address: 'x:1', lookup: {by: [external_id], source: s}}}":                                         "not yet supported",
		"connections: {a: {kind: smpp, address: 'x:1', lookup: {by: [own_reference]}}}":                                                  "lookup.source",
		"connections: {a: {kind: smpp, address: 'x:1', ledger: f}}":                                                                      "belong to a simulator",
		"connections: {a: {kind: smpp, address: 'x:1', slow_receipt: 1s}}":                                                               "belong to a simulator",
		"connections: {a: {kind: simulator, window: -4}}":                                                                                "from 1 to 10000",
		"connections: {a: {kind: simulator, response_timeout: 1ns}}":                                                                     "100ms",
		"connections: {a: {kind: smpp, address: 'x:1', system_id: abcdefghijklmnop}}":                                                    "15 octets",
		"sender: this sender is far too long":                                                                                            "sender",
		"connections: {a: {kind: simulator, receipts: {ids: {response: hex}}}}":                                                          "receipts.ids.response, receipt: both",
		"connections: {a: {kind: simulator, receipts: {ids: {case: any}}}}":                                                              "exact or insensitive",
		"connections: {a: {kind: simulator, receipts: {ids: {first: 2}}}}":                                                               "at least 6",
		"connections: {a: {kind: simulator, receipts: {states: {FAILED: failed}}}}":                                                      "receipts.states.FAILED: the states are",
		"connections: {a: {kind: simulator, receipts: {states: {A: expired, a: delivered}}}}":                                            "is there twice",
		"connections: {a: {kind: simulator, receipts: {errors: {'1': ''}}}}":                                                             "a code and its meaning",
		"connections: {a: {kind: simulator, receipts: {zone: Berlin}}}":                                                                  "Europe/Berlin",
		"connections: {a: {kind: simulator, receipts: {delivered_means: read}}}":                                                         "handset or network",
		"connections: {a: {kind: simulator, receipts: {confirmed: {by: ops, on: today}}}}":                                               "2026-11-01",
		"connections: {a: {kind: simulator, receipts: {confirmed: {on: 2026-11-01}}}}":                                                   "by whom",
		"connections: {a: {kind: simulator, receipts: {format: text}}}":                                                                  "format",
		"connections: {a: {kind: simulator, receipts: {corrections: [{from: expired}]}}}":                                                "two of delivered, undelivered and expired",
		"connections: {a: {kind: simulator, receipts: {corrections: [{from: expired, to: delivered}]}}}":                                 "by whom, when and in which source",
		"connections: {a: {kind: simulator, receipts: {corrections: [{from: expired, to: delivered}, {from: delivered, to: expired}]}}}": "exclude each other",
		"connections: {a: {kind: simulator, receipts: {parts: last}}}":                                                                   "all or first",
		"connections: {a: {kind: simulator, long: {most_parts: 256}}}":                                                                   "from 1 to 255",
		"connections: {a: {kind: simulator, long: {joined_by: udh}}}":                                                                    "udh8, udh16, sar or payload",
		"connections: {a: {kind: simulator, long: {send: at_once}}}":                                                                     "first_gates or together",
		"connections: {a: {kind: simulator, addresses: {short_code: national}}}":                                                         "addresses.short_code: write alphanumeric (5/0)",
		"connections: {a: {kind: simulator, addresses: {destination: 7/0}}}":                                                             "addresses.destination",
		"connections: {a: {kind: simulator, addresses: {number: 01/1}}}":                                                                 "addresses.number",
		"connections: {a: {kind: simulator, addresses: {short_code_digits: 9}}}":                                                         "from 1 to 8",
		"connections: {a: {kind: simulator, addresses: {ton: 1}}}":                                                                       "ton",
		"connections: {a: {kind: simulator, statuses: {codes: {0x08: throttled}}}}":                                                      "statuses.source",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: {0x08: accepted}}}}":                                            "the meanings are account, rejected, retry_later, throttled, unknown",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: {ESME_RSYSERR: throttled}}}}":                                   "such as 0x08",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: {010: throttled}}}}":                                            "such as 0x08",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: [0x08]}}}":                                                      "write {codes",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: {0x08: [throttled]}}}}":                                         "the meanings are",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: {'08': throttled}}}}":                                           "such as 0x08",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: {'0x100000000': throttled}}}}":                                  "such as 0x08",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: {'0x401': rejected, '1025': unknown}}}}":                        "is there twice",
		"connections: {a: {kind: simulator, statuses: {source: s, codes: {'0x0': rejected}}}}":                                           "was taken",
		"connections: {a: {kind: simulator, statuses: {0x08: throttled}}}":                                                               "write {codes: {0x08: retry_later}, source",
		"connections: {a: {kind: simulator, statuses: {source: s, kodes: {}}}}":                                                          "write {codes: {0x08: retry_later}, source",
		"connections: {a: {kind: simulator, receipts: {time: 59s}}}":                                                                     "receipts.time: from 1m to 720h",
		"connections: {a: {kind: simulator, receipts: {time: 721h}}}":                                                                    "receipts.time: from 1m to 720h",
		"history: {keep: 6d}":                                             "history.keep: at least 7d",
		"history: {keep: 8d}\nfeed: {keep: 720h}":                         "no shorter than feed.keep (30d)",
		"history: {keys: 23h}":                                            "history.keys: at least 24h",
		"history: {keep: 1.5d}":                                           "[1:17] not a duration",
		"history: {keep: never}":                                          "[1:17] not a duration",
		"receipts: {grace: 5s}":                                           "response_timeout",
		"log: {format: xml}":                                              "log.format: write text or json",
		"log: {level: loud}":                                              "log.level: write debug, info, warn or error",
		"connections: {a: {kind: simulator, window: 0}}":                  "[1:44] window: from 1 to 10000",
		"connections: {a: {kind: simulator, window: many}}":               "window: from 1 to 10000",
		"connections: {a b: {kind: simulator}}":                           "is no name",
		"connections: {a: {kind: simulator, tls: true}}":                  "kind smpp",
		"connections: {a: {kind: simulator, rate: 0/s}}":                  "[1:42] not a rate",
		"receipts:\n  grace: 15":                                          "[2:10] not a duration",
		"connections: {a: {kind: simulator, senders: {SHOP: {rate: 3}}}}": "[1:59] not a rate",
	} {
		if _, err := load(t, text, app.Flags{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a word of %q", text, err, want)
		}
	}
	if _, err := load(t, "connections: {a: {kind: smpp, address: 'x:1'}}", app.Flags{Ledger: "f"}); err == nil {
		t.Error("a ledger for a connection that is no simulator was taken")
	}
}

// covers: X5
func TestWrongRoutes(t *testing.T) {
	const two = "connections: {a: {kind: simulator}, b: {kind: simulator}}\n"
	for text, want := range map[string]string{
		two: "routes: missing: 2 connections are named; say which messages leave over which, and end with a rule for all others, such as {use: [a]}",
		two + "routes: [{purpose: login, use: [b]}]":              "routes: no rule is for messages that none of these fits: add a last rule {use: [b]}",
		two + "routes: [{use: [a]}, {purpose: login, use: [b]}]":  "routes: rule 1 fits every message, and rule 2 is never reached: put it last",
		two + "routes: [{use: [c]}]":                              `routes: rule 1: use: there is no connection "c"`,
		two + "routes: [{use: [a, a]}]":                           "routes: rule 1: use: a is there twice",
		two + "routes: [{purpose: login}, {use: [a]}]":            "routes: rule 1: use: name at least one connection",
		two + "routes: [{prefix: '+49', use: [b]}, {use: [a]}]":   "routes: rule 1: prefix: write the digits of E.164",
		two + "routes: [{prefix: 049, use: [b]}, {use: [a]}]":     "routes: rule 1: prefix: write the digits of E.164",
		two + "routes: [{sender: far too long a name, use: [b]}]": "routes: rule 1: sender: ",
		two + "routes:\n- {porpose: login, use: [b]}":             `[3:4] unknown field "porpose": the nearest that there is, is routes.purpose`,
		"listne: 1\n": `unknown field "listne": the nearest that there is, is listen`, "connections: {a: {kind: smpp, windw: 3}}": "is connections.*.window",
		"connections: {a: {kind: simulator}}\nroutes: [{use: [b]}]":       `there is no connection "b"`,
		"connections: {a: {kind: simulator}}\nroutes: [{use: simulator}]": "[2:16] ",
	} {
		if _, err := load(t, text, app.Flags{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a word of %q", text, err, want)
		}
	}
	c, err := load(t, two+"routes: [{purpose: login, prefix: 49, use: [b, a]}, {use: [a]}]", app.Flags{})
	if err != nil || len(c.Routes) != 2 || c.Routes[0].Prefix != "49" {
		t.Errorf("%+v, %v", c.Routes, err)
	}
}

func TestEmptyConfigIsTheDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n"} {
		if c, err := load(t, text, app.Flags{}); err != nil || c.Listen.HTTP != "127.0.0.1:8080" {
			t.Errorf("%q: %v, listening on %q", text, err, c.Listen.HTTP)
		}
	}
}
