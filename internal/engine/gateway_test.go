// Package engine_test runs the flows together: decisions on the embedded store, dispatch over SMPP to the
// simulated message centre, its answers and receipts back through intake and receipt.
package engine_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/engine/dispatch"
	"github.com/einmal/einmal/internal/engine/intake"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/engine/relay"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/binds"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/provider/smpp"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 15 * time.Second

// gateway is a store and a message centre, and what runs between them.
type gateway struct {
	testing.TB
	set        settings
	store      store.Store
	address    string // of the message centre
	dispatch   *dispatch.Dispatcher
	tenant     ident.Partition
	conn, flow int64
	ledger     string
	committed  chan struct{} // has a value after each commit of outcomes or receipts
}

// settings are what tests change.
type settings struct {
	echo   bool
	window int
	answer time.Duration // how long the provider waits for an answer
	grace  time.Duration // how long a receipt waits for its message id
	every  time.Duration // how often the sweeps run
	lease  time.Duration // 0: as it is by default
}

const rest = 10 * time.Second // for what has to end at the end of a test

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func identityKey(form []byte) intent.Key {
	sum := sha256.Sum256(form)
	return intent.Key(sum[:16])
}

// startGateway brings everything up and ends it, in order, with the test.
func startGateway(t testing.TB, set settings) *gateway {
	t.Helper()
	g := openGateway(t, set)
	stop := g.startNode(context.Background())
	t.Cleanup(stop)
	return g
}

// openGateway brings up a store and a message centre, and no node yet.
func openGateway(t testing.TB, set settings) *gateway {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(t.TempDir(), "einmal.db")})
	must(t, err)
	return openGatewayOn(t, set, s)
}

// openGatewayOn does so on a store that it closes.
func openGatewayOn(t testing.TB, set settings, s store.Store) *gateway {
	t.Helper()
	t.Cleanup(func() { must(t, s.Close()) })
	g := &gateway{TB: t, set: set, store: s, ledger: filepath.Join(t.TempDir(), "ledger"), committed: make(chan struct{}, 1)}
	g.register(context.Background())
	centre := simulator.New(simulator.Config{LedgerPath: g.ledger, Echo: set.echo})
	must(t, centre.Start())
	t.Cleanup(func() { must(t, centre.Close()) })
	g.address = centre.Addr()
	return g
}

func (g *gateway) register(ctx context.Context) {
	var err error
	g.tenant, err = g.store.EnsureTenant(ctx, "default")
	must(g, err)
	g.conn, _, err = g.store.EnsureConnection(ctx, "simulator", "")
	must(g, err)
	g.flow, err = g.store.EnsureFlow(ctx, store.FlowSpec{Connection: g.conn, Tenant: g.tenant, Sender: "SHOP"})
	must(g, err)
	_, err = g.store.PutPolicy(ctx, store.PolicyVersion{Name: "builtin", Version: 1, Source: []byte("-")}, policy.SucceedBuiltin)
	must(g, err)
}

// note wakes whoever waits for a commit.
func (g *gateway) note() {
	select {
	case g.committed <- struct{}{}:
	default:
	}
}

