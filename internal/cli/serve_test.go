package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
)

// fakeGateway starts and stops as it is told.
type fakeGateway struct {
	startErr, stopErr error
	stopping          chan struct{} // receives when Stop begins
	release           chan struct{} // Stop ends when it is closed
	failed            chan error
	reloads           bool
	reloaded          chan struct{} // receives when something is read again
}

func (g *fakeGateway) Reloads() bool { return g.reloads }

func (g *fakeGateway) Reload(context.Context) { g.reloaded <- struct{}{} }

func (g *fakeGateway) Start(context.Context) error { return g.startErr }

func (g *fakeGateway) Stop(context.Context) error {
	g.stopping <- struct{}{}
	<-g.release
	return g.stopErr
}

func (g *fakeGateway) Failed() <-chan error { return g.failed }

func (g *fakeGateway) Running() Running {
	return Running{Listen: "127.0.0.1:8080", Data: "./einmal-data", AdminKeyFile: "einmal-data/admin.key", Store: "sqlite", Policy: "shop@7", Simulated: true}
}

// serving starts serve and returns its output, its exit code to come, and the options that it gave.
func serving(t *testing.T, g *fakeGateway, args ...string) (m *machine, out *lines, code chan int, got *Options) {
	m, out, code, got = newMachine(t, nil), newLines(), make(chan int, 1), &Options{}
	g.stopping, g.release, g.failed = make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	m.app.Open = func(o Options, _ io.Writer) (Gateway, error) {
		*got = o
		return g, nil
	}
	go func() { code <- m.runTo(out, io.Discard, append([]string{"serve"}, args...)...) }()
	return m, out, code, got
}

func TestServeAnnouncesItselfAndStopsInOrder(t *testing.T) {
	g := &fakeGateway{}
	m, out, code, got := serving(t, g, "--json", "--listen", "127.0.0.1:0", "--store", "postgres://h/d", "--policy", "shop.yaml")
	var ready map[string]any
	line := <-out.got
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"event": "ready", "listen": "127.0.0.1:8080", "data": "./einmal-data", "admin_key_file": "einmal-data/admin.key", "store": "sqlite", "policy": "shop@7", "simulated": true,
	} {
		if ready[name] != want {
			t.Errorf("%s: %v", name, ready[name])
		}
	}
	if _, ok := ready["ready_ms"].(float64); !ok || strings.Count(line, "\n") != 1 {
		t.Error(line)
	}
	if got.Listen != "127.0.0.1:0" || got.Store != "postgres://h/d" || got.Policy != "shop.yaml" {
		t.Errorf("%+v", got)
	}
	m.signals <- syscall.SIGTERM
	<-g.stopping
	close(g.release)
	if c := <-code; c != exitDone {
		t.Error(c)
	}
}

// A hangup reads the policy file again, where there is one, and the gateway goes on.
func TestHangupReadsAgain(t *testing.T) {
	g := &fakeGateway{reloads: true, reloaded: make(chan struct{}, 1)}
	m, out, code, _ := serving(t, g)
	<-out.got
	for range 2 {
		m.hangups <- syscall.SIGHUP
		<-g.reloaded
	}
	m.signals <- syscall.SIGTERM
	<-g.stopping
	close(g.release)
	if c := <-code; c != exitDone {
		t.Error(c)
	}
}

// Without a policy file a hangup is not taken over: it ends the process, as when its terminal is closed.
func TestHangupIsLeftAloneWithNothingToRead(t *testing.T) {
	g := &fakeGateway{}
	m, out, code, _ := serving(t, g)
	<-out.got
	if m.listens.Load() {
		t.Error("hangups are listened to")
	}
	m.signals <- syscall.SIGTERM
	<-g.stopping
	close(g.release)
	<-code
}

func TestServeReportsWhatStoppingFoundWrong(t *testing.T) {
	g := &fakeGateway{stopErr: errors.New("a worker did not end")}
	m, out, code, _ := serving(t, g)
	if line := <-out.got; !strings.Contains(line, "ready in") {
		t.Error(line)
	}
	m.signals <- syscall.SIGINT
	<-g.stopping
	close(g.release)
	if c := <-code; c != exitFailed {
		t.Error(c)
	}
}

func TestTheSecondSignalStopsAtOnce(t *testing.T) {
	g := &fakeGateway{}
	m, out, code, _ := serving(t, g)
	<-out.got
	m.signals <- syscall.SIGTERM
	<-g.stopping
	m.signals <- syscall.SIGTERM
	if c := <-code; c != exitFailed {
		t.Error(c)
	}
	close(g.release)
}

func TestServeThatCannotStartFails(t *testing.T) {
	g := &fakeGateway{startErr: errors.New("the folder is in use")}
	_, _, code, _ := serving(t, g)
	if c := <-code; c != exitFailed {
		t.Error(c)
	}
}

func TestServeEndsWithAGatewayThatFails(t *testing.T) {
	g := &fakeGateway{}
	_, out, code, _ := serving(t, g)
	<-out.got
	g.failed <- errors.New("the listener is gone")
	<-g.stopping
	close(g.release)
	if c := <-code; c != exitFailed {
		t.Error(c)
	}
}

// The gateway itself: embedded store, simulator, one message and its repeat, explained.
//
// covers: X1, D7
func TestAWholeSession(t *testing.T) {
	m, out, code := newMachine(t, nil), newLines(), make(chan int, 1)
	m.env, m.app = nil, realApp()
	data := t.TempDir() + "/data"
	go func() {
		code <- m.runTo(out, io.Discard, "serve", "--json", "--listen", "127.0.0.1:0", "--data", data)
	}()
	var ready Running
	if err := json.Unmarshal([]byte(<-out.got), &ready); err != nil || ready.Store != "sqlite" || !ready.Simulated {
		t.Fatalf("%+v %v", ready, err)
	}
	client := func(args ...string) (int, string) {
		c, o, e := m.run(append(args, "--url", "http://"+ready.Listen, "--key-file", ready.AdminKeyFile)...)
		return c, o + e
	}
	order := []string{"send", "--to", "+12025550100", "--purpose", "order_confirmation", "--event-id", "A-1", "--event-version", "1", "--sender", "SHOP", "--text", "Hi"}
	_, first := client(order...)
	_, again := client(order...)
	if !strings.HasPrefix(first, "allow (new_intent)") || !strings.HasPrefix(again, "suppress (technical_duplicate)") {
		t.Fatalf("%s%s", first, again)
	}
	id := "msg_" + strings.Fields(strings.SplitN(first, "msg_", 2)[1])[0]
	id = strings.TrimSuffix(id, ":")
	for _, command := range []string{"explain", "timeline"} {
		if c, said := client(command, id); c != exitDone || !strings.Contains(again, id) || len(said) < 100 {
			t.Errorf("%s: %d %s", command, c, said)
		}
	}
	if c, _ := client("timeline", "msg_00000000000000000000000000000001"); c != exitNotFound {
		t.Error(c)
	}
	m.signals <- syscall.SIGTERM
	if c := <-code; c != exitDone {
		t.Error(c)
	}
}
