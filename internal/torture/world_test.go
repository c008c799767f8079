package torture_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
	"github.com/einmal/einmal/internal/torture/check"
)

// engine is a store that gateways work on and the checker reads afterwards.
type engine struct {
	url    string // value of "store" in the configuration
	shared bool   // several nodes may work on it at the same time
	open   func() (store.Store, error)
}

// engines are the stores that every test here runs on, given the data folder.
var engines = map[string]func(t *testing.T, data string) engine{
	"sqlite": func(_ *testing.T, data string) engine {
		return engine{url: "sqlite", open: func() (store.Store, error) {
			return sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(data, "einmal.db")})
		}}
	},
}

const (
	window   = 8               // submissions without an answer at the same time
	answerIn = 1 * time.Second // response_timeout
	lease    = 2 * time.Second // of a claim and of a bind slot, as the gateway has it
	// orphanIn is after which time at the latest an attempt of a dead gateway is called unknown: it waits for
	// answers as long as the worker would have, and the sweep comes by every second.
	orphanIn = answerIn + 2*lease + time.Second
)

// world is a message centre and a store; gateways come and go.
type world struct {
	*testing.T
	engine  engine
	dir     string
	ledger  string
	centre  *process
	carrier string // address of the message centre
	nodes   int
	gateway []*process // all that were started
	load    *load
	faults  int // kills and pauses so far
	lives   int // of the store: one more after each restore
}

// onEveryStore runs a test on each engine, beside the others.
func onEveryStore(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newWorld(t, name))
		})
	}
}

func newWorld(t *testing.T, name string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{T: t, lives: 1, dir: dir, ledger: filepath.Join(dir, "ledger")}
	w.engine = engines[name](t, filepath.Join(dir, "node"))
	w.load = newLoad(t)
	w.centre = launch(t, "the message centre", nil, "smsc", "--json", "--listen", "127.0.0.1:0", "--ledger", w.ledger)
	if w.carrier = w.centre.address(); w.carrier == "" {
		t.Fatal("the message centre did not start")
	}
	return w
}

const configuration = `
listen: {http: "127.0.0.1:0"}
data: %q
store: %q
receipts: {grace: 2s, look_back: 1h}
connections:
  carrier:
    kind: smpp
    address: %q
    system_id: einmal
    window: %d
    response_timeout: %s
    lookup: {by: [own_reference], source: "the simulator echoes user_message_reference"}
`

// start starts a gateway on a data folder, to be killed at a point if kill names one. It may be dead already when
// start returns: a sweep can come before the gateway is ready.
func (w *world) start(folder, kill string) *process {
	w.Helper()
	config, data := filepath.Join(w.dir, folder+".yaml"), filepath.Join(w.dir, folder)
	text := fmt.Sprintf(configuration, data, w.engine.url, w.carrier, window, answerIn)
	must(w, os.WriteFile(config, []byte(text), 0o600))
	w.nodes++
	p := launch(w.T, fmt.Sprintf("gateway %d %s", w.nodes, kill), []string{"EINMAL_KILL=" + kill}, "serve", "--json", "--config", config)
	w.gateway = append(w.gateway, p)
	address := p.address()
	if address == "" && kill == "" {
		w.Fatalf("%s did not start: %s", p.name, p.cmd.ProcessState)
	}
	if address != "" {
		key, err := os.ReadFile(filepath.Join(data, "admin.key"))
		must(w, err)
		w.load.target(address, strings.TrimSpace(string(key)))
	}
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settle waits until the gateway has nothing more to do: nothing is pending or being sent, and what the message
// centre reports is known. After the time that the promises allow it goes on, and the check will say what is wrong.
func (w *world) settle() {
	w.Helper()
	deadline := time.Now().Add(time.Minute + lease)
	for time.Now().Before(deadline) {
		if w.load.settled(w.readLedger()) {
			return
		}
		<-time.After(100 * time.Millisecond) // the API is how anybody learns of it
	}
	w.Error("not everything was settled in time")
}

func (w *world) readLedger() []simulator.Entry {
	w.Helper()
	entries, err := simulator.ReadLedger(w.ledger)
	must(w, err)
	return entries
}

// mostShown is how many contradictions are shown: the first ones tell what is wrong.
const mostShown = 40

// check holds everything against everything and returns it. The gateways have ended.
func (w *world) check() *check.History {
	w.Helper()
	h := w.load.history()
	keys, err := secret.OpenFolder(filepath.Join(w.dir, "node", "keys"))
	must(w, err)
	identity := secret.NewIdentity(keys.Identity)
	h.Keyer = func(form []byte) intent.Key { return identity.Key(form) }
	h.Ledger, h.MayBeUnknown = w.readLedger(), w.faults*window
	s, err := w.engine.open()
	must(w, err)
	defer func() { must(w, s.Close()) }()
	h.Tenant, err = s.EnsureTenant(context.Background(), "default")
	must(w, err)
	must(w, h.Read(context.Background(), s))
	if i, err := s.Incarnation(context.Background()); err != nil || i.N != w.lives || i.Held() {
		w.Errorf("I19: the store is in incarnation %d, want %d, and held: %v (%s): %v", i.N, w.lives, i.Held(), i.Why, err)
	}
	for i, v := range check.All(h) {
		if w.Error(v); i == mostShown {
			w.Error("and more")
			break
		}
	}
	w.tellsNothing(h)
	kinds := map[evidence.EventKind]int{}
	for _, m := range h.Messages {
		for _, e := range m.Events {
			kinds[e.Kind]++
		}
	}
	w.Logf("%d intents, %d answers, %d messages, %d lines in the ledger, events %v", len(h.Asks), len(h.Acks), len(h.Messages), len(h.Ledger), kinds)
	return h
}

// tellsNothing looks for numbers and texts in what the gateways have logged.
func (w *world) tellsNothing(h *check.History) {
	w.Helper()
	for _, p := range w.gateway {
		said := p.out.errors.String()
		for _, a := range h.Asks {
			if strings.Contains(said, a.Text[:min(len(a.Text), 40)]) || strings.Contains(said, a.To[1:]) {
				w.Errorf("%s has logged a number or a text", p.name)
				return
			}
		}
	}
}
