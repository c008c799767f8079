package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const received = `{"number":"+12025550143","data":[{"n":1,"at":"2026-12-31T10:00:00Z","from":"SHOP","text":"one\u001b[2J","parts":1},
	{"n":2,"at":"2026-12-31T10:00:01Z","from":"4711","text":"two","parts":3}],"simulated":true}`

func TestHandsetShowsMessages(t *testing.T) {
	var asked string
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath() + "?" + r.URL.RawQuery
		reply(w, 200, received)
	})
	code, out, _ := m.run("handset", "+1 202 5550143", "--region", "US")
	want := "2026-12-31 10:00:00.000 UTC  from SHOP\n  one�[2J\n2026-12-31 10:00:01.000 UTC  from 4711, in 3 parts\n  two\n"
	if code != 0 || out != want || asked != "/v1/handset/+1%20202%205550143?after=0&region=US" {
		t.Errorf("%d %s%s", code, asked, out)
	}
	if _, out, _ := m.run("handset", "+12025550143", "--json"); out != received {
		t.Error(out)
	}
	empty := newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, `{"number":"+12025550143","data":[]}`) })
	if _, out, _ := empty.run("handset", "+12025550143"); !strings.Contains(out, "has received nothing") {
		t.Error(out)
	}
	for _, wrong := range []string{"handset", "handset 1 --to 2", "handset 1 --follow --reply x"} {
		if code, _, errs := m.run(strings.Fields(wrong)...); code != exitUsage || errs == "" {
			t.Errorf("%s: %d", wrong, code)
		}
	}
}

// It goes on from the newest that it has shown, and ends with the signal, also in the middle of a question.
func TestHandsetFollows(t *testing.T) {
	var asked []string
	var m *machine
	m = newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		switch len(asked) {
		case 1:
			reply(w, 200, received)
		case 2:
			reply(w, 200, `{"data":[]}`)
		case 3:
			reply(w, 200, `{"data":[{"n":7,"at":"2026-12-31T10:00:02Z","from":"SHOP","text":"seven","parts":1}]}`)
		default:
			m.signals <- syscall.SIGINT
			<-r.Context().Done()
		}
	})
	code, out, errs := m.run("handset", "+12025550143", "--follow")
	if code != exitDone || strings.Count(out, "from ") != 3 || !strings.Contains(out, "seven") || errs != "" {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if got := strings.Join(asked, " "); got != "after=0 after=2&wait=20s after=2&wait=20s after=7&wait=20s" {
		t.Error(got)
	}
}

func TestHandsetAnswers(t *testing.T) {
	var asked string
	taken := "true"
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.Path + " " + string(body)
		reply(w, 200, `{"from":"+12025550143","to":"4711","taken":`+taken+`,"what_happened":"The gateway has stored it."}`)
	})
	code, out, _ := m.run("handset", "+12025550143", "--reply", "yes", "--to", "4711")
	if code != 0 || out != "From +12025550143 to 4711. The gateway has stored it.\n" || asked != `POST /v1/handset/+12025550143/reply {"text":"yes","to":"4711"}` {
		t.Errorf("%d %s%s", code, asked, out)
	}
	taken = "false"
	if code, _, errs := m.run("handset", "+12025550143", "--reply", "yes"); code != exitFailed || !strings.Contains(errs, "nobody has taken") {
		t.Errorf("%d %s", code, errs)
	}
}

// The message centre by itself: its handsets on loopback, and nowhere else.
func TestSimulatorShowsItsHandsets(t *testing.T) {
	m, out, done := newMachine(t, nil), newLines(), make(chan int, 1)
	go func() {
		done <- m.runTo(out, io.Discard, "smsc", "--json", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ledger", filepath.Join(t.TempDir(), "ledger"))
	}()
	var ready struct{ Event, Listen, HTTP string }
	if err := json.Unmarshal([]byte(<-out.got), &ready); err != nil || ready.HTTP == "" {
		t.Fatalf("%+v %v", ready, err)
	}
	for path, want := range map[string]string{"/handset/+12025550143": "<!doctype html>", "/v1/handset/+12025550143": `"data":[]`} {
		res, err := http.Get("http://" + ready.HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	m.signals <- syscall.SIGTERM
	if code := <-done; code != exitDone {
		t.Error(code)
	}
	var errs bytes.Buffer
	m.signals = make(chan os.Signal, 1)
	if code := m.runTo(io.Discard, &errs, "smsc", "--listen", "127.0.0.1:0", "--http", ":0"); code != exitUsage || !strings.Contains(errs.String(), "127.0.0.1:8085") {
		t.Errorf("%d %s", code, &errs)
	}
}
