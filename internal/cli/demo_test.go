package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/einmal/einmal/internal/demo"
)

// The demonstration on each store, with a gateway of its own: its promises hold, as counted in the ledger.
//
// covers: D3, D7, D8, D9, I2, I3, I5, I7
func TestDemo(t *testing.T) {
	for name, url := range benchStores {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			m := newMachine(t, nil)
			m.env, m.app = nil, realApp()
			code, out, errs := m.run("demo", "--json", "--store", url(t))
			var r demo.Report
			if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone {
				t.Fatalf("%d %v %s%s", code, err, out, errs)
			}
			if !r.Held || len(r.Promises) < 7 || r.Counted != "the simulator's ledger" {
				t.Errorf("%s", out)
			}
			// What the scenes do: 36 intents, of which the carrier refuses one and does not get another.
			if all := r.Total; all.Intents != 36 || all.Messages != 36 || all.OnPhones != 34 || all.Requests != all.Messages+all.NotSentTwice ||
				all.Evidence != 2 || all.Ended["unknown"] != 1 || all.Ended["rejected"] != 1 || all.Exceptions != 1 {
				t.Errorf("%+v", all)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
				t.Errorf("it leaves %v behind", left)
			}
			if r.TookMs > 60_000 {
				t.Errorf("it took %d ms", r.TookMs)
			}
		})
	}
}

// Against a gateway that runs, what the handsets show is counted, and people get a table.
func TestDemoOnARunningGateway(t *testing.T) {
	m, out, code := newMachine(t, nil), newLines(), make(chan int, 1)
	m.env, m.app = nil, realApp()
	config := t.TempDir() + "/einmal.yaml"
	if err := os.WriteFile(config, []byte(demoConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		code <- m.runTo(out, io.Discard, "serve", "--json", "--listen", "127.0.0.1:0", "--data", t.TempDir()+"/data", "--config", config)
	}()
	var ready Running
	if err := json.Unmarshal([]byte(<-out.got), &ready); err != nil {
		t.Fatal(err)
	}
	asks := newMachine(t, nil)
	asks.env, asks.url = nil, "http://"+ready.Listen
	c, said, errs := asks.run("demo", "--key-file", ready.AdminKeyFile)
	for _, want := range []string{
		" 1. A customer clicks until something happens", "a double click               25        1         1          24 duplicates",
		"in all                       370       36        34         2 replays, 332 duplicates", "counted in the simulated handsets", "kept    Nobody is texted twice.",
	} {
		if c != exitDone || !strings.Contains(said, want) {
			t.Errorf("%d, not said: %s\n%s%s", c, want, said, errs)
		}
	}
	if strings.Contains(said, "broken") {
		t.Error(said)
	}
	m.signals <- syscall.SIGTERM
	if c := <-code; c != exitDone {
		t.Error(c)
	}
}

// Nobody is texted by a demonstration, and where it cannot be played it says why.
func TestDemoRefusesToTextPeople(t *testing.T) {
	for answer, want := range map[string]string{
		`200 {"decision":{"action":"allow"},"message":null,"simulated":false}`:                                      "sends to a real carrier",
		`400 {"code":"invalid_request","detail":"one","errors":[{"pointer":"#/purpose","detail":"no such thing"}]}`: "#/purpose: no such thing",
		`401 {"code":"unauthenticated","detail":"send a live API key"}`:                                             "send a live API key",
		`200 <html>`: "no gateway",
	} {
		status, body, _ := strings.Cut(answer, " ")
		asked := 0
		m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			reply(w, map[string]int{"200": 200, "400": 400, "401": 401}[status], body)
		})
		if code, _, errs := m.run("demo"); code != exitFailed || !strings.Contains(errs, want) || asked != 1 {
			t.Errorf("%s: %d after %d requests, %s", answer, code, asked, errs)
		}
	}
	m := newMachine(t, func(http.ResponseWriter, *http.Request) {})
	if code, _, _ := m.run("demo", "--store", "postgres://h/d"); code != exitUsage {
		t.Error(code)
	}
}

// A broken promise is an exit code.
func TestABrokenPromiseFails(t *testing.T) {
	if verdict(&demo.Report{Held: true}, "") != nil {
		t.Error("kept promises fail")
	}
	err := verdict(&demo.Report{}, "/tmp/x")
	if f, ok := err.(*failure); !ok || f.code != exitFailed || !strings.Contains(f.next, "/tmp/x") {
		t.Errorf("%v", err)
	}
}
