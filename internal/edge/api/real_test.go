package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/engine/relay/deliver"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlite"
)

// opened is a store with what a test does past it.
type opened struct {
	store.Store
	driver, source string // of its database
	tables         string // the statement that names them
	// advance lets time pass on its clock.
	advance func(d time.Duration)
}

// stores are those over which the walks go that prove what one of them shows of whom.
var stores = map[string]func(t *testing.T) opened{"sqlite": embedded}

func onEveryStore(t *testing.T, test func(t *testing.T, h *house)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(t, houseOn(t, open(t))) })
	}
}

func embedded(t *testing.T) opened {
	t.Helper()
	moves, path := clock.NewManual(time.Now()), filepath.Join(t.TempDir(), "einmal.db")
	st, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Clock: moves, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	return opened{st, "sqlite", "file:" + path + "?mode=ro", `select name from sqlite_master where type = 'table'`, moves.Advance}
}

// house is an API over a store, as one gateway runs it.
type house struct {
	t      *testing.T
	api    *API
	store  store.Store
	opened opened
	clock  *clock.Manual // the API's
	serial int           // of names that nobody has
	conn   int64
	space  int64
	price  wallet.MicroUSD // of a part, for everybody
}

// newHouse is one over the embedded store.
func newHouse(t *testing.T) *house {
	t.Helper()
	return houseOn(t, embedded(t))
}

func houseOn(t *testing.T, st opened) *house {
	t.Helper()
	ctx, discard := context.Background(), slog.New(slog.DiscardHandler)
	h := &house{t: t, store: st, opened: st, clock: clock.NewManual(time.Now())}
	var err error
	h.conn, h.space, err = st.EnsureConnection(ctx, "simulator", "")
	must(t, err)
	sealer := secret.NewSealer([secret.KeySize]byte{2}, st)
	service := outbound.New(outbound.Config{
		Store: st, Identity: identity, Sealer: sealer, Clock: clock.System{}, Log: discard,
		Policy: store.PolicyVersion{Name: "builtin", Version: policy.Builtin().Version, Source: policy.BuiltinSource()},
		Route: func(context.Context, route.Question) (outbound.Connection, error) {
			return outbound.Connection{ID: h.conn}, nil
		},
		Simulated: func(int64) bool { return true }, Prices: func(ident.Partition, string) wallet.Offer { return wallet.Offer{{PerPart: h.price}} },
	})
	installation, err := st.EnsureTenant(ctx, "installation")
	must(t, err)
	phones := &fakePhones{}
	phones.add(number[1:], "SHOP", "a secret word")
	t.Cleanup(func() {
		service.Close()
		must(t, st.Close())
	})
	must(t, service.Start(ctx))
	h.api = New(Config{
		Store: st, Outbound: service, Contents: opener{outbound.NewContents(sealer)}, Identity: identity, Clock: h.clock,
		Ready: st.Ping, Simulated: func(int64) bool { return true }, DeliveredMeans: func(int64) string { return "" }, Phones: func() provider.Phones { return phones }, Installation: installation,
		Restore: restore.New(restore.Config{Store: st, Log: discard}), Held: st.Held, Changed: func(context.Context) {}, Connections: &fakeConnections{}, Metrics: telemetry.NewMetrics(), Log: discard,
		Webhooks: &deliver.Admin{
			Store: st, Secrets: deliver.Secrets{Sealer: sealer}, Poster: &deliver.Poster{Client: refusing, Secrets: deliver.Secrets{Sealer: sealer}},
		},
		Feed: &payload.Builder{Simulated: builder.Simulated, Metadata: func(ctx context.Context, id ident.Message, sealed []byte) (map[string]string, error) {
			return outbound.NewContents(sealer).Metadata(ctx, id, sealed, nil)
		}}, Delivering: func() {},
		Resolver: receipt.NewResolver(receipt.ResolverConfig{Store: st, Rules: rules, Again: receipt.Again{Sealer: sealer, Readers: func(int64) provider.Reader { return nil }}}),
	})
	return h
}

// advance lets time pass, for the API and for the store.
func (h *house) advance(d time.Duration) {
	h.clock.Advance(d)
	h.opened.advance(d)
}

