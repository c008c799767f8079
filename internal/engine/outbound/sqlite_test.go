package outbound

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
)

// real is a service over the embedded store.
type real struct {
	*Service
	store  store.Store
	tenant ident.Partition
	conn   int64
}

func open(t testing.TB, path string) *real {
	t.Helper()
	st, err := sqlite.Open(bg, sqlite.Options{Path: path, Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	r := &real{store: st}
	if r.tenant, err = st.EnsureTenant(bg, "shop"); err != nil {
		t.Fatal(err)
	}
	if r.conn, _, err = st.EnsureConnection(bg, "simulator", ""); err != nil {
		t.Fatal(err)
	}
	r.Service = New(Config{
		Store: st, Identity: secret.NewIdentity([secret.KeySize]byte{1}), Sealer: secret.NewSealer([secret.KeySize]byte{2}, st),
		Clock: clock.System{}, Policy: version(1, testPolicy), Route: always(Connection{ID: r.conn}), Simulated: func(int64) bool { return true }, Sender: "SHOP", Log: discard,
	})
	if err := r.Start(bg); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *real) close(t testing.TB) {
	t.Helper()
	r.Close()
	if err := r.store.Close(); err != nil {
		t.Error(err)
	}
}

func (r *real) order(id string) Submission {
	s := order(id)
	s.Tenant = r.tenant
	return s
}

// race submits n requests at once and returns the answers.
func (r *real) race(t *testing.T, n int, request func(i int) Submission) []Answer {
	t.Helper()
	answers := make([]Answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var err error
			if answers[i], err = r.Submit(bg, request(i)); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	return answers
}

// one checks that a race made at most the given number of messages and all answers name the same one.
func one(t *testing.T, answers []Answer, made int) {
	t.Helper()
	allowed := 0
	for _, a := range answers {
		if a.Kind == intent.Decided && a.Decision.Action == intent.Allow {
			allowed++
		}
		if a.Decision.Message.ID != answers[0].Decision.Message.ID {
			t.Error("an answer names another message")
		}
	}
	if allowed != made {
		t.Errorf("%d messages were made, want %d", allowed, made)
	}
}

// covers: D2, D7, D8, I2
func TestRacesOnTheEmbeddedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "einmal.db")
	r := open(t, path)
	spellings := []string{rawNumber, number, "202-555-0143", "1 202 555 0143", "٢٠٢٥٥٥٠١٤٣"}
	plain := func(i int) Submission {
		s := r.order("plain")
		s.To = spellings[i%len(spellings)]
		return s
	}
	each := func(i int) Submission { return keyed(r.order("each"), fmt.Sprint(i)) }
	shared := func(int) Submission { return keyed(r.order("shared"), "k") }
	others := func(i int) Submission { return r.order(fmt.Sprint("other ", i)) }

	one(t, r.race(t, 200, plain), 1)
	one(t, r.race(t, 200, each), 1)
	first := r.race(t, 200, shared)
	one(t, first, 1)
	for _, a := range first {
		if !reflect.DeepEqual(a.Decision, first[0].Decision) {
			t.Errorf("one key, two answers: %+v", a.Decision)
		}
	}
	for i, a := range r.race(t, 200, others) {
		if a.Decision.Action != intent.Allow {
			t.Errorf("order %d: %s", i, a.Decision.Reason)
		}
	}
	r.close(t)

	r = open(t, path) // and the same after a restart
	defer r.close(t)
	one(t, r.race(t, 20, plain), 0)
	one(t, r.race(t, 20, each), 0)
	for _, a := range r.race(t, 20, shared) {
		if !a.Replayed || !reflect.DeepEqual(a.Decision, first[0].Decision) {
			t.Errorf("after a restart: %+v", a)
		}
	}
}

// covers: D8
func TestIdempotencyOnTheEmbeddedStore(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "einmal.db"))
	defer r.close(t)
	submit := func(s Submission) Answer {
		t.Helper()
		a, err := r.Submit(bg, s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s := keyed(r.order("A-1"), "k")
	first := submit(s)
	if _, err := r.Submit(bg, keyed(r.order("A-2"), "k")); fault.CodeOf(err) != fault.IdempotencyMismatch {
		t.Errorf("another request: %v", err)
	}
	gone := s // as after a policy without this purpose
	gone.Purpose = "gone"
	if a := submit(gone); !a.Replayed || !reflect.DeepEqual(a.Decision, first.Decision) {
		t.Errorf("a retry that is invalid now: %+v", a)
	}
	gone.IdempotencyKey = "fresh"
	for range 2 {
		if _, err := r.Submit(bg, gone); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("invalid, under a fresh key: %v", err)
		}
	}
	if a := submit(keyed(r.order("A-3"), "fresh")); a.Replayed {
		t.Error("a malformed request was stored under its key")
	}
	dry := keyed(r.order("A-1"), "k")
	dry.DryRun = true
	if a := submit(dry); a.Decision.Action != intent.Suppress || a.Decision.Message.ID != first.Decision.Message.ID {
		t.Errorf("dry run: %+v", a)
	}
}

