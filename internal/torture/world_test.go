package torture_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
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
	// copy takes a copy while a gateway works; what it returns puts that in the store's place.
	copy func(w *world, p *process) (putBack func())
}

// engines are the stores that every test here runs on, given the data folder.
var engines = map[string]func(t *testing.T, data string) engine{
	"sqlite": func(_ *testing.T, data string) engine {
		return engine{url: "sqlite", copy: copySQLite, open: func() (store.Store, error) {
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
	engine   engine
	dir      string
	ledger   string
	centre   *process // started with the first gateway
	carrier  string   // address of the message centre
	nodes    int
	program  string     // that gateways are started of; "": this one
	gateway  []*process // all that were started
	others   []*process // that run beside the one that something happens to
	load     *load
	operator *operator
	payer    *payer // nil: nobody pays
	prices   []any  // that a payer's are
	// payerEndings are those of a payer's messages.
	payerEndings []string
	faults       []check.Fault
	over         clock.Micros // since when no fault is injected
	stopped      clock.Micros // when the last gateway was told to stop
	restores     []check.Restore

	// How the carrier is; see vary.
	echo     bool
	joinedBy string
	send     string
	binds    int  // that all gateways together have
	allowed  int  // that the carrier allows; 0: any number
	telling  bool // gateways may tell endpoints of this test
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
	return newWorldOn(t, engines[name])
}

func newWorldOn(t *testing.T, open func(t *testing.T, data string) engine) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{T: t, dir: dir, ledger: filepath.Join(dir, "ledger"), echo: true, joinedBy: "udh8", send: "first_gates", binds: 1,
		prices: []any{map[string]any{"prefix": "1", "micro_usd": 7500}}, payerEndings: payerEndings,
	}
	w.engine = open(t, filepath.Join(dir, "node"))
	w.load = newLoad(t)
	w.operator = newOperator(w)
	must(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policyFile(1)), 0o600))
	return w
}

// vary chooses what kind of carrier it is: one in four does not echo our reference, so that a lost answer stays lost
// until a person pairs it; parts are joined and sent in one way or another.
func (w *world) vary() {
	rng := w.load.rng
	w.echo = rng.IntN(4) > 0
	w.joinedBy = []string{"udh8", "udh8", "udh16", "sar"}[rng.IntN(4)]
	w.send = []string{"first_gates", "first_gates", "first_gates", "together"}[rng.IntN(4)]
	w.Logf("echo: %v, joined by %s, sent %s", w.echo, w.joinedBy, w.send)
}

const configuration = `
listen: {http: "127.0.0.1:0"}
data: %q
store: %q
policy: %q
receipts: {grace: 2s, look_back: 1h}
connections:
  carrier:
    kind: smpp
    address: %q
    system_id: einmal
    binds: %d
    window: %d
    response_timeout: %s
    long: {joined_by: %s, send: %s}
`

const echoed = `
    lookup: {by: [own_reference], source: "the simulator echoes user_message_reference"}
`

func (w *world) configuration(data string) string {
	text := fmt.Sprintf(configuration, data, w.engine.url, "file:"+filepath.Join(w.dir, "policy.yaml"), w.carrier, w.binds, window, answerIn, w.joinedBy, w.send)
	if w.echo {
		text += echoed
	}
	if w.telling {
		text += telling
	}
	return text
}

// startCentre starts the message centre. It lives as long as the test.
func (w *world) startCentre() {
	w.Helper()
	args := []string{"smsc", "--json", "--listen", "127.0.0.1:0", "--ledger", w.ledger, "--slow-receipt", "1s"}
	if w.allowed > 0 {
		args = append(args, "--binds", fmt.Sprint(w.allowed))
	}
	if !w.echo {
		args = append(args, "--no-echo")
	}
	w.centre = launch(w.T, "the message centre", nil, args...)
	if w.carrier = w.centre.address(); w.carrier == "" {
		w.Fatal("the message centre did not start")
	}
}

// start starts a gateway on a data folder, to be killed at a point if kill names one. It may be dead already when
// start returns: a sweep can come before the gateway is ready.
func (w *world) start(folder, kill string) *process {
	w.Helper()
	return w.startWith(folder, kill)
}

