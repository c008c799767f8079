package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The doctor's exit codes are those of its worst finding, and --json has them all.
//
// covers: X7
func TestDoctorCommand(t *testing.T) {
	m := newMachine(t, nil)
	data := filepath.Join(t.TempDir(), "data")
	code, out, errs := m.run("doctor", "--data", data, "--listen", "127.0.0.1:0")
	if code != 1 || errs != "" || !strings.Contains(out, "warn  store: there is no store in "+data+" yet\n        next: einmal serve") || !strings.Contains(out, "ok    configuration: ") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	code, out, _ = m.run("doctor", "--config", "/no/such", "--json")
	var got struct {
		Level    string
		Findings []struct{ Check, Level, Text, Next string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 2 || got.Level != "fail" || len(got.Findings) != 1 || got.Findings[0].Check != "configuration" {
		t.Errorf("%d %v %s", code, err, out)
	}
}

// The doctor finds nothing to say about a gateway that is well, the probe finds it, and a copy of its store is whole.
//
// covers: X7
func TestDoctorHealthAndBackupOfAGateway(t *testing.T) {
	o := newOperated(t)
	o.serve("ready in")
	m := newMachine(t, nil)
	here := []string{"--data", o.data, "--listen", o.address}
	code, out := 2, ""
	for end := time.Now().Add(20 * time.Second); code != exitDone && time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		code, out, _ = m.run(append([]string{"doctor"}, here...)...) // it binds in the background
	}
	if code != exitDone || strings.Contains(out, "next:") {
		t.Errorf("%d %s", code, out)
	}
	if code, out, errs := m.run(append([]string{"health"}, here...)...); code != exitDone || out != "ready\n" {
		t.Errorf("%d %s%s", code, out, errs)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	for range 2 {
		code, out, errs := m.run(append([]string{"backup", copied}, here...)...)
		if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
		if code == exitDone && strings.Contains(out, "as of 20") && strings.Contains(out, filepath.Join(o.data, "keys")) {
			continue
		}
		if code != exitFailed || !strings.Contains(errs, "is there already") {
			t.Errorf("%d %s%s", code, out, errs)
		}
	}
	o.stop()
	if code, _, errs := m.run(append([]string{"health"}, here...)...); code != exitFailed || !strings.Contains(errs, "no gateway answers") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, errs := m.run("backup", copied+"2", "--store", "postgres://h/d"); code != exitFailed || !strings.Contains(errs, "pg_dump") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestHealthOfAGatewayThatIsNotReady(t *testing.T) {
	asked := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Error(r.URL.Path)
		}
		reply(w, 503, `{}`)
	})
	m := newMachine(t, nil)
	if code, _, errs := m.run("health", "--listen", strings.TrimPrefix(asked.url, "http://")); code != exitFailed || !strings.Contains(errs, "not ready: status 503") {
		t.Errorf("%d %s", code, errs)
	}
}
