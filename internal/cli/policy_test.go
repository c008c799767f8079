package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/policy"
)

const shop = `policy: shop
version: 7
mode: monitor
unnamed: refuse
purposes:
  order: {kind: confirmation, key: [event.id, sender], window: {while: [delivered], at_most: 1d12h}}
  alert: {kind: alert, key: [event.id], window: 15m}
`

// file writes a policy file and returns its path.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// covers: X3
func TestPolicyCheckSaysWhatAFileMeans(t *testing.T) {
	m := newMachine(t, nil)
	code, out, errs := m.run("policy", "check", file(t, shop))
	for _, want := range []string{
		"shop@7: 2 purposes, 0 rules, 0 tests, mode monitor", "WOULD BE HELD BACK",
		"order         confirmation  event.id, sender                       while the first is under way, delivered; at most 1d12h",
		"alert         alert         event.id                               for 15m", "(none named)                                                       refused",
	} {
		if code != exitDone || !strings.Contains(out, want) {
			t.Errorf("%d, not said: %q\n%s%s", code, want, out, errs)
		}
	}
}

// The example that is shipped is right, and its tests pass.
//
// covers: X3
func TestTheExample(t *testing.T) {
	m := newMachine(t, nil)
	code, out, errs := m.run("policy", "check", "../../examples/shop.yaml")
	if code != exitDone || !strings.Contains(out, "shop@1: 5 purposes, 2 rules, 10 tests, mode enforce") || !strings.Contains(out, "parcels   sender, text                delivery_update") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	code, out, errs = m.run("policy", "test", "../../examples/shop.yaml")
	if code != exitDone || strings.Count(out, "  ok  ") != 10 || !strings.Contains(out, "all of them pass") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// covers: X3
func TestPolicyCheckSaysWhatIsWrong(t *testing.T) {
	m := newMachine(t, nil)
	path := file(t, strings.NewReplacer("monitor", "monitr", "15m", "15x").Replace(shop))
	code, out, errs := m.run("policy", "check", path)
	for _, want := range []string{path + `:3:7: unknown mode "monitr": did you mean monitor?`, path + ":7:49: not a duration"} {
		if code != exitFailed || !strings.Contains(out, want) || !strings.Contains(errs, "2 wrong places") {
			t.Errorf("%d, not said: %s\n%s%s", code, want, out, errs)
		}
	}
	code, out, _ = m.run("policy", "check", "--json", path)
	var got struct {
		OK     bool
		Errors []wrongPlace
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitFailed || got.OK || len(got.Errors) != 2 || got.Errors[1].Line != 7 || got.Errors[1].Column != 49 || got.Errors[1].File != path {
		t.Errorf("%d %v %s", code, err, out)
	}
	code, out, _ = m.run("policy", "check", "--json", file(t, shop))
	if code != exitDone || !strings.Contains(out, `"ok":true,"policy":"shop@7","errors":[]`) {
		t.Errorf("%d %s", code, out)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none.yaml"), t.TempDir()} {
		if code, _, errs := m.run("policy", "check", path); code != exitUsage || !strings.Contains(errs, "cannot be read") {
			t.Errorf("%d %s", code, errs)
		}
	}
}

const shopTests = `tests:
  - name: a second click texts once
    send:
      - {at: 0s, purpose: alert, event: {id: A-1}}
      - {at: 3s, purpose: alert, event: {id: A-1}}
    expect: [allow new_intent, would suppress technical_duplicate]
  - name: after a quarter of an hour
    send:
      - {at: 0s, purpose: alert, event: {id: A-1}}
      - {at: 5s, outcome: delivered}
      - {at: 14m, purpose: alert, event: {id: A-1}}
    expect: [allow new_intent, allow new_intent]
`

// covers: X3
func TestPolicyTest(t *testing.T) {
	m := newMachine(t, nil)
	path := file(t, shop+shopTests)
	code, out, errs := m.run("policy", "test", path)
	for _, want := range []string{
		"shop@7: 2 tests\n  ok    a second click texts once\n  FAIL  after a quarter of an hour\n", path + ":19: request 2",
		"expected  allow new_intent\n", "came out  would suppress technical_duplicate same_intent_delivered of 1\n",
		"because   Message of request 1 for the same purpose, destination and event was reported delivered",
	} {
		if code != exitFailed || !strings.Contains(out, want) || !strings.Contains(errs, "1 of 2 tests failed") {
			t.Errorf("%d, not said: %q\n%s%s", code, want, out, errs)
		}
	}
	code, out, _ = m.run("policy", "test", "--json", path)
	var got struct {
		OK    bool
		Tests []testResult
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitFailed || got.OK || len(got.Tests) != 2 || !got.Tests[0].OK || got.Tests[1].Differences[0].Line != 19 {
		t.Errorf("%d %v %s", code, err, out)
	}
	code, out, errs = m.run("policy", "test", file(t, shop+strings.Replace(shopTests, "14m", "16m", 1)))
	if code != exitDone || !strings.Contains(out, "all of them pass") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	numbered := file(t, shop+strings.Replace(shopTests, "id: A-1}}", "id: 12}}", 1))
	if code, out, _ = m.run("policy", "test", numbered); code != exitFailed || !strings.Contains(out, "because   "+numbered+":11:46: event.id: the API takes a string, not a number: put it in quotes") {
		t.Errorf("%d %s", code, out)
	}
	code, out, _ = m.run("policy", "test", "--json", numbered)
	if code != exitFailed || !strings.Contains(out, `"wrong":[{"line":11,"column":46,"member":"event.id","detail":"the API takes a string`) {
		t.Errorf("%d %s", code, out)
	}
	if code, out, errs = m.run("policy", "test", file(t, shop)); code != exitDone || !strings.Contains(out, "has no tests") || strings.Contains(out, "pass") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, out, _ = m.run("policy", "test", "--json", file(t, shop)); code != exitDone || !strings.Contains(out, `"ok":true,"tests":[]`) {
		t.Errorf("%d %s", code, out)
	}
	if code, out, _ = m.run("policy", "test", file(t, "policy: x")); code != exitFailed || !strings.Contains(out, "version is missing") {
		t.Errorf("%d %s", code, out)
	}
}

// covers: X3
func TestPolicyApply(t *testing.T) {
	var sent map[string]string
	changed := "true"
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(raw, &sent); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/policies" {
			t.Errorf("%s %s %v", r.Method, r.URL.Path, err)
		}
		reply(w, 200, `{"id":"shop@7","changed":`+changed+`}`)
	})
	path := file(t, shop)
	code, out, errs := m.run("policy", "apply", path)
	if code != exitDone || !strings.Contains(out, "shop@7 is in force") || sent["source"] != shop || sent["file"] != path {
		t.Errorf("%d %s%s %v", code, out, errs, sent)
	}
	changed = "false"
	if _, out, _ = m.run("policy", "apply", path); !strings.Contains(out, "in force already") {
		t.Error(out)
	}
	sent = nil
	code, out, _ = m.run("policy", "apply", file(t, strings.Replace(shop, "15m", "15x", 1)))
	if code != exitFailed || sent != nil || !strings.Contains(out, "not a duration") {
		t.Errorf("a wrong file: %d %s %v", code, out, sent)
	}
	code, out, errs = m.run("policy", "apply", file(t, shop+shopTests))
	if code != exitFailed || sent != nil || !strings.Contains(out, "FAIL  after a quarter of an hour") || !strings.Contains(errs, "1 of 2 tests failed") {
		t.Errorf("a file whose tests fail: %d %s%s %v", code, out, errs, sent)
	}
}

