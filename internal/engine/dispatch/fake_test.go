package dispatch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second // for what is signalled; no test waits that long when all is well

// memory is a store of one connection that can be made to fail at any place. What evidence does to a message is
// the domain's own code.
type memory struct {
	mu       sync.Mutex
	cases    map[ident.Message]*evidence.Case
	order    []ident.Message
	fail     func(method string, n int) error // n counts the calls of the method from 1
	calls    map[string]int
	hold     map[string]chan struct{} // a call of the method waits for it
	noSlot   bool
	share    *store.SlotShare // nil: one slot
	given    []store.Slot
	holder   ident.Node // who asked for slots last
	specs    []store.ClaimSpec
	opens    []store.OpenSpec
	news     []store.News
	validity map[ident.Message]bool
	purse    flow.Purse
	stopped  bool // an emergency stop holds all that waits
	partial  int  // so many claims say that they have not looked at every flow
	expired  []ident.Message
	changed  chan struct{} // closed and made anew after each change
}

func newMemory() *memory {
	return &memory{
		cases: map[ident.Message]*evidence.Case{}, calls: map[string]int{}, validity: map[ident.Message]bool{},
		hold: map[string]chan struct{}{}, changed: make(chan struct{}),
		fail: func(string, int) error { return nil },
	}
}

func now() clock.Micros { return clock.FromTime(time.Now()) }

// call counts a call, waits where the test holds it, and fails where the test says so.
func (s *memory) call(method string) error {
	s.mu.Lock()
	s.calls[method]++
	n, fail, hold := s.calls[method], s.fail, s.hold[method]
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return fail(method, n)
}

func (s *memory) change(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
	close(s.changed)
	s.changed = make(chan struct{})
}

// put adds a pending message of one part to a flow.
func (s *memory) put(flow int64) ident.Message { return s.putLong(flow, 1) }

// putLong adds one of several parts.
func (s *memory) putLong(flow int64, parts int) ident.Message {
	m := ident.NewMessage(0)
	s.change(func() {
		s.cases[m] = &evidence.Case{
			Message: m, Connection: 1, Parts: parts, Flow: flow, CreatedAt: now(), State: message.Pending,
			ValidUntil: now().Add(time.Hour), ReceiptUntil: now().Add(72 * time.Hour),
		}
		s.order = append(s.order, m)
	})
	return m
}

// Claim takes from flows as a store does: the deal is the domain's own.
func (s *memory) Claim(_ context.Context, spec store.ClaimSpec) (store.Claims, error) {
	if err := s.call("Claim"); err != nil {
		return store.Claims{}, err
	}
	var got store.Claims
	s.change(func() {
		s.specs = append(s.specs, spec)
		waiting := s.waiting()
		var found []flow.Waiting
		for id := range waiting {
			found = append(found, flow.Waiting{ID: id})
		}
		turns := spec.Turns
		if turns == nil {
			turns = &flow.Turns{}
		}
		deal, given := flow.NewDeal(turns, found, spec.Room, s.purse, now()), map[int64]int{}
		for shares := deal.Next(); len(shares) > 0; shares = deal.Next() {
			for _, share := range shares {
				n := min(share.N, len(waiting[share.Flow])-given[share.Flow])
				given[share.Flow] += n
				deal.Got(share.Flow, n)
			}
		}
		for _, id := range deal.Order() {
			c := waiting[id][0]
			waiting[id] = waiting[id][1:]
			c.Fence++
			c.Leased, c.State, c.ReadyAt = true, message.Sending, now().Add(spec.Lease)
			got.Taken = append(got.Taken, store.Claimed{Message: c.Message, Flow: id, Fence: c.Fence})
		}
		got.Turn, got.More, got.Wait = deal.Turn(), deal.More(), deal.Wait()
		got.Partial, got.Expired, s.expired = s.partial > 0, s.expired, nil
		s.partial--
	})
	return got, nil
}

// waiting are the messages that are due, by flow.
func (s *memory) waiting() map[int64][]*evidence.Case {
	due := map[int64][]*evidence.Case{}
	if s.stopped {
		return due
	}
	for _, id := range s.order {
		c := s.cases[id]
		if _, ready := c.Schedule(0); c.State == message.Pending && ready <= now() {
			due[c.Flow] = append(due[c.Flow], c)
		}
	}
	return due
}

