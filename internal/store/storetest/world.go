package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// world is a store with a tenant, a connection and a policy.
type world struct {
	store.Store
	t      *testing.T
	h      Harness
	tenant ident.Partition
	conn   int64
	space  int64
	flow   int64
	node   ident.Node
	rules  store.Rules
	payers []*purse // of hot rounds; nil: nobody pays
}

const policySource = `policy: test
version: 1
purposes:
  order: {kind: confirmation, key: [event.id, event.version, sender], window: {while: [delivered, undelivered], at_most: 30d}}
  brief: {kind: alert, key: [event.id], window: 2s}
  bound: {kind: confirmation, key: [event.id], window: {while: [delivered], at_most: 2s}}
  code: {kind: authentication, key: [event.id, event.version], window: {while: [], at_most: 10m}, on_other_text: allow}
`

func newWorld(t *testing.T, h Harness) *world {
	t.Helper()
	return worldOn(t, h, h.Open(t))
}

// worldOn is a world on a store that is new.
func worldOn(t *testing.T, h Harness, s store.Store) *world {
	t.Helper()
	w := worldAgain(t, h, s)
	w.put("test", 1, policySource)
	return w
}

// worldAgain is a world on a store that has been one.
func worldAgain(t *testing.T, h Harness, s store.Store) *world {
	t.Helper()
	w := &world{Store: s, t: t, h: h, node: ident.NewNode()}
	w.rules = store.Rules{Correlate: evidence.Correlate, Grace: 15 * time.Minute, LookBack: 72 * time.Hour}
	ctx := context.Background()
	var err error
	w.tenant, err = s.EnsureTenant(ctx, "default")
	must(t, err)
	w.conn, w.space, err = s.EnsureConnection(ctx, "carrier", "")
	must(t, err)
	w.flow, err = s.EnsureFlow(ctx, store.FlowSpec{Connection: w.conn, Lane: 1, Tenant: w.tenant, Sender: "SHOP"})
	must(t, err)
	return w
}

