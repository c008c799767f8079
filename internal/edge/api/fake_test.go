package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

var (
	epoch    = time.Date(2026, 12, 31, 10, 0, 0, 0, time.UTC)
	identity = secret.NewIdentity([secret.KeySize]byte{1})
)

const (
	number   = "+12025550143"
	toRaw    = "(202) 555-0143"
	tenantA  = ident.Partition(7)
	tenantB  = ident.Partition(8)
	ordinary = `{"to":"+12025550143","purpose":"order_confirmation","event":{"type":"order","id":"A-1","version":1},"sender":"SHOP","text":"Hi"}`
)

// fakeStore is the part of a store that the API reads: one message of tenant A with its history, and keys.
type fakeStore struct {
	fakeStops
	fakeWebhooks
	store.Keys           // nil, but for the methods below
	store.Administration // nil: what is administered is tested over the store itself
	store.Wallets        // nil, as well, but for the one below
	mu                   sync.Mutex
	keys                 map[string]store.KeyHolder
	keyReads             int
	onKey                func() // called when a key was read; nil: nothing is
	eventReads           int
	down                 bool
	message              *store.Message
	events               []evidence.Event
	decisions            []*store.Decision
	receipts             []*store.LoggedReceipt
	readings             map[ident.Receipt][]store.Reading
	exceptions           []*store.ExceptionView
	groups               []store.ExceptionGroup

	exceptionFilter store.ExceptionFilter
	groupsAfter     store.GroupKey
	feed            []store.FeedEvent
	filter          store.MessageFilter
}

var errDown = fault.New(fault.Unavailable, "the store cannot be reached").After(1500 * time.Millisecond)

func (f *fakeStore) Message(_ context.Context, tenant ident.Partition, id ident.Message) (*store.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.message.Tenant != tenant || f.message.ID != id {
		return nil, fault.New(fault.NotFound, "no such message")
	}
	return f.message, nil
}

func (f *fakeStore) Messages(_ context.Context, tenant ident.Partition, filter store.MessageFilter, p store.Page) ([]*store.Message, error) {
	f.filter = filter
	if tenant != f.message.Tenant || p.At != 0 {
		return nil, nil
	}
	return slices.Repeat([]*store.Message{f.message}, min(3, p.Limit)), nil
}

func (f *fakeStore) Events(_ context.Context, tenant ident.Partition, _ ident.Message, after uint32, limit int) ([]evidence.Event, error) {
	f.eventReads++
	rest := f.events[min(int(after), len(f.events)):] // they are numbered from 1 without a gap
	return ofTenant(f, tenant, rest[:min(limit, len(rest))])
}

func (f *fakeStore) Decisions(_ context.Context, tenant ident.Partition, _ ident.Message, _ store.Page) ([]*store.Decision, error) {
	return ofTenant(f, tenant, f.decisions)
}

func (f *fakeStore) Receipts(_ context.Context, tenant ident.Partition, _ ident.Message, _ store.Page) ([]*store.LoggedReceipt, error) {
	return ofTenant(f, tenant, f.receipts)
}

func (f *fakeStore) Exceptions(_ context.Context, tenant ident.Partition, filter store.ExceptionFilter, _ store.Page) ([]*store.ExceptionView, error) {
	f.exceptionFilter = filter
	return ofTenant(f, tenant, f.exceptions)
}

func (f *fakeStore) Exception(_ context.Context, tenant ident.Partition, id ident.Exception) (*store.ExceptionView, error) {
	for _, x := range f.exceptions {
		if x.ID == id && tenant == f.message.Tenant {
			return x, nil
		}
	}
	return nil, fault.New(fault.NotFound, "no such exception")
}

// Wallet says that nobody pays.
func (f *fakeStore) Wallet(context.Context, ident.Partition) (store.WalletView, error) {
	return store.WalletView{}, fault.New(fault.NotFound, "no such wallet")
}

func (f *fakeStore) ExceptionGroups(_ context.Context, tenant ident.Partition, _ bool, after store.GroupKey, _ int) ([]store.ExceptionGroup, error) {
	f.groupsAfter = after
	return ofTenant(f, tenant, f.groups)
}

func (f *fakeStore) After(_ context.Context, tenant ident.Partition, _ int64, _ int) ([]store.FeedEvent, error) {
	return ofTenant(f, tenant, f.feed)
}

