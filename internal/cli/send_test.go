package cli

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

const allowed = `{"decision":{"id":"dec_1","action":"allow","class":"new_intent","explanation":"Nothing like it is known."},"message":{"id":"msg_1","state":"pending"},"simulated":true}`

func TestSendFromFlags(t *testing.T) {
	var body, key string
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body, key = string(raw), r.Header.Get("Idempotency-Key")
		reply(w, 201, allowed)
	})
	code, out, errs := m.run("send", "--to", "0151 2345 6789", "--region", "DE", "--purpose", "order_confirmation", "--event-type", "order",
		"--event-id", "A-1", "--event-version", "1", "--sender", "SHOP", "--template-id", "t", "--text", "Hi, you", "--correlation-id", "c",
		"--valid-for", "1h", "--metadata", "basket=77", "--dry-run", "--idempotency-key", `k"1`)
	want := `{"to":"0151 2345 6789","region":"DE","purpose":"order_confirmation","event":{"type":"order","id":"A-1","version":"1"},"sender":"SHOP",` +
		`"template":{"id":"t"},"text":"Hi, you","correlation_id":"c","valid_for":"1h","metadata":{"basket":"77"},"dry_run":true}`
	if code != 0 || body != want || key != `"k\"1"` {
		t.Errorf("%d %s %s %s", code, key, body, errs)
	}
	if !strings.Contains(out, "allow (new_intent)\nNothing like it is known.\nmessage msg_1: pending\nnext: einmal timeline msg_1") {
		t.Error(out)
	}
}

func TestSendFromStdinAsItIs(t *testing.T) {
	var body, key string
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body, key = string(raw), r.Header.Get("Idempotency-Key")
		reply(w, 200, allowed)
	})
	m.stdin = `{"to": "x"}`
	if code, out, _ := m.run("send", "--json"); code != 0 || body != m.stdin || out != allowed || len(key) != 38 {
		t.Errorf("%d %s %s %s", code, body, key, out)
	}
}

// covers: D8
func TestALostAnswerIsAskedForOnceMoreWithTheSameKey(t *testing.T) {
	seen := make(chan string, 10) // a key for each request; the client comes back before the server's last one is over
	var lost atomic.Int64         // how many answers are still to be lost
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		seen <- r.Header.Get("Idempotency-Key")
		if lost.Add(-1) >= 0 {
			panic(http.ErrAbortHandler) // the connection breaks after the request was read
		}
		w.Header().Set("Idempotency-Replayed", "true")
		reply(w, 201, allowed)
	})
	lost.Store(1)
	code, out, errs := m.run("send", "--to", "+12025550143", "--text", "x")
	first, second := <-seen, <-seen
	if code != 0 || len(seen) != 0 || first != second || first == "" || !strings.Contains(errs, "lost") || !strings.Contains(out, "as answered before") {
		t.Errorf("%d %q %q %s %s", code, first, second, out, errs)
	}
	lost.Store(9)
	code, out, errs = m.run("send", "--to", "+12025550143", "--text", "x")
	first, second = <-seen, <-seen
	if code != exitUnreachable || len(seen) != 0 || first != second || out != "" ||
		!strings.Contains(errs, "--idempotency-key "+strings.Trim(first, `"`)) || strings.Contains(errs, "2025550143") {
		t.Errorf("%d %q %q %s %s", code, first, second, out, errs)
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 201, allowed) })
	coloured := func() bool {
		_, out, _ := m.run("send", "--to", "x", "--text", "x")
		return strings.Contains(out, "\x1b[")
	}
	if coloured() {
		t.Error("colours in a pipe")
	}
	m.terminal = true
	if !coloured() {
		t.Error("no colours on a terminal")
	}
	m.env["NO_COLOR"] = "1"
	if coloured() {
		t.Error("colours in spite of NO_COLOR")
	}
}