func (s *memory) OpenAttempts(_ context.Context, spec store.OpenSpec, claims []store.Claimed) ([]store.Opened, error) {
	if err := s.call("OpenAttempts"); err != nil {
		return nil, err
	}
	var opened []store.Opened
	s.change(func() {
		s.opens = append(s.opens, spec)
		for _, cl := range claims {
			c := s.cases[cl.Message]
			if c.Fence != cl.Fence || !c.Leased || c.ReadyAt <= now() {
				continue
			}
			owed := c.Owed(now(), spec.Together)
			for _, part := range owed[:min(len(owed), max(cl.Most, 1))] {
				if part == 1 || !s.stopped {
					opened = append(opened, openPart(c, cl, spec, part))
				}
			}
		}
	})
	return opened, nil
}

// openPart opens an attempt of a part.
func openPart(c *evidence.Case, cl store.Claimed, spec store.OpenSpec, part uint16) store.Opened {
	n := c.NextAttempt(part)
	ref := int32(n) + 100*int32(part-1)
	c.Attempts = append(c.Attempts, evidence.Attempt{Attempt: n, Part: part, Outcome: message.OutcomeOpen, Reference: ref, Fence: cl.Fence})
	c.ReadyAt = now().Add(spec.AnswerBy)
	text := message.Layout{Parts: c.Parts}
	if c.Parts > 1 {
		text.DataCoding, text.JoinedBy = gsm.CodingUCS2, string(provider.JoinedByUDH16)
	}
	return store.Opened{
		Claimed: cl, Attempt: n, Part: part, Reference: ref, Sender: "SHOP", Destination: "+12025550100",
		Text: text, NoReceipt: spec.OneReceipt && part > 1,
		OpenedAt: now(), ValidUntil: c.ValidUntil,
	}
}

func (s *memory) Settle(_ context.Context, news []store.News, _ store.Rules) ([]store.Settled, error) {
	if err := s.call("Settle"); err != nil {
		return nil, err
	}
	settled := make([]store.Settled, len(news))
	s.change(func() {
		for i, n := range news {
			s.news = append(s.news, n)
			c := s.cases[n.Message]
			settled[i] = store.Settled{Message: n.Message}
			if c == nil {
				settled[i].Err = fault.New(fault.NotFound, "no such message")
				continue
			}
			if err := c.Apply(n.Evidence, now()); err != nil {
				settled[i].Err = fault.Wrap(err, fault.State, "not now")
			}
			as := *c
			settled[i].Case = &as
		}
	})
	return settled, nil
}

