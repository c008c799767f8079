package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/secret"
)

var testKey = secret.NewAPIKey().Text()

// machine runs the program against a gateway that is a handler.
type machine struct {
	t        *testing.T
	url      string
	stdin    string
	env      map[string]string
	terminal bool
	signals  chan os.Signal
	hangups  chan os.Signal
	listens  atomic.Bool // to hangups
	app      App
}

func newMachine(t *testing.T, gateway http.HandlerFunc) *machine {
	m := &machine{t: t, env: map[string]string{"EINMAL_KEY": testKey}, signals: make(chan os.Signal, 2), hangups: make(chan os.Signal, 1)}
	if gateway != nil {
		server := httptest.NewServer(gateway)
		t.Cleanup(server.Close)
		m.url = server.URL
	}
	return m
}

// run returns exit code, stdout and stderr.
func (m *machine) run(args ...string) (int, string, string) {
	m.t.Helper()
	var out, errs bytes.Buffer
	code := m.runTo(&out, &errs, args...)
	if strings.Contains(out.String()+errs.String(), testKey) {
		m.t.Errorf("the key is printed: %s%s", &out, &errs)
	}
	return code, out.String(), errs.String()
}

func (m *machine) runTo(out, errs io.Writer, args ...string) int {
	if m.url != "" {
		args = append(args, "--url", m.url)
	}
	return Run(context.Background(), args, Env{
		Stdin: strings.NewReader(m.stdin), Stdout: out, Stderr: errs, Getenv: func(name string) string { return m.env[name] }, Environ: m.environ,
		Signals: m.signals, Hangups: m.listen, Terminal: m.terminal, Started: time.Now(), App: m.app,
	})
}

func (m *machine) environ() (pairs []string) {
	for name, value := range m.env {
		pairs = append(pairs, name+"="+value)
	}
	return pairs
}

func (m *machine) listen() <-chan os.Signal {
	m.listens.Store(true)
	return m.hangups
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func TestExitCodesOfProblems(t *testing.T) {
	for code, want := range map[string]int{
		"invalid_request": 2, "not_found": 3, "unavailable": 4, "in_progress": 4, "unauthenticated": 5, "scope": 5, "internal": 1, "state": 1, "from_the_future": 1,
	} {
		m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 400, `{"code":"`+code+`","title":"Title","detail":"detail","errors":[{"pointer":"#/to","detail":"wrong"},{"parameter":"limit","detail":"bad\u001b[31m"}]}`)
		})
		got, out, errs := m.run("timeline", "msg_1")
		if got != want || out != "" || !strings.Contains(errs, "Title: detail") || !strings.Contains(errs, "to: wrong") || strings.Contains(errs, "\x1b") {
			t.Errorf("%s: %d %s%s", code, got, out, errs)
		}
	}
}