// startWith is start with something more in the environment.
func (w *world) startWith(folder, kill string, env ...string) *process {
	w.Helper()
	if w.centre == nil {
		w.startCentre()
	}
	config, data := filepath.Join(w.dir, folder+".yaml"), filepath.Join(w.dir, folder)
	must(w, os.WriteFile(config, []byte(w.configuration(data)), 0o600))
	w.nodes++
	p := launchProgram(w.T, cmp.Or(w.program, binary), fmt.Sprintf("gateway %d %s", w.nodes, kill), append(env, "EINMAL_KILL="+kill), "serve", "--json", "--config", config)
	w.gateway = append(w.gateway, p)
	address := p.address()
	if address == "" && kill == "" {
		w.Fatalf("%s did not start: %s", p.name, p.cmd.ProcessState)
	}
	if address != "" {
		key, err := os.ReadFile(filepath.Join(data, "admin.key"))
		must(w, err)
		w.load.target(folder, address, strings.TrimSpace(string(key)))
	}
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stop ends a gateway in order.
func (w *world) stop(p *process) {
	w.Helper()
	w.stopped = clock.FromTime(time.Now())
	p.stop()
}

// settle waits until the gateway has nothing more to do: nothing is pending or being sent, and what the message
// centre reports is known. After the time that the promises allow it goes on, and the check will say what is wrong.
func (w *world) settle() {
	w.Helper()
	w.settleBy(w.owed)
}

// settleBy waits until nothing is owed.
func (w *world) settleBy(owed func() string) {
	w.Helper()
	var missing string
	for end := time.Now().Add(time.Minute + lease); time.Now().Before(end); <-time.After(250 * time.Millisecond) { // the API is how anybody learns of it
		if missing = owed(); missing == "" {
			return
		}
	}
	w.Error("not everything was settled in time, waited for " + missing)
}

func (w *world) readLedger() []simulator.Entry {
	w.Helper()
	entries, err := simulator.ReadLedger(w.ledger)
	must(w, err)
	own, _ := split(entries)
	return own
}

// mostShown is how many contradictions are shown: the first ones tell what is wrong.
const mostShown = 40

// check holds everything against everything and returns it. The gateways have ended.
func (w *world) check() *check.History {
	w.Helper()
	h := w.read()
	w.compare(h)
	return h
}

// compare shows what contradicts.
func (w *world) compare(h *check.History) {
	w.Helper()
	for i, v := range check.All(h) {
		if w.Error(v); i == mostShown {
			w.Error("and more")
			break
		}
	}
}

// read gathers what clients, the store and the message centre know.
func (w *world) read() *check.History {
	w.Helper()
	h := w.load.history()
	keys, err := secret.OpenFolder(filepath.Join(w.dir, "node", "keys"))
	must(w, err)
	identity := secret.NewIdentity(keys.Identity)
	h.Keyer = func(form []byte) intent.Key { return identity.Key(form) }
	h.Ledger, h.Acts, h.Restores, h.FaultsOver, h.Stopped = w.readLedger(), w.operator.acts, w.restores, w.over, w.stopped
	h.Echo, h.Together, h.Lease, h.Faults = w.echo, w.send == "together", lease, w.faults
	s, err := w.engine.open()
	must(w, err)
	defer func() { must(w, s.Close()) }()
	h.Tenant, err = s.EnsureTenant(context.Background(), "default")
	must(w, err)
	must(w, h.Read(context.Background(), s))
	w.readPaid(h, s)
	w.tellsNothing(h)
	w.tell(h)
	return h
}

// killed notes when a process was killed.
func (w *world) killed(p *process) { w.faults = append(w.faults, check.Fault{From: p.at, To: p.at}) }

// tell says what the run was about, so that one that tests nothing is seen.
func (w *world) tell(h *check.History) {
	w.Helper()
	kinds, parts, told := map[evidence.EventKind]int{}, map[int]int{}, map[exception.Kind]int{}
	for _, m := range h.Messages {
		parts[m.Text.Parts]++
		for _, e := range m.Events {
			kinds[e.Kind]++
		}
	}
	for _, x := range h.Exceptions {
		told[x.Kind]++
	}
	w.Logf("%d intents, %d answers, %d messages by parts %v, %d lines in the ledger, events %v, exceptions %v (%d resolved), %d policies, %d stops",
		len(h.Asks), len(h.Acks), len(h.Messages), parts, len(h.Ledger), kinds, told, len(h.Acts.Resolved), len(h.Policies), len(h.Stops))
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
