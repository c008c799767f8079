package receipt

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// list is a store's list of work.
type list struct {
	mu       sync.Mutex
	due      []store.DueReceipt
	batches  [][]store.News
	finished []ident.Receipt
	logged   []*store.LoggedReceipt // with their effect
	putOff   []store.Postponed
	givenUp  []ident.Receipt
	away     error // of a store that keeps nothing
	answer   func(news []store.News) ([]store.Settled, error)
	awaited  [][]store.AwaitedID // pages of connection 1
	meta     map[string]string
	hold     chan struct{} // Settle waits for it, unless it is nil
	settled  chan int      // receives how many each Settle and each Finish took
}

func newList() *list {
	return &list{meta: map[string]string{}, settled: make(chan int, 1000), answer: func(n []store.News) ([]store.Settled, error) { return make([]store.Settled, len(n)), nil }}
}

func (l *list) Settle(_ context.Context, news []store.News, _ store.Rules) ([]store.Settled, error) {
	if l.hold != nil {
		<-l.hold
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	settled, err := l.answer(news)
	if err != nil {
		return nil, err
	}
	l.batches = append(l.batches, news)
	for _, n := range news {
		l.due = slices.DeleteFunc(l.due, func(d store.DueReceipt) bool { return d.ID == n.Receipt.ID })
	}
	l.settled <- len(news)
	return settled, nil
}

func (l *list) SettleLogged(ctx context.Context, rs []*store.LoggedReceipt, news []store.News, rules store.Rules) ([]store.Settled, error) {
	settled, err := l.Settle(ctx, news, rules)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.logged = append(l.logged, rs...)
	}
	return settled, err
}

func (l *list) DueReceipts(_ context.Context, limit int) ([]store.DueReceipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.due[:min(limit, len(l.due))]), nil
}

func (l *list) PostponeReceipts(_ context.Context, rs []store.Postponed) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away != nil {
		return l.away
	}
	l.putOff = append(l.putOff, rs...)
	for _, p := range rs {
		l.due = slices.DeleteFunc(l.due, func(d store.DueReceipt) bool { return d.ID == p.ID })
	}
	return nil
}

func (l *list) GiveUpReceipts(_ context.Context, rs []*store.LoggedReceipt, detail string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away != nil || detail == "" {
		return l.away
	}
	for _, r := range rs {
		l.givenUp = append(l.givenUp, r.ID)
	}
	return nil
}

func (l *list) FinishReceipts(_ context.Context, ids []ident.Receipt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished = append(l.finished, ids...)
	l.settled <- len(ids)
	return nil
}

func (l *list) AwaitedIDs(_ context.Context, connection int64, from store.Cursor, _ int) ([]store.AwaitedID, store.Cursor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if connection != 1 || len(l.awaited) == 0 {
		return nil, store.Cursor{}, nil
	}
	next := from
	next.ReadyAt++
	ids := l.awaited[from.ReadyAt]
	if int(next.ReadyAt) == len(l.awaited) {
		next = store.Cursor{}
	}
	return ids, next, nil
}

func (l *list) Meta(_ context.Context, name string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meta[name], nil
}

func (l *list) SetMeta(_ context.Context, name, value string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.meta[name] = value
	return nil
}

func (l *list) await(t *testing.T, n int) {
	t.Helper()
	for n > 0 {
		select {
		case got := <-l.settled:
			n -= got
		case <-time.After(10 * time.Second):
			t.Fatalf("%d receipts were not settled", n)
		}
	}
}

func logged(kind provider.EventKind) *store.LoggedReceipt {
	return &store.LoggedReceipt{ID: ident.NewReceipt(0), Connection: 1, IDSpace: 9, Kind: string(kind), ExternalID: []byte("A1"), Reference: -1, Source: "12025550100"}
}

// readerOfFirst reads what came over the first connection, and over no other.
func readerOfFirst(connection int64) provider.Reader {
	if connection != 1 {
		return nil
	}
	return masker{}
}