// startNode wires the flows to the provider as the program does, and returns what ends them in order. A node
// whose ctx is cancelled dies where it stands.
func (g *gateway) startNode(ctx context.Context) (stop func()) {
	metrics, log, set := telemetry.NewMetrics(), slog.New(slog.DiscardHandler), g.set
	sealer := secret.NewSealer([32]byte{1}, g.store)
	redactor := &receipt.Redactor{Sealer: sealer, Readers: func(int64) provider.Reader { return smpp.Reader{} }}
	rules := store.Rules{Correlate: evidence.Correlate, Grace: set.grace, LookBack: time.Hour, Redact: redactor.Redact}
	_, space, err := g.store.EnsureConnection(ctx, "simulator", "")
	must(g, err)
	events := relay.New(relay.Config{Store: g.store, Log: log, Metrics: relay.NewMetrics(metrics)})
	known := map[int64]receipt.Connection{g.conn: {Name: "simulator", EchoesReference: set.echo, Simulated: true}}
	receipts := receipt.New(receipt.Config{
		Store: g.store, Rules: rules, Every: set.every, Committed: g.note, Log: log, Metrics: receipt.NewMetrics(metrics),
		Connections: func() map[int64]receipt.Connection { return known },
	})
	door := intake.New(intake.Config{
		Connection: g.conn, IDSpace: space, Name: "simulator", Tenant: g.tenant, Sealer: sealer, Log: g.store,
		Key: identityKey, Clock: clock.System{}, Hand: receipts.Offer, Logger: log, Metrics: intake.NewMetrics(metrics),
	})
	carrier := binds.New(func(int) provider.Provider {
		return smpp.New(smpp.Config{
			Name: "simulator", Address: g.address, SystemID: "einmal", Window: set.window, ResponseTimeout: set.answer,
			BackoffMin: 10 * time.Millisecond, BackoffMax: 50 * time.Millisecond,
		})
	})
	counters := dispatch.NewMetrics(metrics)
	sweeper := dispatch.NewSweeper(dispatch.SweepConfig{Store: g.store, Rules: rules, Every: set.every, Log: log, Metrics: counters, Committed: g.note})
	g.dispatch = dispatch.New(dispatch.Config{
		Node: ident.NewNode(), Connection: dispatch.Connection{ID: g.conn, IDSpace: space, Name: "simulator", EchoesReference: set.echo, Simulated: true},
		Provider: carrier, Store: g.store, Rules: rules, ResponseTimeout: set.answer, Lease: set.lease, Margin: set.lease / 4,
		Committed: g.note, Log: log, Metrics: counters,
		Open: func(_ context.Context, o store.Opened) (string, error) { return string(o.Content), nil },
	})
	events.Start(ctx)
	receipts.Start(ctx)
	sweeper.Start(ctx)
	must(g, carrier.Start(ctx, door))
	g.dispatch.Start(ctx)
	return func() {
		ending, cancel := context.WithTimeout(context.Background(), rest)
		defer cancel()
		err := errors.Join(g.dispatch.Stop(ending), receipts.Stop(ending))
		sweeper.Stop()
		events.Stop()
		if ctx.Err() == nil {
			must(g, err)
		}
	}
}

// submission is a new intent to a number.
func (g *gateway) submission(event, to string) store.Submission {
	number, err := phone.Parse(to, "")
	must(g, err)
	r := &intent.Request{
		Decision: ident.NewDecision(g.tenant), Message: ident.NewMessage(g.tenant), Tenant: g.tenant, PolicyID: "builtin@1",
		Purpose: policy.Builtin().Purposes["alert"], To: number, Event: intent.Event{Type: "test", ID: event, Version: "1"},
		Sender: "SHOP", ValidFor: time.Hour,
	}
	r.Keys.Intent = identityKey(intent.KeyForm(r.Purpose, r))
	r.TextKey = identityKey(intent.TextForm(r, event))
	r.Connection = g.conn
	return store.Submission{Request: r, Flow: g.flow, Content: []byte("Hello " + event), Caller: "test"}
}

// send has intents decided and tells the dispatcher.
func (g *gateway) send(subs ...store.Submission) []ident.Message {
	g.Helper()
	out, err := g.store.Decide(context.Background(), subs, intent.Decide)
	must(g, err)
	var ids []ident.Message
	for _, d := range out {
		must(g, d.Err)
		if d.Decision.Action != intent.Allow {
			g.Fatalf("a request was decided as %s: %s", d.Decision.Action, d.Decision.Reason)
		}
		ids = append(ids, d.Decision.Message.ID)
	}
	g.dispatch.Wake()
	return ids
}

func (g *gateway) message(id ident.Message) *store.Message {
	g.Helper()
	m, err := g.store.Message(context.Background(), g.tenant, id)
	must(g, err)
	return m
}

// await waits until the condition holds; it is looked at after each commit.
func (g *gateway) await(what string, holds func() bool) {
	g.Helper()
	end := time.After(patience)
	for !holds() {
		select {
		case <-g.committed:
		case <-end:
			g.Fatalf("waited in vain for %s", what)
		}
	}
}

// unseal opens a stored payload.
func (g *gateway) unseal(r *store.LoggedReceipt) string {
	g.Helper()
	clear, err := secret.NewSealer([32]byte{1}, g.store).Open(context.Background(), receipt.Place(r.ID), r.Payload, nil)
	must(g, err)
	return string(clear)
}

// number is a number of a range that is kept for fiction, with an ending.
func number(ending string) string { return "+120255501" + ending }

// events are the message's history, a word each.
func (g *gateway) events(id ident.Message) []string {
	g.Helper()
	list, err := g.store.Events(context.Background(), g.tenant, id, 0, 100)
	must(g, err)
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = fmt.Sprintf("%s:%s", e.Kind, e.To)
		if e.N != uint32(i+1) {
			g.Errorf("event %d has the number %d", i+1, e.N)
		}
	}
	return words
}