var rules = store.Rules{Correlate: evidence.Correlate, Grace: time.Minute, LookBack: time.Hour}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// opener opens what is sealed under a tenant's key; the household has no message with a key of its own.
type opener struct{ sealed *outbound.Contents }

func (o opener) Metadata(ctx context.Context, m *store.Message) (map[string]string, error) {
	return o.sealed.Metadata(ctx, m.ID, m.Metadata, nil)
}

func (o opener) ToRaw(ctx context.Context, m *store.Message) (string, error) {
	c, err := o.sealed.Content(ctx, m.ID, m.Content, nil)
	return c.ToRaw, err
}

// household is a tenant with one thing of each kind.
type household struct {
	name      string
	id        ident.Partition
	key       string // of scope admin
	keyID     string
	message   ident.Message
	decision  string
	receipt   string // of the conflict
	exception string
	stop      string

	victim, user, guest, sender, lease string // keyID is the caller's own
	webhook                            string
	delivery                           string
}

// body is a request that differs between tenants in nothing that a key is made of.
func (o *household) body() string {
	return strings.Replace(ordinary, "{", `{"correlation_id":"correlation-`+o.name+`","metadata":{"basket":"basket-`+o.name+`"},`, 1)
}

func (o *household) externalID() string { return "external-" + o.name }

// marks are what nobody else may see: ids, and what the tenant and its provider wrote.
func (o *household) marks() []string {
	return []string{
		o.message.String(), o.decision, o.receipt, o.exception, o.keyID,
		"key-" + o.name, "correlation-" + o.name, "basket-" + o.name, o.externalID(),
		"ann-" + o.name, "reason-" + o.name, "-by-" + o.name, o.victim, o.user, o.guest, o.sender, o.lease, o.webhook, o.delivery, "hooks-" + o.name,
	}
}

// household makes a tenant with a message that was sent, accepted, delivered and then reported undelivered.
func (h *house) household(name string) *household {
	h.t.Helper()
	ctx := context.Background()
	o := &household{name: name}
	var err error
	if o.id, err = h.store.EnsureTenant(ctx, "installation"); name != "installation" {
		var made store.Tenant
		made, err = h.store.CreateTenant(ctx, store.Tenant{Name: name, Prepaid: true})
		o.id = made.ID
	}
	must(h.t, err)
	k := secret.NewAPIKey()
	o.key, o.keyID = k.Text(), k.ID
	_, err = h.store.PutKey(ctx, store.APIKey{ID: k.ID, Tenant: o.id, Name: "key-" + name, Scopes: "admin", Hash: identity.HashAPIKey(k)}, nil)
	must(h.t, err)
	var made NewWebhookView
	must(h.t, json.Unmarshal(h.call("POST", "/v1/webhooks", o.key, `{"url":"https://example.com/hooks-`+name+`"}`).Body.Bytes(), &made))
	o.webhook = made.ID
	h.take(o)
	opened := h.attempt(o)
	answer := store.News{IDSpace: h.space, Connection: h.conn, Reference: opened.Reference, Evidence: evidence.Evidence{
		Kind: evidence.Outcome, Message: opened.Message, Attempt: opened.Attempt, Part: opened.Part,
		Outcome: message.OutcomeAccepted, ExternalID: []byte(o.externalID()),
	}}
	h.settle(answer, h.receipt(o, "delivered"), h.receipt(o, "undelivered"))
	all, err := h.store.Exceptions(ctx, o.id, store.ExceptionFilter{About: o.message}, store.Page{Limit: 10})
	must(h.t, err)
	if len(all) != 1 {
		h.t.Fatalf("%d exceptions", len(all))
	}
	o.exception, o.receipt = all[0].ID.String(), all[0].Receipt.String()
	_, err = h.store.Sequence(ctx, 100)
	must(h.t, err)
	rec := h.call("POST", "/v1/stops", o.key, `{"purpose":"sale","by":"ann-`+name+`","reason":"reason-`+name+`"}`)
	var s NewStopView
	must(h.t, json.Unmarshal(rec.Body.Bytes(), &s))
	o.stop = s.ID
	h.furnish(o)
	var told List[DeliveryView]
	must(h.t, json.Unmarshal(h.call("GET", "/v1/webhooks/"+o.webhook+"/deliveries", o.key, "").Body.Bytes(), &told))
	o.delivery = told.Data[0].ID
	return o
}