// put brings a version of a policy, which has to come into force.
func (w *world) put(name string, version int, source string) {
	w.t.Helper()
	changed, err := w.PutPolicy(context.Background(), store.PolicyVersion{Name: name, Version: version, Source: []byte(source), By: "ann"}, policy.Succeed)
	must(w.t, err)
	if !changed {
		w.t.Fatalf("%s@%d did not come into force", name, version)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func purpose(t testing.TB, name string) policy.Purpose {
	t.Helper()
	p, errs := policy.Parse("test.yaml", []byte(policySource))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return p.Purposes[name]
}

func key(form []byte) intent.Key {
	sum := sha256.Sum256(form)
	return intent.Key(sum[:16])
}

// ask describes a request.
type ask struct {
	purpose, event, version, text, idempotency string
	to                                         int // last digits of the number
	tenant                                     ident.Partition
	validFor                                   time.Duration
	policy                                     string // "": test@1
	ownKey                                     []byte
	parts                                      int                   // 0: 1
	change                                     func(*intent.Request) // before the keys are made
	flow                                       int64                 // 0: the world's
}

// submission makes a request of an ask; its ids are new.
func (w *world) submission(a ask) store.Submission {
	w.t.Helper()
	if a.purpose == "" {
		a.purpose = "order"
	}
	if a.text == "" {
		a.text = "Your order is confirmed."
	}
	if a.tenant == 0 {
		a.tenant = w.tenant
	}
	if a.policy == "" {
		a.policy = "test@1"
	}
	if a.validFor == 0 {
		a.validFor = time.Hour
	}
	if a.flow == 0 {
		a.flow = w.flow
	}
	to, err := phone.Parse(number(a.to), "")
	must(w.t, err)
	r := &intent.Request{
		Decision: ident.NewDecision(a.tenant), Message: ident.NewMessage(a.tenant), Tenant: a.tenant, PolicyID: a.policy,
		Purpose: purpose(w.t, a.purpose), To: to, Event: intent.Event{Type: "order", ID: a.event, Version: a.version},
		Sender: "SHOP", ValidFor: a.validFor, Text: layout(a.parts),
	}
	if a.change != nil {
		a.change(r)
	}
	r.TextKey = key(intent.TextForm(r, a.text))
	r.Keys.Intent = key(intent.KeyForm(r.Purpose, r))
	if r.Purpose.OnOtherText == policy.OtherTextAllow {
		r.Keys.Variant = key(intent.VariantForm(r.Keys.Intent, r.TextKey))
	}
	if a.idempotency != "" {
		r.Idempotency = intent.Idempotency{
			Key:         key(intent.IdempotencyForm(uint64(a.tenant), "POST /v1/messages", a.idempotency)),
			Fingerprint: intent.TakeFingerprint(key, map[string][]byte{"text": []byte(a.text), "purpose": []byte(a.purpose), "event": []byte(a.event + "/" + a.version)}),
		}
	}
	r.Connection = w.conn
	return store.Submission{Request: r, Flow: a.flow, Content: []byte("sealed"), OwnKey: a.ownKey, OwnKeyFor: time.Second, Caller: "key1"}
}

// layout is how a text of so many parts is cut.
func layout(parts int) message.Layout {
	if parts < 2 {
		return message.Layout{Parts: 1}
	}
	return message.Layout{Parts: parts, DataCoding: gsm.CodingUCS2, JoinedBy: "udh8"}
}

// number is a number of a range that is kept for fiction, and so is nobody's.
func number(n int) string { return fmt.Sprintf("+120255501%02d", n%100) }

// decide decides asks in one batch.
func (w *world) decide(asks ...ask) []store.Decided {
	w.t.Helper()
	subs := make([]store.Submission, len(asks))
	for i, a := range asks {
		subs[i] = w.submission(a)
	}
	out, err := w.Decide(context.Background(), subs, intent.Decide)
	must(w.t, err)
	for _, d := range out {
		must(w.t, d.Err)
	}
	return out
}

// taken makes one message and returns its id.
func (w *world) taken(a ask) ident.Message {
	w.t.Helper()
	d := w.decide(a)[0].Decision
	if d.Action != intent.Allow {
		w.t.Fatalf("the request was not allowed but %s: %s", d.Action, d.Reason)
	}
	return d.Message.ID
}

// claim takes up to n messages of the world's connection.
func (w *world) claim(n int) []store.Claimed {
	w.t.Helper()
	claims, err := w.Claim(context.Background(), w.claimSpec(n))
	must(w.t, err)
	return claims.Taken
}

func (w *world) claimSpec(n int) store.ClaimSpec {
	return store.ClaimSpec{Node: w.node, Connection: w.conn, Room: flow.Room{All: n, Lower: n}, Lease: 2 * time.Second}
}

func (w *world) open(claims []store.Claimed) []store.Opened {
	w.t.Helper()
	opened, err := w.OpenAttempts(context.Background(), w.openSpec(), claims)
	must(w.t, err)
	return opened
}

func (w *world) openSpec() store.OpenSpec {
	return store.OpenSpec{Node: w.node, Connection: w.conn, IDSpace: w.space, WithReference: true, AnswerBy: 10 * time.Second}
}

// attempt takes a message to an open attempt.
func (w *world) attempt(a ask) store.Opened {
	w.t.Helper()
	w.taken(a)
	opened := w.open(w.claim(1))
	if len(opened) != 1 {
		w.t.Fatalf("%d attempts were opened, want 1", len(opened))
	}
	return opened[0]
}

// outcome is the news of an answer.
func (w *world) outcome(o store.Opened, kind message.Outcome, externalID string) store.News {
	n := store.News{IDSpace: w.space, Connection: w.conn, Reference: o.Reference}
	n.Evidence = evidence.Evidence{Kind: evidence.Outcome, Message: o.Message, Attempt: o.Attempt, Part: o.Part, Outcome: kind}
	if kind == message.OutcomeAccepted {
		n.Code = "0x00000000"
	}
	if externalID != "" {
		n.ExternalID = []byte(externalID)
	}
	return n
}

// receipt logs a receipt and returns it as news.
func (w *world) receipt(externalID string, ref int32, state string, to int) store.News {
	w.t.Helper()
	r, n := w.call(externalID, ref, state, to)
	must(w.t, w.LogReceipts(context.Background(), []*store.LoggedReceipt{r}, 5*time.Second))
	return n
}

// call is a receipt that is not stored yet, and its news.
func (w *world) call(externalID string, ref int32, state string, to int) (*store.LoggedReceipt, store.News) {
	w.t.Helper()
	r := &store.LoggedReceipt{
		ID: ident.NewReceipt(0), Connection: w.conn, IDSpace: w.space, Kind: "receipt", Payload: []byte("sealed"),
		ExternalID: []byte(externalID), Reference: ref, Status: state, State: state, Source: number(to)[1:], Parser: "test/1",
	}
	r.EventKey = key(fmt.Appendf(nil, "%s/%d/%s", externalID, ref, state))
	n := store.NewsOf(r)
	n.Receipt.EchoDeclared = true
	n.HandsetE164 = number(to)
	return r, n
}

func (w *world) settle(news ...store.News) []store.Settled {
	w.t.Helper()
	out, err := w.Settle(context.Background(), news, w.rules)
	must(w.t, err)
	return out
}

// state asserts a message's state.
func (w *world) state(id ident.Message, want message.State) *store.Message {
	w.t.Helper()
	m, err := w.Message(context.Background(), id.Partition(), id)
	must(w.t, err)
	if m.State != want {
		w.t.Fatalf("the message is %s, want %s", m.State, want)
	}
	return m
}

func (w *world) exceptions(want ...string) []*store.ExceptionView {
	w.t.Helper()
	all, err := w.Exceptions(context.Background(), w.tenant, store.ExceptionFilter{}, store.Page{Limit: 100})
	must(w.t, err)
	var kinds []string
	for _, x := range all {
		kinds = append(kinds, string(x.Kind))
	}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		w.t.Fatalf("the exceptions are %v, want %v", kinds, want)
	}
	return all
}

func (w *world) advance(d time.Duration) { w.h.Advance(w.t, w.Store, d) }