func ofTenant[T any](f *fakeStore, tenant ident.Partition, all []T) ([]T, error) {
	if tenant != f.message.Tenant {
		return nil, nil
	}
	return all, nil
}

func (f *fakeStore) Decision(_ context.Context, tenant ident.Partition, id ident.Decision) (*store.Decision, error) {
	for _, d := range f.decisions {
		if d.ID == id && tenant == f.message.Tenant {
			return d, nil
		}
	}
	return nil, fault.New(fault.NotFound, "no such decision")
}

func (f *fakeStore) Readings(_ context.Context, id ident.Receipt) ([]store.Reading, error) {
	return f.readings[id], nil
}

func (f *fakeStore) Receipt(_ context.Context, tenant ident.Partition, id ident.Receipt) (*store.LoggedReceipt, error) {
	for _, r := range f.receipts {
		if r.ID == id && tenant == f.message.Tenant {
			return r, nil
		}
	}
	return nil, fault.New(fault.NotFound, "no such receipt")
}

func (f *fakeStore) ConnectionNames(context.Context) (map[int64]string, error) {
	return map[int64]string{1: "simulator"}, nil
}

func (f *fakeStore) PolicyInForce(context.Context) (string, int, error) { return "shop", 7, nil }

func (f *fakeStore) Policy(_ context.Context, name string, version int) (store.PolicyVersion, error) {
	if name == "builtin" && version == 1 {
		return store.PolicyVersion{Name: name, Version: version, Source: policy.BuiltinSource()}, nil
	}
	if name != "shop" || version != 7 {
		return store.PolicyVersion{}, fault.New(fault.NotFound, "no such version")
	}
	return store.PolicyVersion{Name: "shop", Version: 7, Source: []byte("policy: shop"), N: 2, At: clock.FromTime(epoch), By: "ann"}, nil
}

func (f *fakeStore) ListPolicies(_ context.Context, before int64, limit int) ([]store.PolicyVersion, error) {
	all := []store.PolicyVersion{{Name: "shop", Version: 7, N: 2, At: clock.FromTime(epoch), By: "ann"}, {Name: "builtin", Version: 1, N: 1}}
	if before == 2 {
		all = all[1:]
	}
	return all[:min(limit, len(all))], nil
}

