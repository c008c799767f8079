package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// noMark remembers nothing beyond the process.
type noMark struct{}

func (noMark) Marks() (*store.Mark, []store.Mark, error) { return nil, nil, nil }
func (noMark) Put(store.Mark) error                      { return nil }

// heldGateway is a store that is held, with n messages that wait and no node yet.
func heldGateway(t *testing.T, n int) (*gateway, *restore.Service, []ident.Message) {
	t.Helper()
	g := openGateway(t, settings{echo: true, window: 20, answer: time.Second, grace: time.Minute, every: 20 * time.Millisecond})
	_, err := g.store.Watch(t.Context(), noMark{})
	must(t, err)
	waiting := g.waiting("R", n)
	must(t, g.store.HoldTraffic(t.Context(), "a test"))
	return g, restore.New(restore.Config{Store: g.store, Every: time.Hour, Committed: g.note, Log: slog.New(slog.DiscardHandler)}), waiting
}

// waiting makes messages that wait to be sent.
func (g *gateway) waiting(name string, n int) (ids []ident.Message) {
	g.Helper()
	for i := range n {
		s := g.submission(fmt.Sprintf("%s-%d", name, i), number("00"))
		s.OwnKey, s.OwnKeyFor = []byte("wrapped"), time.Microsecond
		out, err := g.store.Decide(context.Background(), []store.Submission{s}, intent.Decide)
		must(g, err)
		must(g, out[0].Err)
		ids = append(ids, s.Message)
	}
	return ids
}