// furnish gives the tenant a new one of each thing that is administered.
func (h *house) furnish(o *household) {
	h.t.Helper()
	ctx := context.Background()
	o.victim = h.key(o, "read", 0).ID
	u, err := h.store.CreateUser(ctx, store.User{ID: ident.NewUser(o.id), Tenant: o.id, Login: h.fill("NAME"), Role: "read"})
	must(h.t, err)
	g, _, err := h.store.CreateGuest(ctx, store.Guest{ID: ident.NewGuest(o.id), Tenant: o.id, Phone: h.fill("PHONE")})
	must(h.t, err)
	for range 2 { // the first one is the default, and stays
		o.sender = h.fill("sNAME-" + o.name[:2])
		_, _, err = h.store.PutSender(ctx, store.Sender{Tenant: o.id, Sender: o.sender})
		must(h.t, err)
	}
	if o.name != "installation" { // which has no wallet
		_, _, err = h.store.Pay(ctx, store.Payment{ID: ident.NewTransfer(o.id), Tenant: o.id, Amount: 5, Reference: h.fill("paid-NAME-by-" + o.name)})
		must(h.t, err)
	}
	l, err := h.store.LeaseNumber(ctx, store.Lease{ID: ident.NewLease(o.id), Tenant: o.id, Number: h.fill("PHONE")}, tenant.Lease)
	must(h.t, err)
	o.user, o.guest, o.lease = u.ID.String(), g.ID.String(), l.ID.String()
}

// take submits the tenant's request under an idempotency key that all tenants use.
func (h *house) take(o *household) {
	h.t.Helper()
	rec := h.call("POST", "/v1/messages", o.key, o.body(), idempotencyHeader, "k")
	var a submitAnswer
	must(h.t, json.Unmarshal(rec.Body.Bytes(), &a))
	if rec.Code != 201 || a.Decision.Action != "allow" || rec.Header().Get(replayedHeader) != "" {
		h.t.Fatalf("%s: %d %s", o.name, rec.Code, rec.Body)
	}
	must(h.t, o.message.UnmarshalText([]byte(a.Message.ID)))
	o.decision = *a.Decision.ID
}

func (h *house) attempt(o *household) store.Opened {
	h.t.Helper()
	ctx, node := context.Background(), ident.NewNode()
	claims, err := h.store.Claim(ctx, store.ClaimSpec{Node: node, Connection: h.conn, Room: flow.Room{All: 1, Lower: 1}, Lease: time.Minute})
	must(h.t, err)
	opened, err := h.store.OpenAttempts(ctx, store.OpenSpec{Node: node, Connection: h.conn, IDSpace: h.space, AnswerBy: time.Minute}, claims.Taken)
	must(h.t, err)
	if len(opened) != 1 || opened[0].Message != o.message {
		h.t.Fatalf("%d attempts were opened", len(opened))
	}
	return opened[0]
}

// receipt logs a receipt and returns it as news.
func (h *house) receipt(o *household, state string) store.News {
	h.t.Helper()
	r := &store.LoggedReceipt{
		ID: ident.NewReceipt(0), Connection: h.conn, IDSpace: h.space, Kind: "receipt", Payload: []byte("sealed"),
		ExternalID: []byte(o.externalID()), Reference: -1, Status: state, State: state, Source: number[1:], Parser: "test/1",
	}
	copy(r.EventKey[:], state+o.name)
	must(h.t, h.store.LogReceipts(context.Background(), []*store.LoggedReceipt{r}, time.Minute))
	return store.NewsOf(r)
}

func (h *house) settle(news ...store.News) {
	h.t.Helper()
	out, err := h.store.Settle(context.Background(), news, rules)
	must(h.t, err)
	for _, s := range out {
		must(h.t, s.Err)
	}
}

func (h *house) call(method, path, key, body string, headers ...string) *httptest.ResponseRecorder {
	return (&world{t: h.t, api: h.api}).call(method, path, key, body, headers...)
}
