package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The environment names the file and sets members; a flag goes before both, and a wrong variable is told as wrong usage.
//
// covers: X7
func TestConfigFromTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "sender: FROM_A\nlog: {level: warn}\n", "b.yaml": "sender: FROM_B\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := newMachine(t, nil)
	m.app = realApp()
	m.env = map[string]string{"EINMAL_CONFIG": filepath.Join(dir, "a.yaml"), "EINMAL_LOG_FORMAT": "json", "EINMAL_STORE": "postgres://u:tell-nobody@h/d"}
	code, out, errs := m.run("config")
	for _, want := range []string{"sender: FROM_A  # " + dir + "/a.yaml:1\n", "  format: json  # env EINMAL_LOG_FORMAT\n", "  level: warn  # " + dir + "/a.yaml:2\n", "data: ./einmal-data  # default\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %d %s%s", want, code, out, errs)
		}
	}
	if strings.Contains(out, "tell-nobody") {
		t.Error(out)
	}
	if _, out, _ := m.run("config", "--config", filepath.Join(dir, "b.yaml"), "--log-format", "text"); !strings.Contains(out, "sender: FROM_B") || !strings.Contains(out, "format: text  # flag --log-format") {
		t.Error(out)
	}
	var all []struct {
		Member, Value, Env string
		Origin             struct {
			Kind, Name string
			Line       int
		}
	}
	_, out, _ = m.run("config", "--json")
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) < 40 {
		t.Fatal(err, out)
	}
	for _, one := range all {
		if one.Member == "sender" && (one.Env != "EINMAL_SENDER" || one.Origin.Kind != "file" || one.Origin.Line != 1) {
			t.Errorf("%+v", one)
		}
	}
	m.env["EINMAL_LOG_FROMAT"] = "json"
	if code, _, errs := m.run("config"); code != exitUsage || !strings.Contains(errs, "the nearest that does is EINMAL_LOG_FORMAT") {
		t.Errorf("%d %s", code, errs)
	}
	if code, out, _ := m.run("config", "--variables"); code != exitDone || !strings.Contains(out, "EINMAL_LOG_FORMAT ") {
		t.Errorf("%d %s", code, out)
	}
}