// A release makes unknown all that waits, however much that is and whoever works on it, and then lets traffic go on:
// what comes afterwards is sent, and nothing of what was in doubt. The keys of codes whose time is over are gone.
//
// covers: D15, D20, I19
func TestReleaseOfARestoredStore(t *testing.T) {
	const many = 600 // more than two pages
	g, service, waiting := heldGateway(t, many)
	ctx := t.Context()
	before, err := service.Survey(ctx, 0)
	must(t, err)
	if !before.Held() || before.InDoubt != (restore.Count{N: many}) || before.Waiting.N != many || before.Sending.N != 0 || len(before.First) != 100 || before.First[0].Message.IsZero() {
		t.Fatalf("the survey says %+v", before)
	}
	must(t, service.Release(ctx, restore.Ask{Person: "ann", Reason: "disk"}))
	must(t, service.Release(ctx, restore.Ask{Person: "ann", Reason: "disk"})) // the answer was lost
	var nodes sync.WaitGroup
	for range 3 {
		nodes.Go(func() {
			if err := service.Finish(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	nodes.Wait()
	after, err := service.Survey(ctx, 0)
	must(t, err)
	if after.Held() || after.N != 2 || after.InDoubt.N != 0 || after.Release != nil || after.Waiting.N+after.Sending.N != 0 {
		t.Errorf("after the release the survey says %+v", after)
	}
	t.Cleanup(g.startNode(context.Background()))
	fresh := g.send(g.submission("fresh", number("00")))[0]
	g.await("the fresh message", func() bool { return g.message(fresh).State == message.Delivered })
	for _, id := range waiting {
		if m := g.message(id); m.State != message.Unknown {
			t.Fatalf("%s is %s", id, m.State)
		}
		if _, err := g.store.OwnKey(ctx, id); fault.CodeOf(err) != fault.NotFound || err == nil {
			t.Fatalf("the key of %s is back: %v", id, err)
		}
	}
	if got := g.taken(); got["Hello fresh"] != 1 || len(got) != 1 {
		t.Errorf("the message centre took %v", got)
	}
}

// taken counts what the message centre took, by its text.
func (g *gateway) taken() map[string]int {
	g.Helper()
	ledger, err := simulator.ReadLedger(g.ledger)
	must(g, err)
	taken := map[string]int{}
	for _, l := range ledger {
		taken[string(l.ShortMessage)]++
	}
	return taken
}

// The moment of the copy spares what was taken later; what a person says was not sent is sent.
//
// covers: D20, I19
func TestReleaseAsOf(t *testing.T) {
	g, service, old := heldGateway(t, 2)
	ctx := t.Context()
	i, err := g.store.Incarnation(ctx)
	must(t, err)
	asOf, err := g.store.Now(ctx)
	must(t, err)
	must(t, g.store.BeginRelease(ctx, store.Release{Person: "ann", Reason: "a test", KeepPending: true}))
	must(t, g.store.EndRelease(ctx, i.ID))
	later := g.waiting("later", 3) // by a node that had not noticed
	must(t, g.store.HoldTraffic(ctx, "noticed at last"))
	survey, err := service.Survey(ctx, asOf)
	must(t, err)
	if survey.InDoubt.N != 2 || len(survey.First) != 2 || survey.Waiting.N != 5 {
		t.Errorf("the survey says %+v", survey)
	}
	if err := service.Requeue(ctx, g.tenant, old[0], "ann", "not in their list"); fault.CodeOf(err) != fault.Unavailable || err == nil {
		t.Errorf("put back while the store is held: %v", err)
	}
	must(t, service.Release(ctx, restore.Ask{AsOf: asOf, Person: "ann", Reason: "disk"}))
	must(t, service.Finish(ctx))
	t.Cleanup(g.startNode(context.Background()))
	for _, id := range later {
		g.await("what is not in doubt", func() bool { return g.message(id).State == message.Delivered })
	}
	must(t, service.Requeue(ctx, g.tenant, old[0], "ann", "not in their list"))
	g.await("what was put back", func() bool { return g.message(old[0]).State == message.Delivered })
	if got := g.events(old[0]); got[1] != "restored:unknown" || got[2] != "requeued:pending" {
		t.Errorf("its history is %v", got)
	}
	if m := g.message(old[1]); m.State != message.Unknown {
		t.Errorf("the other one is %s", m.State)
	}
	for name, id := range map[string]ident.Message{"sent": old[0], "never in doubt": later[0]} {
		if err := service.Requeue(ctx, g.tenant, id, "ann", "why not"); fault.CodeOf(err) != fault.State || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := service.Requeue(ctx, g.tenant+1, old[1], "ann", "mine"); fault.CodeOf(err) != fault.NotFound || err == nil {
		t.Errorf("a stranger: %v", err)
	}
	for text, n := range g.taken() {
		if n != 1 {
			t.Errorf("%q was taken %d times", text, n)
		}
	}
}

// settling is a store that settles everything in one way.
type settling struct {
	restore.Store
	err error
}

func (s settling) Settle(context.Context, []store.News, store.Rules) ([]store.Settled, error) {
	return []store.Settled{{Err: s.err}}, nil
}

// covers: D20
func TestRequeueSaysWhyItIsRefused(t *testing.T) {
	for want, cause := range map[string]error{
		"only a message can be put back": evidence.ErrState,
		"attach it first":                evidence.ErrStillUnknown,
	} {
		service := restore.New(restore.Config{Store: settling{err: fault.Wrap(cause, fault.State, "attach it first")}})
		err := service.Requeue(t.Context(), 1, ident.NewMessage(1), "ann", "why not")
		if f, ok := err.(*fault.Fault); !ok || f.Code != fault.State || !strings.HasPrefix(f.Detail, want) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// Where a person knows that nothing has left, what waits goes on as if nothing had happened. A service that runs
// finishes what another one has begun.
//
// covers: D20
func TestReleaseThatKeepsWhatWaits(t *testing.T) {
	g, service, waiting := heldGateway(t, 3)
	running := restore.New(restore.Config{Store: g.store, Every: 20 * time.Millisecond, Committed: g.note, Log: slog.New(slog.DiscardHandler)})
	running.Start(context.Background())
	t.Cleanup(running.Stop)
	must(t, service.Release(t.Context(), restore.Ask{KeepPending: true, Person: "ann", Reason: "nothing was sent since"}))
	t.Cleanup(g.startNode(context.Background()))
	for _, id := range waiting {
		g.await("what waits", func() bool { return g.message(id).State == message.Delivered })
	}
	if i, err := g.store.Incarnation(t.Context()); err != nil || i.N != 2 || i.Held() {
		t.Errorf("the incarnation is %+v: %v", i, err)
	}
}

// covers: D20
func TestReleaseWantsToKnow(t *testing.T) {
	g, service, _ := heldGateway(t, 1)
	ctx := t.Context()
	now, err := g.store.Now(ctx)
	must(t, err)
	for pointer, ask := range map[string]restore.Ask{
		"#/reason": {Person: "ann", Reason: " "},
		"#/by":     {Person: strings.Repeat("a", 501), Reason: "disk"},
		"#/as_of":  {Person: "ann", Reason: "disk", AsOf: now.Add(time.Hour)},
	} {
		wantField(t, service.Release(ctx, ask), pointer)
	}
	wantField(t, service.Release(ctx, restore.Ask{Person: "ann", Reason: "disk", AsOf: clock.Micros(-1)}), "#/as_of")
	for _, asOf := range []clock.Micros{now.Add(time.Hour), -1} { // nor is it shown what that would do
		_, err := service.Survey(ctx, asOf)
		wantField(t, err, "#/as_of")
	}
	wantField(t, service.Release(ctx, restore.Ask{Person: "ann", Reason: "disk", AsOf: now, KeepPending: true}), "#/as_of")
	if s, err := service.Survey(ctx, 0); err != nil || s.Release != nil {
		t.Errorf("something was asked for: %+v, %v", s, err)
	}
	must(t, service.Release(ctx, restore.Ask{Person: "ann", Reason: "disk"}))
	must(t, service.Finish(ctx))
	if err := service.Release(ctx, restore.Ask{Person: "ann", Reason: "again"}); fault.CodeOf(err) != fault.State || err == nil {
		t.Errorf("a store that nobody holds: %v", err)
	}
	fresh := g.waiting("unnoticed", 1)[0]
	must(t, service.Release(ctx, restore.Ask{Declared: true, Person: "bob", Reason: "a snapshot of the machine"}))
	must(t, service.Finish(ctx))
	if i, err := g.store.Incarnation(ctx); err != nil || i.N != 3 || g.message(fresh).State != message.Unknown {
		t.Errorf("declared: %+v, %v, the message is %s", i, err, g.message(fresh).State)
	}
}

func wantField(t *testing.T, err error, pointer string) {
	t.Helper()
	f, ok := err.(*fault.Fault)
	if !ok || f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Pointer != pointer {
		t.Errorf("%v, want an error about %s", err, pointer)
	}
}