func (s *memory) Due(_ context.Context, q evidence.Queue, limit int) ([]ident.Message, error) {
	if err := s.call("Due"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []ident.Message
	for _, id := range s.order {
		in, at := s.cases[id].Schedule(now())
		if in == q && at <= now() && len(due) < limit {
			due = append(due, id)
		}
	}
	return due, nil
}

// DueValidity looks at one message for each call.
func (s *memory) DueValidity(_ context.Context, from store.Cursor, _ int) ([]ident.Message, store.Cursor, error) {
	if err := s.call("DueValidity"); err != nil {
		return nil, store.Cursor{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := int(from.ReadyAt)
	if at >= len(s.order) {
		return nil, store.Cursor{}, nil
	}
	var due []ident.Message
	if c := s.cases[s.order[at]]; c.State == message.Pending && c.ValidUntil <= now() {
		due = append(due, c.Message)
	}
	return due, store.Cursor{ReadyAt: clock.Micros(at + 1)}, nil
}

// KeepSlots gives what the test has set, and the first slot of the connection otherwise.
func (s *memory) KeepSlots(_ context.Context, spec store.SlotSpec) (store.SlotShare, error) {
	if err := s.call("KeepSlots"); err != nil {
		return store.SlotShare{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holder = spec.Node
	if s.noSlot {
		return store.SlotShare{Share: 1, Nodes: 1}, nil
	}
	if s.share != nil {
		return *s.share, nil
	}
	return store.SlotShare{Held: []store.Slot{{Connection: spec.Connection, Fence: 1}}, Share: 1, Nodes: 1}, nil
}

func (s *memory) GiveSlot(_ context.Context, slot store.Slot, _ ident.Node) error {
	err := s.call("GiveSlot")
	s.change(func() { s.given = append(s.given, slot) })
	return err
}

func (s *memory) LeaveSlots(context.Context, int64, ident.Node) error { return s.call("LeaveSlots") }

// await waits until the condition holds; it is looked at after each change.
func (s *memory) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.After(patience)
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (s *memory) awaitState(t *testing.T, want message.State, ids ...ident.Message) {
	t.Helper()
	s.await(t, "for state "+want.String(), func() bool {
		return !slices.ContainsFunc(ids, func(id ident.Message) bool { return s.cases[id].State != want })
	})
}

// sent is a submission that the test answers.
type sent struct {
	provider.Submission
	report provider.Report
}

// carrier is a provider in the test's hands.
type carrier struct {
	mu      sync.Mutex
	window  int
	flying  int
	stopped bool
	sent    chan sent
	changed chan struct{}
	onStop  func()
	holds   map[int]time.Time // by bind; one that has left has none
	leaving chan int
	left    chan struct{} // not nil: a bind that leaves waits for it
	far     bool          // nobody answers
}

// Unreachable implements Carrier.
func (c *carrier) Unreachable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.far
}

// Hold implements Carrier.
func (c *carrier) Hold(n int, until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds[n] = until
	return nil
}

// Leave implements Carrier.
func (c *carrier) Leave(ctx context.Context, n int) error {
	c.leaving <- n
	if c.left != nil {
		select {
		case <-c.left:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.holds, n)
	return nil
}

// held are the binds that may be used, in order.
func (c *carrier) held() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.holds))
}

func newCarrier(window int) *carrier {
	return &carrier{window: window, sent: make(chan sent, 10_000), changed: make(chan struct{}, 1), onStop: func() {},
		holds: map[int]time.Time{}, leaving: make(chan int, 100)}
}

func (c *carrier) Start(context.Context, provider.Sink) error { return nil }
func (c *carrier) Changed() <-chan struct{}                   { return c.changed }
func (c *carrier) Status() string                             { return "bound" }

func (c *carrier) Free() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.window - c.flying
}

// Submit refuses what comes after its deadline, as every provider must.
func (c *carrier) Submit(s provider.Submission, report provider.Report) {
	if !time.Now().Before(s.Deadline) {
		report(provider.Outcome{Kind: provider.NotSent})
		return
	}
	c.mu.Lock()
	c.flying++
	c.mu.Unlock()
	c.sent <- sent{s, func(o provider.Outcome) {
		if !o.Late {
			c.free(1)
		}
		report(o)
	}}
}

func (c *carrier) free(n int) {
	c.mu.Lock()
	c.flying -= n
	c.mu.Unlock()
	signal(c.changed)
}

func (c *carrier) Stop(context.Context) error {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.onStop()
	return nil
}

// answerAll answers what was submitted so far.
func (c *carrier) answerAll() {
	for len(c.sent) > 0 {
		(<-c.sent).report(accepted)
	}
}

func (c *carrier) next(t *testing.T) sent {
	t.Helper()
	select {
	case s := <-c.sent:
		return s
	case <-time.After(patience):
		t.Fatal("nothing was submitted")
	}
	return sent{}
}

func config(s *memory, c *carrier) Config {
	return Config{
		Node: ident.Node{1}, Connection: Connection{ID: 1, IDSpace: 7, Name: "carrier", Binds: 1},
		Provider: c, Store: s,
		Open:    func(context.Context, store.Opened) (string, error) { return "Hello", nil },
		Rules:   store.Rules{Correlate: evidence.Correlate, Grace: time.Minute, LookBack: 72 * time.Hour},
		Lease:   time.Minute, // tests of leases set their own
		Poll:    5 * time.Millisecond,
		Log:     slog.New(slog.DiscardHandler),
		Metrics: NewMetrics(telemetry.NewMetrics()),
	}
}

// start runs a dispatcher until the test's end.
func start(t *testing.T, cfg Config) *Dispatcher {
	t.Helper()
	d := New(cfg)
	d.Start(t.Context())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = d.Stop(ctx)
	})
	return d
}

var accepted = provider.Outcome{Kind: provider.Accepted, ExternalID: []byte("A1"), Code: "0x00000000"}