func (f *fakeStore) PutKey(_ context.Context, k store.APIKey, _ store.KeyLimit) (store.APIKey, error) {
	if k.Kind == 0 {
		k.Kind = tenant.LiveKey
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	k.CreatedAt = clock.FromTime(epoch)
	f.keys[k.ID] = store.KeyHolder{APIKey: k, Works: true, TenantState: tenant.Active}
	return k, nil
}

func (f *fakeStore) Key(_ context.Context, id string) (store.KeyHolder, error) {
	f.mu.Lock()
	f.keyReads++
	k, ok := f.keys[id]
	f.mu.Unlock()
	if f.onKey != nil {
		f.onKey()
	}
	switch {
	case f.down:
		return k, errDown
	case !ok:
		return k, fault.New(fault.NotFound, "no such key")
	}
	return k, nil
}

func (f *fakeStore) ListKeys(_ context.Context, of ident.Partition) (all []store.APIKey, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.keys {
		if k.Tenant == of {
			all = append(all, k.APIKey)
		}
	}
	return all, nil
}

func (f *fakeStore) RevokeKey(_ context.Context, of ident.Partition, id string) (store.APIKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, ok := f.keys[id]
	if !ok || k.Tenant != of {
		return k.APIKey, fault.New(fault.NotFound, "no such key")
	}
	k.RevokedAt, k.Works = clock.FromTime(epoch), false
	f.keys[id] = k
	return k.APIKey, nil
}

// fakeOutbound answers what it is told to.
type fakeOutbound struct {
	got    []outbound.Submission
	answer outbound.Answer
	err    error
	panics any           // the value to panic with; nil: none
	gone   chan struct{} // closed once a request is decided on, which then lasts until its caller goes away; nil: no
	sent   atomic.Int32  // answers that got out

	cancelled struct {
		tenant         ident.Partition
		person, reason string
	}
	applied struct{ file, source, by string }
	message *store.Message
}

func (f *fakeOutbound) AnswerSent(*outbound.Answer) { f.sent.Add(1) }

func (f *fakeOutbound) Submit(ctx context.Context, s outbound.Submission) (outbound.Answer, error) {
	f.got = append(f.got, s)
	if f.panics != nil {
		panic(f.panics)
	}
	if f.gone != nil {
		close(f.gone)
		<-ctx.Done()
	}
	return f.answer, f.err
}

func (f *fakeOutbound) SubmitAll(ctx context.Context, subs []outbound.Submission) []outbound.Submitted {
	out := make([]outbound.Submitted, len(subs))
	for i, s := range subs {
		out[i].Answer, out[i].Err = f.Submit(ctx, s)
		if s.Text == "refuse" {
			out[i] = outbound.Submitted{Err: fault.New(fault.Unavailable, "the queue is full").After(2 * time.Second)}
		}
	}
	return out
}

func (f *fakeOutbound) Cancel(_ context.Context, tenant ident.Partition, _ ident.Message, person, reason string) (*store.Message, error) {
	f.cancelled.tenant, f.cancelled.person, f.cancelled.reason = tenant, person, reason
	if tenant != f.message.Tenant {
		return nil, fault.New(fault.NotFound, "no such message")
	}
	return f.message, f.err
}

func (f *fakeOutbound) ApplyPolicy(_ context.Context, file string, source []byte, by string) (store.PolicyVersion, bool, error) {
	f.applied.file, f.applied.source, f.applied.by = file, string(source), by
	return store.PolicyVersion{Name: "shop", Version: 7, N: 2, At: clock.FromTime(epoch), By: by}, true, f.err
}

// fakeRestore answers what it is told to.
type fakeRestore struct {
	survey restore.Survey
	asOf   clock.Micros
	asked  restore.Ask
	err    error
	owner  ident.Partition
	held   atomic.Bool
	person string
}

func (f *fakeRestore) Survey(_ context.Context, asOf clock.Micros) (*restore.Survey, error) {
	f.asOf = asOf
	return &f.survey, nil
}

func (f *fakeRestore) Release(_ context.Context, a restore.Ask) error {
	f.asked = a
	return f.err
}

func (f *fakeRestore) Requeue(_ context.Context, tenant ident.Partition, _ ident.Message, person, reason string) error {
	f.person = person + ": " + reason
	if tenant != f.owner {
		return fault.New(fault.NotFound, "no such message")
	}
	return f.err
}

type fakeContents struct{}

func (fakeContents) Metadata(context.Context, *store.Message) (map[string]string, error) {
	return map[string]string{"basket": "77"}, nil
}

func (fakeContents) ToRaw(context.Context, *store.Message) (string, error) { return toRaw, nil }

// world is an API over fakes.
type world struct {
	t        *testing.T
	api      *API
	store    *fakeStore
	outbound *fakeOutbound
	restore  *fakeRestore
	resolver *fakeResolver
	phones   *fakePhones
	watch    *fakeWatch
	endpoint *answering
	clock    *clock.Manual
	log      *bytes.Buffer
	notReady error
	admin    string
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, store: &fakeStore{keys: map[string]store.KeyHolder{}, message: sampleMessage()}, outbound: &fakeOutbound{},
		phones: &fakePhones{}, watch: newFakeWatch(), clock: clock.NewManual(epoch), log: &bytes.Buffer{}, restore: &fakeRestore{owner: tenantA},
		resolver: &fakeResolver{},
	}
	w.outbound.message, w.resolver.store = w.store.message, w.store
	w.outbound.answer = outbound.Answer{Result: intent.Result{Kind: intent.Decided, Decision: sampleDecision()}, Simulated: true, Parts: 1, Encoding: outbound.GSM7}
	w.api = New(Config{
		Store: w.store, Outbound: w.outbound, Watch: w.watch, Contents: fakeContents{}, Identity: identity, Clock: w.clock,
		Ready: func(context.Context) error { return w.notReady }, Simulated: func(int64) bool { return true }, Phones: func() provider.Phones { return w.phones }, DeliveredMeans: func(int64) string { return "" }, Installation: tenantA,
		Restore: w.restore, Held: w.restore.held.Load, Connections: &fakeConnections{},
		Resolver: w.resolver, Webhooks: w.hooks(), Feed: builder, Delivering: func() { w.store.woken++ },
		Changed: func(context.Context) {}, Metrics: telemetry.NewMetrics(), Log: telemetry.NewLogger(w.log, telemetry.JSON, slog.LevelDebug),
	})
	w.admin = w.key(tenantA, "admin")
	return w
}

