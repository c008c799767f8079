package receipt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// words reads payloads such as "id status", as a parser that was mended.
type words struct{}

func (words) Read(p []byte) provider.Parsed {
	id, status, ok := strings.Cut(string(p), " ")
	if !ok {
		return provider.Parsed{Kind: provider.KindUnreadable, Problem: "no blank", Parser: "words/2"}
	}
	return provider.Parsed{Kind: provider.KindReceipt, ExternalID: []byte(id), Status: status, State: strings.ToLower(status), Parser: "words/2"}
}

func (words) Redact([]byte) ([]byte, bool) { return nil, false }

// archive is a store with a log of receipts and exceptions about them. Reading one again resolves its exception if
// its state is delivered.
type archive struct {
	store.Settler // nil: nobody has a word here
	log           []*store.LoggedReceipt
	exceptions    []*store.ExceptionView
	resolved      []store.Resolution
	batches       [][]*store.LoggedReceipt
	err           error
}

// holding makes an archive of one connection's calls, each with an open exception.
func holding(payloads ...string) *archive {
	a := &archive{}
	for i, p := range payloads {
		id := ident.Receipt{byte(i), byte(i >> 8), 1}
		a.log = append(a.log, &store.LoggedReceipt{
			ID: id, Connection: 1, IDSpace: 9, Kind: "receipt", Payload: slices.Concat(Place(id), []byte(p)), Seq: int64(i), ReceivedAt: clock.Micros(i),
			Headers: "{}", Peer: "peer", Bind: "bind", Parser: "words/1", EventKey: [16]byte{1},
		})
		a.exceptions = append(a.exceptions, &store.ExceptionView{Exception: exception.Exception{
			ID: ident.Exception{byte(i), byte(i >> 8), 2}, Kind: exception.Unreadable, Connection: 1, At: clock.Micros(1000 - i), Receipt: id, State: exception.Open,
		}})
	}
	return a
}

func (a *archive) LogFrom(_ context.Context, connection int64, from store.LogPlace, limit int) ([]*store.LoggedReceipt, error) {
	var some []*store.LoggedReceipt
	for _, r := range a.log {
		behind := from.ID.IsZero() && r.ReceivedAt >= from.At || !from.ID.IsZero() && r.ReceivedAt > from.At
		if behind && (connection == 0 || r.Connection == connection) && len(some) < limit {
			some = append(some, r)
		}
	}
	return some, a.err
}

func (a *archive) Reread(_ context.Context, rs []*store.LoggedReceipt, by store.Rereading, _ store.Rules) ([]store.Reread, error) {
	a.batches = append(a.batches, rs)
	out := make([]store.Reread, len(rs))
	for i, r := range rs {
		out[i] = store.Reread{Receipt: r.ID, Effect: store.RereadNothing}
		switch r.State {
		case "delivered":
			out[i].Effect, out[i].Changed = store.RereadApplied, true
			for _, x := range a.exceptions {
				if x.Receipt == r.ID && !by.Dry {
					x.State, x.Resolution = exception.Reread, exception.Resolution{By: by.Person, Reason: by.Reason}
				}
			}
		case "locked":
			out[i].Err = errLocked
		}
	}
	return out, a.err
}

