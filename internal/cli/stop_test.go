package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	stopOfSale = `{"id":"stop_1","in_force":true,"tenant":null,"purpose":"sale","connection":null,"since":"2026-12-31T10:00:00Z","by":"ann","reason":"wrong text","lifted_at":null`
	stopOfAll  = `{"id":"stop_2","in_force":true,"tenant":null,"purpose":null,"connection":null,"since":"2026-12-31T10:00:00Z","by":"the operator","reason":"","lifted_at":null}`
	stopOfBoth = `{"id":"stop_3","in_force":true,"tenant":"shop","purpose":"sale","connection":"carrier_a","since":"2026-12-31T10:00:00Z","by":"ann","reason":"x","lifted_at":null}`
	stopLifted = `{"id":"stop_4","in_force":false,"tenant":"shop","purpose":null,"connection":null,"since":"2026-12-31T10:00:00Z","by":"ann","reason":"x","lifted_at":"2026-12-31T11:00:00Z","lifted_by":"bob","lifted_reason":"y"}`
)

// stopServer is a gateway with three stops on two pages.
func stopServer(t *testing.T, asked *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*asked = append(*asked, r.Method+" "+r.URL.String()+" "+string(body))
		switch {
		case r.Method == "POST" && strings.Contains(string(body), "sael"):
			reply(w, 200, stopOfSale+`,"made":true,"flows":0}`)
		case r.Method == "POST" && strings.Contains(string(body), "again"):
			reply(w, 200, stopOfSale+`,"made":false,"flows":3}`)
		case r.Method == "POST" && strings.Contains(string(body), `"all"`):
			reply(w, 200, strings.TrimSuffix(stopOfAll, "}")+`,"made":true,"flows":0}`)
		case r.Method == "POST":
			reply(w, 200, stopOfSale+`,"made":true,"flows":3}`)
		case r.Method == "DELETE":
			reply(w, 200, stopLifted)
		case r.URL.Query().Get("after") == "":
			reply(w, 200, `{"data":[`+stopOfSale+`},`+stopOfAll+`],"next":"p2"}`)
		default:
			reply(w, 200, `{"data":[`+stopOfBoth+`,`+stopLifted+`],"next":null}`)
		}
	}
}

// covers: D19
func TestStop(t *testing.T) {
	for args, c := range map[string]struct {
		body, says string
	}{
		"--purpose sale --by ann --reason bad":                              {`{"by":"ann","purpose":"sale","reason":"bad"}`, "Stopped: purpose sale waits from now on."},
		"--all --by ann --reason bad":                                       {`{"all":true,"by":"ann","reason":"bad"}`, "Nothing was ever sent here."},
		"--purpose sael --by ann --reason bad":                              {`{"by":"ann","purpose":"sael","reason":"bad"}`, "is every name spelt right?"},
		"--purpose sale --by ann --reason again":                            {`{"by":"ann","purpose":"sale","reason":"again"}`, "Stopped already"},
		"--tenant shop --connection carrier_a --by ann --reason bad --json": {`{"by":"ann","connection":"carrier_a","reason":"bad","tenant":"shop"}`, `"made":true`},
	} {
		var asked []string
		m := newMachine(t, stopServer(t, &asked))
		code, out, errs := m.run(append([]string{"stop"}, strings.Fields(args)...)...)
		if code != exitDone || errs != "" || !strings.Contains(out, c.says) || len(asked) != 1 || asked[0] != "POST /v1/stops "+c.body {
			t.Errorf("%s: %d %s%s after %q", args, code, out, errs, asked)
		}
	}
}

// covers: D19
func TestResume(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		id   string
	}{
		"stop_9": {exitDone, "stop_9"}, "--purpose sale": {exitDone, "stop_1"},
		"--tenant shop --purpose sale --connection carrier_a": {exitDone, "stop_3"},
		"--tenant shop --purpose sale":                        {exitNotFound, ""}, // not exactly that
		"--all":                                               {exitNotFound, ""}, // another's
		"":                                                    {exitUsage, ""},
		"stop_9 --all":                                        {exitUsage, ""},
	} {
		var asked []string
		m := newMachine(t, stopServer(t, &asked))
		code, out, errs := m.run(append([]string{"resume", "--by", "bob", "--reason", "fine"}, strings.Fields(args)...)...)
		if code != want.code || (code == exitDone) != strings.Contains(out, "Lifted: tenant shop.") {
			t.Errorf("%q: %d %s%s", args, code, out, errs)
		}
		if last := "DELETE /v1/stops/" + want.id + ` {"by":"bob","reason":"fine"}`; want.id != "" && asked[len(asked)-1] != last {
			t.Errorf("%q asked %q", args, asked)
		}
	}
	m := newMachine(t, nil)
	if code, _, errs := m.run("resume", "stop_1"); code != exitUsage || !strings.Contains(errs, "--by") {
		t.Errorf("without a person: %d %s", code, errs)
	}
}

func TestStopsAreListed(t *testing.T) {
	var asked []string
	m := newMachine(t, stopServer(t, &asked))
	code, out, errs := m.run("stops")
	if code != exitDone || errs != "" || strings.Count(out, "\n") != 5 || !strings.Contains(out, "tenant shop, purpose sale, connection carrier_a") ||
		!strings.Contains(out, "everything") || !strings.Contains(out, "by bob") || !strings.Contains(asked[0], "in_force=true") {
		t.Errorf("%d %s%s after %q", code, out, errs, asked)
	}
	_, out, _ = m.run("stops", "--lifted", "--json")
	var list struct{ Data []map[string]any }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Data) != 4 || !strings.Contains(asked[2], "in_force=false") {
		t.Errorf("%v %s after %q", err, out, asked)
	}
	none := newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, `{"data":[],"next":null}`) })
	if code, out, _ := none.run("stops"); code != exitDone || !strings.Contains(out, "No emergency stop") {
		t.Errorf("%d %s", code, out)
	}
}