func worker(l *list) (*Worker, *telemetry.Metrics) {
	m := telemetry.NewMetrics()
	known := map[int64]Connection{1: {Name: "carrier", EchoesReference: true}, 2: {Name: "other"}}
	return New(Config{
		Store: l, Connections: func() map[int64]Connection { return known },
		Every: time.Hour, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(m),
	}), m
}

func start(t *testing.T, w *Worker) {
	t.Helper()
	w.Start(t.Context())
	t.Cleanup(func() {
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func shows(m *telemetry.Metrics, line string) bool {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return strings.Contains(w.Body.String(), "\n"+line+"\n")
}

// Receipts and what nobody could read are settled, everything else is taken off the list of work.
//
// covers: R2, R6, R11
func TestABatchOfMixedCalls(t *testing.T) {
	l := newList()
	w, metrics := worker(l)
	mixed := []*store.LoggedReceipt{
		logged(provider.KindReceipt), logged(provider.KindInbound), logged(provider.KindIntermediate),
		logged(provider.KindOther), logged(provider.KindUnreadable),
	}
	mixed[2].Connection = 2
	w.Offer(mixed)
	start(t, w)
	l.await(t, len(mixed))
	news := slices.Concat(l.batches...) // of one message id: in the order in which they came
	if len(news) != 3 || len(l.finished) != 2 {
		t.Fatalf("%d were settled and %d finished, want 3 and 2", len(news), len(l.finished))
	}
	for i, n := range news {
		r := mixed[2*i]
		want := evidence.ReceiptFacts{
			ID: r.ID, ExternalID: r.ExternalID, Reference: -1, Handset: r.Source, EchoDeclared: i != 1, Final: i == 0, Problem: n.Receipt.Problem,
		}
		if n.Receipt.ID != want.ID || n.Receipt.EchoDeclared != want.EchoDeclared || n.Receipt.Final != want.Final ||
			(n.Receipt.Problem != "") != (i == 2) || n.HandsetE164 != "+12025550100" || n.GraceOver || n.IDSpace != 9 {
			t.Errorf("the %s is settled as %+v with %+v", r.Kind, n, *n.Receipt)
		}
	}
	if !shows(metrics, "einmal_inbound_calls_total 2") {
		t.Error("the calls that are no receipts were not counted")
	}
}

// Receipts of one message id have their effects in the order in which they came, however many workers there are:
// of two that contradict each other the first counts.
//
// covers: R6, R8
func TestReceiptsOfOneIDKeepTheirOrder(t *testing.T) {
	l := newList()
	w, _ := worker(l)
	start(t, w)
	const each, of = 50, 8
	came := map[string][]ident.Receipt{}
	for range each {
		for i := range of {
			r := logged(provider.KindReceipt)
			r.ExternalID = []byte{'A', byte('0' + i)}
			came[string(r.ExternalID)] = append(came[string(r.ExternalID)], r.ID)
			w.Offer([]*store.LoggedReceipt{r})
		}
	}
	l.await(t, each*of)
	applied := map[string][]ident.Receipt{}
	for _, n := range slices.Concat(l.batches...) {
		applied[string(n.Receipt.ExternalID)] = append(applied[string(n.Receipt.ExternalID)], n.Receipt.ID)
	}
	for id, order := range came {
		if !slices.Equal(applied[id], order) {
			t.Errorf("the receipts of %s had their effects in another order than they came", id)
		}
	}
}

// covers: R5, I13
func TestTheSweepFindsWhatWasLeftBehind(t *testing.T) {
	l := newList()
	left, waited := logged(provider.KindReceipt), logged(provider.KindReceipt)
	l.due = []store.DueReceipt{{LoggedReceipt: *left}, {LoggedReceipt: *waited, Waited: true}}
	w, _ := worker(l)
	start(t, w)
	l.await(t, 2)
	if n := l.batches[0]; n[0].GraceOver || !n[1].GraceOver {
		t.Error("the grace is over for the one that waited, and for it alone")
	}
}

// What there is no room for is dropped by Offer, which does not block, and found by the sweep.
func TestAFullWorkerLeavesReceiptsToTheSweep(t *testing.T) {
	l := newList()
	w, metrics := worker(l)
	all := make([]*store.LoggedReceipt, maxWaiting+3)
	for i := range all {
		all[i] = logged(provider.KindReceipt)
	}
	w.Offer(all)
	if !shows(metrics, "einmal_receipts_left_total 3") {
		t.Error("three were left to the sweep and not counted")
	}
	for _, r := range all[maxWaiting:] {
		l.due = append(l.due, store.DueReceipt{LoggedReceipt: *r})
	}
	start(t, w)
	l.await(t, len(all))
}

// A store that is away loses nothing: the receipts are on its list of work when it is back.
func TestAStoreThatIsAwayLeavesTheListAlone(t *testing.T) {
	l := newList()
	away := 3
	l.answer = func(n []store.News) ([]store.Settled, error) {
		if away--; away >= 0 {
			return nil, fault.New(fault.Unavailable, "away")
		}
		return make([]store.Settled, len(n)), nil
	}
	l.due = []store.DueReceipt{{LoggedReceipt: *logged(provider.KindReceipt)}}
	w, _ := worker(l)
	w.cfg.Every = time.Millisecond
	start(t, w)
	l.await(t, 1)
}

// One receipt that the store cannot take does not keep the others of its batch from their effect.
func TestAPoisonedReceiptStandsAlone(t *testing.T) {
	l := newList()
	batch := []store.DueReceipt{{LoggedReceipt: *logged(provider.KindReceipt)}, {LoggedReceipt: *logged(provider.KindReceipt)}, {LoggedReceipt: *logged(provider.KindReceipt)}}
	l.answer = func(n []store.News) ([]store.Settled, error) {
		if slices.ContainsFunc(n, func(n store.News) bool { return n.Receipt.ID == batch[1].ID }) {
			return nil, fault.New(fault.Internal, "a defect")
		}
		return make([]store.Settled, len(n)), nil
	}
	w, _ := worker(l)
	if n := w.settle(t.Context(), batch); n != 3 || len(slices.Concat(l.batches...)) != 2 || len(l.putOff) != 1 || l.putOff[0].ID != batch[1].ID {
		t.Errorf("%d of 3 are out of the way, want all; put off are %v", n, l.putOff)
	}
}

// covers: R10
func TestEffectsAreCounted(t *testing.T) {
	l := newList()
	w, metrics := worker(l)
	var batch []store.DueReceipt
	for range 6 {
		batch = append(batch, store.DueReceipt{LoggedReceipt: *logged(provider.KindReceipt)})
	}
	about := func(i int, k evidence.EventKind) *evidence.Case {
		return &evidence.Case{Events: []evidence.Event{{Kind: evidence.EventOutcome}, {Kind: k, Receipt: batch[i].ID}}}
	}
	l.answer = func([]store.News) ([]store.Settled, error) {
		return []store.Settled{
			{Case: about(0, evidence.EventReceipt)}, {Case: about(1, evidence.EventRepeated)}, {Waiting: true}, {Known: true}, {},
			{Err: fault.New(fault.InProgress, "locked")},
		}, nil
	}
	committed := 0
	w.cfg.Committed = func() { committed++ }
	if n := w.settle(t.Context(), batch); n != 6 || committed != 1 || len(l.putOff) != 1 {
		t.Errorf("%d are out of the way, told %d times, want 6 and once; put off are %v", n, committed, l.putOff)
	}
	for _, e := range []string{"applied", "repeated", "waiting", "known", "exception", "failed"} {
		if !shows(metrics, `einmal_receipts_total{connection="carrier",effect="`+e+`",simulated="false"} 1`) {
			t.Errorf("the effect %q was not counted", e)
		}
	}
}

// An orderly stop settles what was offered.
func TestStopSettlesWhatWasOffered(t *testing.T) {
	l := newList()
	l.hold = make(chan struct{})
	w, _ := worker(l)
	w.Start(t.Context())
	for range 5 {
		w.Offer([]*store.LoggedReceipt{logged(provider.KindReceipt)})
	}
	stopped := make(chan error)
	go func() { stopped <- w.Stop(context.Background()) }()
	<-w.stopping
	close(l.hold)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	l.await(t, 5)
}

func TestStopEndsWithItsContext(t *testing.T) {
	w, _ := worker(newList())
	w.Start(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped with %v", err)
	}
}

// box seals by putting the place in front.
type box struct{ err error }

func (b box) Open(_ context.Context, aad, sealed, _ []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, aad)
	if !ok {
		return nil, errors.New("another place")
	}
	return plain, b.err
}

func (b box) Reseal(_ context.Context, aad, _, plaintext []byte) ([]byte, error) {
	return slices.Concat(aad, plaintext), nil
}

// masker finds the text after a colon.
type masker struct{}

func (masker) Read([]byte) provider.Parsed { return provider.Parsed{} }

func (masker) Redact(p []byte) ([]byte, bool) {
	head, text, quoted := bytes.Cut(p, []byte(":"))
	return slices.Concat(head, []byte(":"), bytes.Repeat([]byte("*"), len(text))), quoted
}

// covers: D15
func TestRedact(t *testing.T) {
	destroyed := fault.New(fault.NotFound, "the key is destroyed")
	for name, c := range map[string]struct {
		payload    string
		connection int64
		err        error
		want       string
		fails      bool
	}{
		"quoted":             {"id text:123456", 1, nil, "id text:******", false},
		"nothing quoted":     {"id", 1, nil, "", false},
		"nobody reads it":    {"id", 1, destroyed, "", false},
		"store away":         {"id text:123456", 1, fault.New(fault.Unavailable, "away"), "", true},
		"unknown connection": {"id text:123456", 2, nil, "empty", false},
	} {
		r := logged(provider.KindReceipt)
		r.Connection, r.Payload = c.connection, slices.Concat(Place(r.ID), []byte(c.payload))
		d := &Redactor{Sealer: box{c.err}, Readers: readerOfFirst}
		got, err := d.Redact(r)
		plain, placed := bytes.CutPrefix(got, Place(r.ID))
		switch {
		case (err != nil) != c.fails:
			t.Errorf("%s: %v", name, err)
		case c.want == "" && got != nil:
			t.Errorf("%s: replaced by %q", name, plain)
		case c.want != "" && (!placed || string(plain) != strings.TrimPrefix(c.want, "empty")):
			t.Errorf("%s: replaced by %q, want %q", name, plain, c.want)
		}
	}
}

// A receipt is stored and settled at once where nothing is in the way. Those in hand go first, since the first of two
// that contradict each other counts; and what the store cannot do at once is left to be done in steps.
//
// covers: R1, R8
func TestTakeStoresAndSettlesAtOnce(t *testing.T) {
	l := newList()
	w, m := worker(l)
	if !w.Take(t.Context(), []*store.LoggedReceipt{logged(provider.KindReceipt), logged(provider.KindInbound)}) {
		t.Fatal("nothing was in the way")
	}
	if len(l.logged) != 2 || len(l.batches) != 1 || len(l.batches[0]) != 1 || !l.batches[0][0].Receipt.EchoDeclared {
		t.Errorf("%d were stored, settled were %+v", len(l.logged), l.batches)
	}
	if !shows(m, `einmal_receipts_total{connection="carrier",effect="exception",simulated="false"} 1`) || !shows(m, "einmal_inbound_calls_total 1") {
		t.Error("they were not counted")
	}
	w.Offer([]*store.LoggedReceipt{logged(provider.KindReceipt)})
	if w.Take(t.Context(), []*store.LoggedReceipt{logged(provider.KindReceipt)}) {
		t.Error("one has overtaken those in hand")
	}
	start(t, w)
	for end := time.Now().Add(10 * time.Second); w.inHand.Load() > 0 && time.Now().Before(end); {
		runtime.Gosched()
	}
	l.mu.Lock()
	l.answer = func([]store.News) ([]store.Settled, error) { return nil, fault.New(fault.Internal, "broken") }
	l.mu.Unlock()
	if w.Take(t.Context(), []*store.LoggedReceipt{logged(provider.KindReceipt)}) || len(l.logged) != 2 {
		t.Error("what the store could not do is said to be done")
	}
}