func TestWhatIsNoGatewayIsSaid(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 502, "<html>") })
	if code, _, errs := m.run("key", "list"); code != exitFailed || !strings.Contains(errs, "no gateway: status 502") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestUnreachableSaysWhatToRun(t *testing.T) {
	m := newMachine(t, func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(nil)
	m.url = server.URL
	server.Close()
	if code, _, errs := m.run("send", "--to", "+12025550143", "--text", "x"); code != exitUnreachable || !strings.Contains(errs, "einmal serve") || strings.Contains(errs, "once more") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestUsage(t *testing.T) {
	m := newMachine(t, nil)
	for args, want := range map[string]int{
		"": exitUsage, "nonsense": exitUsage, "explain": exitUsage, "send --nope": exitUsage, "timeline msg_1 --url nowhere": exitUsage, "explain 42": exitUsage,
		"--help": exitDone, "serve --help": exitDone, "send": exitUsage,
	} {
		code, out, errs := m.run(strings.Fields(args)...)
		if code != want || out+errs == "" {
			t.Errorf("%q: %d %s%s", args, code, out, errs)
		}
	}
}

func TestTheKeyComesFromEnvironmentOrFile(t *testing.T) {
	var sent string
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		reply(w, 200, `{"data":[],"next":null}`)
	})
	file := filepath.Join(t.TempDir(), "k")
	filed := secret.NewAPIKey().Text()
	if err := os.WriteFile(file, []byte(filed+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m.run("key", "list", "--key-file", file); sent != "Bearer "+testKey {
		t.Error(sent)
	}
	m.env = nil
	if m.run("key", "list", "--key-file", file); sent != "Bearer "+filed {
		t.Error(sent)
	}
	if code, _, errs := m.run("key", "list", "--key-file", file+"x"); code != exitRefused || !strings.Contains(errs, "EINMAL_KEY") {
		t.Errorf("%d %s", code, errs)
	}
}

// A value that is no key is shown to nobody: not to the gateway, and not on the terminal.
func TestWhatIsNoKeyGoesNowhere(t *testing.T) {
	m := newMachine(t, func(http.ResponseWriter, *http.Request) { t.Error("the gateway was asked") })
	file := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(file, []byte("root:hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := testKey[:20] + "\n" + testKey[20:]
	for _, key := range []string{broken, "hunter2", testKey + "a", "\n", ""} {
		m.env["EINMAL_KEY"] = key
		for _, command := range []string{"send --to +12025550143 --text x", "key list", "explain msg_1", "timeline msg_1", "key revoke abc"} {
			code, out, errs := m.run(append(strings.Fields(command), "--key-file", file)...)
			if code != exitRefused || out != "" || !strings.Contains(errs, "this is not an API key") || !strings.Contains(errs, "einmal serve writes one") {
				t.Errorf("%s: %d %s%s", command, code, out, errs)
			}
			if strings.Contains(errs, "lost") || strings.Contains(errs, "hunter2") || strings.Contains(errs, testKey[:20]) {
				t.Errorf("%s: %s", command, errs)
			}
		}
	}
}

// Nothing left this machine, so no answer can be lost, and nothing is asked for twice.
//
// covers: D8
func TestAnUnsentRequestIsNoLostAnswer(t *testing.T) {
	m := newMachine(t, func(http.ResponseWriter, *http.Request) { t.Error("the gateway was asked") })
	c := &client{base: m.url, key: "a\nb", http: http.DefaultClient}
	_, err := c.do(t.Context(), http.MethodPost, "/v1/messages", nil, nil)
	var f *failure
	if !errors.As(err, &f) || errors.Is(err, errLost) || f.code != exitFailed || !strings.Contains(f.text, "was not sent") {
		t.Errorf("%v", err)
	}
	c = &client{base: "http://%zz", http: http.DefaultClient}
	if _, err = c.do(t.Context(), http.MethodGet, "", nil, nil); !errors.As(err, &f) || f.code != exitFailed {
		t.Errorf("%v", err)
	}
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	defer secured.Close()
	m.url = secured.URL
	if code, _, errs := m.run("send", "--to", "+12025550143", "--text", "x"); code != exitFailed || strings.Contains(errs, "lost") || !strings.Contains(errs, "certificate") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestRedirectsTakeTheKeyNowhere(t *testing.T) {
	elsewhere := newMachine(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.url, http.StatusFound) })
	if code, _, _ := m.run("key", "list"); code != exitFailed {
		t.Error(code)
	}
}

func TestSmallCommands(t *testing.T) {
	m := newMachine(t, nil)
	m.app.Migrate = func(_ context.Context, o Options, _ io.Writer) error {
		if o.Store != "postgres://h/d" {
			return errors.New("another store")
		}
		return nil
	}
	m.app.Config = realApp().Config
	for args, want := range map[string]string{
		"chaos points": "attempt.committed\n", "version": "einmal ", "version --json": `"version":`, "--version": "einmal ", "send --version": "einmal ",
		"migrate --store postgres://h/d": "the store's schema is this release's", "config --listen 127.0.0.1:1": "http: \"127.0.0.1:1\"  # flag --listen\n",
		"config --json": `{"member":"sender","value":"Einmal","env":"EINMAL_SENDER"`, "config --variables": "EINMAL_CONNECTIONS_SIMULATOR_WINDOW ",
	} {
		if code, out, errs := m.run(strings.Fields(args)...); code != exitDone || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s%s", args, code, out, errs)
		}
	}
	m.app.Migrate = func(context.Context, Options, io.Writer) error { return errors.New("no") }
	if code, _, errs := m.run("migrate"); code != exitFailed || errs != "einmal: no\n" {
		t.Errorf("%d %s", code, errs)
	}
}

func TestKeys(t *testing.T) {
	var requests []string
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests = append(requests, r.Method+" "+r.URL.Path+" "+string(body))
		switch r.Method {
		case "POST":
			reply(w, 201, `{"id":"abc","name":"shop","scopes":["send","read"],"key":"em_new"}`)
		case "DELETE":
			reply(w, 200, `{"id":"abc"}`)
		default:
			reply(w, 200, `{"data":[{"id":"abc","name":"shop","kind":"live","scopes":["send"],"created_at":"2026-12-31T10:00:00Z","revoked_at":null}],"next":null}`)
		}
	})
	if code, out, errs := m.run("key", "create", "--name", "shop", "--scope", "send,read"); code != 0 || out != "em_new\n" || !strings.Contains(errs, "never again") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if _, out, _ := m.run("key", "list"); !strings.Contains(out, "abc  live  send    2026-12-31 10:00:00.000  -              -              -     shop") {
		t.Error(out)
	}
	if code, out, _ := m.run("key", "revoke", "abc"); code != 0 || !strings.Contains(out, "revoked") {
		t.Error(out)
	}
	want := `POST /v1/keys {"name":"shop","scopes":["send","read"]}|GET /v1/keys |DELETE /v1/keys/abc `
	if got := strings.Join(requests, "|"); got != want {
		t.Error(got)
	}
}

func TestSimulatorRunsUntilTheSignal(t *testing.T) {
	m := newMachine(t, nil)
	lines := newLines()
	done := make(chan int, 1)
	go func() {
		done <- m.runTo(lines, io.Discard, "smsc", "--json", "--listen", "127.0.0.1:0", "--ledger", filepath.Join(t.TempDir(), "ledger"))
	}()
	var ready struct {
		Event, Listen string
	}
	if err := json.Unmarshal([]byte(<-lines.got), &ready); err != nil || ready.Event != "ready" || ready.Listen == "" {
		t.Errorf("%+v %v", ready, err)
	}
	m.signals <- syscall.SIGTERM
	if code := <-done; code != exitDone {
		t.Error(code)
	}
}

// lines hands on each write.
type lines struct{ got chan string }

func newLines() *lines { return &lines{make(chan string, 16)} }

func (l *lines) Write(b []byte) (int, error) {
	l.got <- string(b)
	return len(b), nil
}