func (a *archive) Receipt(_ context.Context, _ ident.Partition, id ident.Receipt) (*store.LoggedReceipt, error) {
	for _, r := range a.log {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, fault.New(fault.NotFound, "no such receipt")
}

func (a *archive) Resolve(_ context.Context, rs []store.Resolution, _ store.Rules) ([]store.Settled, error) {
	a.resolved = append(a.resolved, rs...)
	return make([]store.Settled, len(rs)), a.err
}

func (a *archive) Exception(_ context.Context, _ ident.Partition, id ident.Exception) (*store.ExceptionView, error) {
	for _, x := range a.exceptions {
		if x.ID == id {
			return x, nil
		}
	}
	return nil, fault.New(fault.NotFound, "no such exception")
}

func (a *archive) Exceptions(_ context.Context, _ ident.Partition, f store.ExceptionFilter, p store.Page) ([]*store.ExceptionView, error) {
	var some []*store.ExceptionView
	for _, x := range a.exceptions {
		if x.State == f.State && x.Kind == f.Kind && (p.At == 0 || x.At < p.At) && len(some) < p.Limit {
			some = append(some, x)
		}
	}
	return some, a.err
}

func (a *archive) ExceptionGroups(context.Context, ident.Partition, bool, store.GroupKey, int) ([]store.ExceptionGroup, error) {
	return nil, errors.New("nobody asks for groups")
}

func resolver(a *archive, open Opener) (*Resolver, *int) {
	told := 0
	return NewResolver(ResolverConfig{
		Store: a, Again: Again{Sealer: open, Readers: func(int64) provider.Reader { return words{} }, Key: plainKey}, Committed: func() { told++ },
	}), &told
}

var mended = store.Rereading{Person: "ann", Reason: "it was mended"}

// The log is read again piece by piece; a piece says where the next begins, and what became of it.
//
// covers: R9
func TestReplay(t *testing.T) {
	a := holding("A delivered", "B unknown", "", "C delivered", "D locked")
	a.log = append(a.log, &store.LoggedReceipt{ID: ident.Receipt{9}, Connection: 2, ReceivedAt: 1})
	r, told := resolver(a, box{})
	var effects []string
	looked, changed, gone := 0, 0, 0
	for from := (store.LogPlace{}); ; {
		done, err := r.Replay(t.Context(), Replay{Connection: 1, From: from, Limit: 2, Rereading: mended})
		if err != nil {
			t.Fatal(err)
		}
		looked, changed, gone = looked+done.LookedAt, changed+done.Changed, gone+done.Gone
		effects = append(effects, fmt.Sprint(done.Effects, len(done.Changes)))
		if from = done.Next; from == (store.LogPlace{}) {
			break
		}
	}
	if want := []string{"map[applied:1 nothing:1] 1", "map[applied:1] 1", "map[nothing:1] 1"}; !slices.Equal(effects, want) || looked != 5 || changed != 2 || gone != 1 || *told != 3 {
		t.Errorf("effects %v of %d, %d changed, %d gone, told %d times", effects, looked, changed, gone, *told)
	}
	got := a.batches[0][0]
	if got.State != "delivered" || string(got.ExternalID) != "A" || got.Parser != "words/2" || got.ID != a.log[0].ID || !slices.Equal(got.Payload, a.log[0].Payload) ||
		got.Peer != "peer" || got.Bind != "bind" || got.IDSpace != 9 || got.EventKey == a.log[0].EventKey {
		t.Errorf("it is read as %+v", got)
	}
	dry := mended
	dry.Dry = true
	if done, err := r.Replay(t.Context(), Replay{Connection: 1, From: store.LogPlace{At: 3}, Limit: 9, Rereading: dry}); err != nil || done.LookedAt != 2 || *told != 3 {
		t.Errorf("a dry run from a moment on looked at %d and told %d: %v", done.LookedAt, *told, err)
	}
}

// What is known by its whole payload keeps its key: parts of the payload may be masked by now. A receipt gets the one
// of its fields.
//
// covers: R3, R9
func TestEventKeysWhenReadAgain(t *testing.T) {
	for payload, c := range map[string]struct {
		kind string
		same bool
	}{"nothing": {"unreadable", true}, "A delivered": {"unreadable", false}, "other": {"receipt", false}} {
		a := holding(payload)
		a.log[0].Kind = c.kind
		r, _ := resolver(a, box{})
		if _, err := r.Replay(t.Context(), Replay{Connection: 1, Limit: 9, Rereading: mended}); err != nil {
			t.Fatal(err)
		}
		if got := a.batches[0][0].EventKey == a.log[0].EventKey; got != c.same {
			t.Errorf("%s that was %s: the key is the same: %v", payload, c.kind, got)
		}
	}
}

// Payloads that nobody can open any more are counted and stay as they were read; a store that is away ends the run.
//
// covers: R9
func TestReplayOfWhatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		open  box
		other bool // of a connection that is not configured
		gone  int
		fails bool
	}{
		"the key is destroyed": {box{fault.New(fault.NotFound, "destroyed")}, false, 1, false},
		"the store is away":    {box{errLocked}, false, 0, true},
		"not configured":       {box{}, true, 1, false},
	} {
		a := holding("A delivered")
		r, _ := resolver(a, c.open)
		if c.other {
			r.cfg.Again.Readers = func(int64) provider.Reader { return nil }
		}
		done, err := r.Replay(t.Context(), Replay{Connection: 1, Limit: 9, Rereading: mended})
		if (err != nil) != c.fails || done.Gone != c.gone || len(a.batches) != 0 {
			t.Errorf("%s: %+v %v", name, done, err)
		}
	}
}