// key makes a live key.
func (w *world) key(of ident.Partition, scopes string) string {
	k := secret.NewAPIKey()
	_, err := w.store.PutKey(context.Background(), store.APIKey{
		ID: k.ID, Tenant: of, Name: "checkout " + scopes, Scopes: scopes, Hash: identity.HashAPIKey(k),
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return k.Text()
}

// call sends a request with the headers given as name, value, name, value.
func (w *world) call(method, path, key, body string, headers ...string) *httptest.ResponseRecorder {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, in)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			r.Header.Del("Content-Type")
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	return rec
}

// get expects a status and decodes the body.
func (w *world) get(path string, status int, into any) *httptest.ResponseRecorder {
	w.t.Helper()
	rec := w.call("GET", path, w.admin, "")
	return w.decode(rec, status, into)
}

func (w *world) decode(rec *httptest.ResponseRecorder, status int, into any) *httptest.ResponseRecorder {
	w.t.Helper()
	if rec.Code != status {
		w.t.Fatalf("%d: %s", rec.Code, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
		w.t.Fatalf("%v: %s", err, rec.Body)
	}
	return rec
}

// problem expects a problem document.
func (w *world) problem(rec *httptest.ResponseRecorder, status int, code fault.Code) Problem {
	w.t.Helper()
	var p Problem
	w.decode(rec, status, &p)
	if p.Code != string(code) || p.Status != status || p.Type != typePrefix+string(code) || p.Title == "" {
		w.t.Errorf("%+v", p)
	}
	if got := rec.Header().Get("Content-Type"); got != problemType {
		w.t.Errorf("Content-Type %s", got)
	}
	if strings.Contains(rec.Body.String(), "2025550143") {
		w.t.Errorf("an error repeats a number: %s", rec.Body)
	}
	return p
}

func pointers(p Problem) []string {
	var all []string
	for _, f := range p.Errors {
		all = append(all, f.Pointer+f.Parameter)
	}
	slices.Sort(all)
	return all
}

func sampleDecision() intent.Decision {
	return intent.Decision{
		ID: ident.Decision{1, 2, 3}, At: clock.FromTime(epoch), Action: intent.Allow, Class: intent.NewIntent,
		Reason: intent.ReasonNoEquivalent, Rule: "order_confirmation.window", PolicyID: "builtin@1", Mode: policy.Enforce,
		Explanation: `No message for the same "key" is known.`, WindowEnds: clock.FromTime(epoch.Add(time.Hour)),
		Message: intent.Snapshot{ID: ident.Message{9}, State: message.Pending},
	}
}

func sampleMessage() *store.Message {
	reference := int32(17)
	return &store.Message{
		ID: ident.Message{9}, Tenant: tenantA, Decision: ident.Decision{1, 2, 3}, CreatedAt: clock.FromTime(epoch),
		Purpose: "order_confirmation", Kind: "confirmation", PolicyID: "builtin@1", Destination: number, Sender: "SHOP",
		Event: intent.Event{Type: "order", ID: "A-1", Version: "1"}, Connection: 1, IntentKey: intent.Key{0xab},
		ValidUntil: clock.FromTime(epoch.Add(time.Hour)), State: message.Delivered, Since: clock.FromTime(epoch.Add(2 * time.Second)), Final: true,
		Attempts: []store.Attempt{{
			Node: ident.Node{1},
			Attempt: evidence.Attempt{
				Attempt: 1, Part: 1, Outcome: message.OutcomeAccepted, Delivery: message.DeliveryDelivered, ExternalID: []byte("A1B2"),
				Reference: reference, AnsweredAt: clock.FromTime(epoch.Add(time.Second)), StatusRaw: "DELIVRD", ErrorCode: "000",
				DeliveredAt: clock.FromTime(epoch.Add(2 * time.Second)),
			},
			Connection: 1, OpenedAt: clock.FromTime(epoch.Add(500 * time.Millisecond)), Receipt: true,
			SourceSent: "5/0 SHOP", DestinationSent: "1/1 12025550143",
		}},
	}
}

var _ http.Handler = (*API)(nil)