// The text comes out again where it is sent, and is sealed until then.
//
// covers: D15
func TestFromRequestToAttemptOnTheEmbeddedStore(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "einmal.db"))
	defer r.close(t)
	code := login("1")
	code.Tenant = r.tenant
	for _, s := range []Submission{r.order("A-1"), code, r.order("cancelled")} {
		a, err := r.Submit(bg, s)
		if err != nil {
			t.Fatal(err)
		}
		if s.Event.ID == "cancelled" {
			r.cancelTwice(t, a.Decision.Message.ID)
		}
	}
	node := ident.NewNode()
	taken, err := r.store.Claim(bg, store.ClaimSpec{Node: node, Connection: r.conn, Room: flow.Room{All: 9, Lower: 9}, Lease: time.Minute})
	claims := taken.Taken
	if err != nil || len(claims) != 2 || flow.PlaceOf(claims[0].Flow).Lane != flow.Urgent {
		t.Fatalf("claims %v: %v", claims, err)
	}
	opened, err := r.store.OpenAttempts(bg, store.OpenSpec{Node: node, Connection: r.conn, IDSpace: r.conn, AnswerBy: time.Minute}, claims)
	if err != nil || len(opened) != 2 {
		t.Fatalf("opened %v: %v", len(opened), err)
	}
	got := map[string]bool{}
	for _, o := range opened {
		words, err := r.contents.Open(bg, o)
		if err != nil || o.Destination != number || o.Sender != "SHOP" {
			t.Errorf("to be sent: %v", err)
		}
		if bytes.Contains(o.Content, []byte("2718281828")) {
			t.Error("a text is stored in clear")
		}
		got[words] = true
		if _, err := r.Cancel(bg, r.tenant, o.Message, "operator", ""); fault.CodeOf(err) != fault.State {
			t.Errorf("cancelled while it is sent: %v", err)
		}
	}
	if !got[text] || !got[code.Text] {
		t.Error("other texts came out")
	}
}

func (r *real) cancelTwice(t *testing.T, id ident.Message) {
	t.Helper()
	for range 2 {
		if m, err := r.Cancel(bg, r.tenant, id, "operator", "wrong customer"); err != nil || m.State != message.Cancelled || !m.Final {
			t.Errorf("cancelled: %+v, %v", m, err)
		}
	}
	events, err := r.store.Events(bg, r.tenant, id, 0, 10)
	if err != nil || len(events) != 2 || events[1].Kind != evidence.EventCancelled {
		t.Errorf("events %v: %v", events, err)
	}
}

func BenchmarkSubmit(b *testing.B) {
	r := open(b, filepath.Join(b.TempDir(), "einmal.db"))
	defer r.close(b)
	var n atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(256)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.Submit(bg, r.order(fmt.Sprint(n.Add(1)))); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