func TestPolicyShowAndList(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/policies/current", "/v1/policies/shop@7":
			reply(w, 200, `{"id":"shop@7","in_force":true,"since":"2026-12-31T10:00:00Z","by":"ann\u202e","source":"policy: shop\nversion: 7 # \u001b[31m\n"}`)
		case "/v1/policies":
			reply(w, 200, `{"data":[{"id":"shop@7","in_force":true,"since":"2026-12-31T10:00:00Z","by":"ann"},{"id":"builtin@1","by":""}],"next":"1"}`)
		default:
			reply(w, 404, `{"code":"not_found","title":"There is no such thing"}`)
		}
	})
	for _, args := range [][]string{{"policy", "show"}, {"policy", "show", "shop@7"}} {
		code, out, errs := m.run(args...)
		if code != exitDone || out != "policy: shop\nversion: 7 # �[31m\n" || !strings.Contains(errs, "shop@7, in force, since 2026-12-31 10:00:00.000 UTC, brought by ann�") {
			t.Errorf("%v: %d %q %q", args, code, out, errs)
		}
	}
	if code, out, _ := m.run("policy", "show", "builtin"); code != exitDone || out != string(policy.BuiltinSource()) {
		t.Errorf("%d %s", code, out)
	}
	code, out, _ := m.run("policy", "list")
	if code != exitDone || !strings.Contains(out, "shop@7     2026-12-31 10:00:00.000  yes       ann") || !strings.Contains(out, "builtin@1  -                        -") || !strings.Contains(out, "there are more") {
		t.Errorf("%d %s", code, out)
	}
	if code, _, errs := m.run("policy", "show", "shop@8"); code != exitNotFound || !strings.Contains(errs, "next: einmal policy list") {
		t.Errorf("%d %s", code, errs)
	}
}

// A length is written as policy files read it.
func TestLengths(t *testing.T) {
	for text := range strings.FieldsSeq("15m 1d12h 7d 1m30s 1d12h1s") {
		p, wrong := policy.Parse("p", []byte(strings.Replace(shop, "15m", text, 1)))
		if wrong != nil {
			t.Fatal(wrong)
		}
		if got := length(p.Purposes["alert"].Window.Duration); got != text {
			t.Errorf("%s is written %s", text, got)
		}
	}
}

// What apply and serve refuse is refused by check, with its place: the name of the gateway's own policy.
//
// covers: X3
func TestTheBuiltinNameIsRefusedByCheck(t *testing.T) {
	m := newMachine(t, nil)
	path := file(t, strings.Replace(shop, "policy: shop", "policy: builtin", 1))
	for _, command := range []string{"check", "test", "apply"} {
		if code, out, errs := m.run("policy", command, path); code != exitFailed || !strings.Contains(out, path+":1:9: builtin is the name of the gateway's own policy") {
			t.Errorf("%s: %d %s%s", command, code, out, errs)
		}
	}
}
