package api

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// ids are what a route's {id} stands for.
func (o *household) ids() map[string]string {
	return map[string]string{
		"messages": o.message.String(), "decisions": o.decision, "receipts": o.receipt, "exceptions": o.exception, "keys": o.victim, "stops": o.stop,
		"users": o.user, "guests": o.guest, "numbers": o.lease, "webhooks": o.webhook, "deliveries": o.delivery,
	}
}

// path fills a route's path with the tenant's own id.
func (o *household) path(r Route) string {
	id := o.ids()[strings.Split(r.Path, "/")[2]]
	return strings.Replace(r.Path, "{id}", id, 1)
}

// questions are the filters of each list by which somebody's things can be asked for.
func (h *house) questions(o *household) map[string][]string {
	m, err := h.store.Message(h.t.Context(), o.id, o.message)
	must(h.t, err)
	about := "message=" + o.message.String()
	return map[string][]string{
		"/v1/messages": {
			"", "to=" + url.QueryEscape(number), "event=A-1", "state=delivered", "purpose=order_confirmation", "idempotency_key=k",
			"correlation_id=correlation-" + o.name, "external_id=" + o.externalID(), "deduplication_key=" + hex.EncodeToString(m.IntentKey[:]),
		},
		"/v1/decisions": {"", about}, "/v1/receipts": {"", about}, "/v1/exceptions": {"", about, "state=open", "kind=conflicting", "connection=simulator"},
		"/v1/events": {""}, "/v1/keys": {""}, "/v1/stops": {"", "in_force=true"},
		"/v1/users": {""}, "/v1/guests": {""}, "/v1/senders": {""}, "/v1/numbers": {""}, "/v1/webhooks": {""},
	}
}

// hides fails if an answer holds anything of a tenant.
func (h *house) hides(rec *httptest.ResponseRecorder, what string, foreign *household) {
	h.t.Helper()
	for _, mark := range foreign.marks() {
		if strings.Contains(rec.Body.String(), mark) {
			h.t.Errorf("%s shows %s of another tenant: %s", what, mark, rec.Body)
		}
	}
}

// The walk goes through every route that asks for a key, over the store itself: its filters are what is proved.
// Each tenant sees its own things, so that an empty answer proves nothing, and nothing of any other's.
//
// covers: I15
func TestTenantsSeeTheirOwnAloneOverTheStore(t *testing.T) {
	onEveryStore(t, walkTenants)
}

func walkTenants(_ *testing.T, h *house) {
	all := []*household{h.household("installation"), h.household("second"), h.household("third")}
	for _, who := range all {
		for _, foreign := range all {
			if who != foreign {
				h.walk(who, foreign)
			}
		}
	}
	h.walkEverybodys(all)
	for _, o := range all {
		h.untouched(o)
	}
}

// walkEverybodys asks for the exceptions of all tenants: those who run the installation see them, with whose they are.
func (h *house) walkEverybodys(all []*household) {
	h.t.Helper()
	const path = "/v1/exceptions?all_tenants=true"
	operator := all[slices.IndexFunc(all, func(o *household) bool { return o.id == store.Installation })]
	body := h.call("GET", path, operator.key, "").Body.String()
	for _, o := range all {
		var page List[ExceptionView]
		must(h.t, json.Unmarshal([]byte(body), &page))
		i := slices.IndexFunc(page.Data, func(x ExceptionView) bool { return x.ID == o.exception })
		if names, err := h.store.TenantNames(h.t.Context()); i < 0 || err != nil || page.Data[i].Tenant != names[o.id] {
			h.t.Errorf("the exception of %s is not listed as its own: %v %s", o.name, err, body)
		}
		keys := []string{h.key(o, "review", time.Hour).Text()}
		if o != operator {
			keys = append(keys, o.key)
		}
		for _, key := range keys {
			if rec := h.call("GET", path, key, ""); rec.Code != http.StatusNotFound {
				h.t.Errorf("a key of %s lists what is everybody's: %d %s", o.name, rec.Code, rec.Body)
			}
		}
	}
	if rec := h.call("GET", path+"&state=dismissed", operator.key, ""); rec.Code != http.StatusBadRequest {
		h.t.Errorf("resolved ones of everybody: %d %s", rec.Code, rec.Body)
	}
}

// walk calls every route with a tenant's key, for its own things and for the other's.
func (h *house) walk(who, foreign *household) {
	h.t.Helper()
	events, err := h.store.Events(h.t.Context(), who.id, foreign.message, 0, 10)
	if err != nil || len(events) > 0 {
		h.t.Errorf("%d events of another tenant, which no route asks for alone: %v", len(events), err)
	}
	for _, r := range h.api.Routes() {
		switch {
		case r.Scope == "", strings.HasPrefix(r.Path, "/v1/tenants"), strings.HasPrefix(r.Path, "/v1/connections"), r.Path == "/v1/routes": // those are TestEveryRouteByEveryKey's
		case strings.HasPrefix(r.Path, "/v1/policies"):
			h.walkPolicies(r, who)
		case strings.Contains(r.Path, "{id}"):
			h.walkByID(r, who, foreign)
		case strings.Contains(r.Path, "{number}"):
			h.walkPhone(r, who)
		case r.Path == "/v1/receipts/replay":
			h.walkReplay(r, who)
		case strings.HasPrefix(r.Path, "/v1/wallet"), r.Path == "/v1/prices":
			h.walkMoney(r, who, foreign)
		case r.Path == "/v1/restored":
			h.walkRestored(r, who)
		case r.Method == "GET" && r.Path == "/v1/exception-groups":
			h.walkGroups(who)
		case r.Method == "GET":
			h.walkList(r, who, foreign)
		default:
			rec := h.call(r.Method, r.Path, who.key, h.fill(writes(r, who)))
			h.hides(rec, r.Method+" "+r.Path, foreign)
			if rec.Code >= 300 {
				h.t.Errorf("%v: %d %s", r, rec.Code, rec.Body)
			}
		}
	}
}

// writes are valid bodies: that of a submission is the tenant's own, again.
func writes(r Route, o *household) string {
	if r.Method == "POST" && r.Path == "/v1/messages" {
		return o.body()
	}
	if r.Method == "POST" && r.Path == "/v1/messages/batch" {
		return `{"messages":[` + o.body() + `]}`
	}
	c, _ := caseOf(r)
	return c.body
}

// walkByID asks for the other's thing, and, where that changes nothing, for the own one.
func (h *house) walkByID(r Route, who, foreign *household) {
	h.t.Helper()
	rec := h.call(r.Method, foreign.path(r), who.key, writes(r, who))
	if rec.Code != 404 {
		h.t.Errorf("%v of another tenant: %d %s", r, rec.Code, rec.Body)
	}
	if r.Method != "GET" {
		return
	}
	rec = h.call("GET", who.path(r), who.key, "")
	h.hides(rec, r.Path, foreign)
	if id := who.ids()[strings.Split(r.Path, "/")[2]]; rec.Code != 200 || !strings.Contains(rec.Body.String(), id) {
		h.t.Errorf("%v: %d without its own: %s", r, rec.Code, rec.Body)
	}
}

// walkPolicies asks for what is the installation's own: other tenants neither see policies nor change them.
func (h *house) walkPolicies(r Route, who *household) {
	h.t.Helper()
	want := map[bool]int{true: 200, false: 404}[who.name == "installation"]
	body := ""
	if r.Method == "POST" {
		body, want = `{"source":"policy: mine"}`, map[int]int{200: 400, 404: 404}[want] // the file is looked at, or not
	}
	rec := h.call(r.Method, strings.Replace(r.Path, "{id}", "builtin@1", 1), who.key, body)
	if rec.Code != want {
		h.t.Errorf("%v for %s: %d %s", r, who.name, rec.Code, rec.Body)
	}
}

// walkPhone asks for a handset of the simulated carrier, which the installation's own tenant alone may see.
func (h *house) walkPhone(r Route, who *household) {
	h.t.Helper()
	want := map[bool]int{true: 200, false: 404}[who.name == "installation"]
	rec := h.call(r.Method, strings.Replace(r.Path, "{number}", number, 1), who.key, bodies[r.Method+" "+r.Path])
	if rec.Code != want || strings.Contains(rec.Body.String(), "secret") != (want == 200 && r.Method == "GET") {
		h.t.Errorf("%v for %s: %d %s", r, who.name, rec.Code, rec.Body)
	}
}

// walkRestored asks for what a restore left in doubt, which is those alone who run the installation to know. Nothing
// waits for them here, so that there is nothing to release.
func (h *house) walkRestored(r Route, who *household) {
	h.t.Helper()
	want := 404
	if who.name == "installation" {
		want = map[string]int{"GET": 200, "POST": 409}[r.Method]
	}
	if rec := h.call(r.Method, r.Path, who.key, bodies[r.Method+" "+r.Path]); rec.Code != want {
		h.t.Errorf("%v for %s: %d %s", r, who.name, rec.Code, rec.Body)
	}
}

// walkReplay reads the log again, which belongs to those who run the installation. Here nobody can open its payloads.
func (h *house) walkReplay(r Route, who *household) {
	h.t.Helper()
	want := map[bool]int{true: 200, false: 404}[who.name == "installation"]
	if rec := h.call(r.Method, r.Path, who.key, bodies[r.Method+" "+r.Path]); rec.Code != want {
		h.t.Errorf("%v for %s: %d %s", r, who.name, rec.Code, rec.Body)
	}
}

// walkGroups asks for the counts of exceptions: each tenant has one of its own.
func (h *house) walkGroups(who *household) {
	h.t.Helper()
	var l List[ExceptionGroupView]
	(&world{t: h.t}).decode(h.call("GET", "/v1/exception-groups", who.key, ""), 200, &l)
	if len(l.Data) != 1 || l.Data[0].Count != 1 || l.Data[0].Open != 1 {
		h.t.Errorf("%s has the groups %+v", who.name, l.Data)
	}
}

// walkList asks for everything, then by each filter for the own things and for the other's.
func (h *house) walkList(r Route, who, foreign *household) {
	h.t.Helper()
	own, others := h.questions(who)[r.Path], h.questions(foreign)[r.Path]
	if len(own) == 0 {
		h.t.Errorf("%v is a list without a question in this test", r)
	}
	for i, query := range own {
		rec := h.call("GET", r.Path+"?"+query, who.key, "")
		h.hides(rec, r.Path+"?"+query, foreign)
		holds := func(mark string) bool { return strings.Contains(rec.Body.String(), mark) }
		if rec.Code != 200 || !slices.ContainsFunc(who.marks(), holds) {
			h.t.Errorf("%v?%s: %d without its own: %s", r, query, rec.Code, rec.Body)
		}
		if others[i] != query {
			rec = h.call("GET", r.Path+"?"+others[i], who.key, "")
			h.hides(rec, r.Path+"?"+others[i], foreign)
		}
	}
}

// untouched checks that nobody ended the tenant's key or moved its message.
func (h *house) untouched(o *household) {
	h.t.Helper()
	k, err := h.store.Key(h.t.Context(), o.keyID)
	must(h.t, err)
	m, err := h.store.Message(h.t.Context(), o.id, o.message)
	must(h.t, err)
	events, err := h.store.Events(h.t.Context(), o.id, o.message, 0, 10)
	must(h.t, err)
	if k.RevokedAt != 0 || m.State.String() != "delivered" || len(events) != 4 {
		h.t.Errorf("%s: %+v, %s, %d events", o.name, k, m.State, len(events))
	}
}

// A message that waits could be cancelled: a stranger's wish to do so finds nothing.
//
// covers: I15
func TestAStrangerCancelsNothingOverTheStore(t *testing.T) {
	h := newHouse(t)
	owner, stranger := h.household("owner"), h.household("stranger")
	rec := h.call("POST", "/v1/messages", owner.key, strings.Replace(owner.body(), "A-1", "A-2", 1))
	var answer submitAnswer
	(&world{t: t}).decode(rec, 201, &answer)
	var waits ident.Message
	must(t, waits.UnmarshalText([]byte(answer.Message.ID)))
	cancel := func(key string) int {
		return h.call("POST", "/v1/messages/"+waits.String()+"/cancel", key, `{"reason":"mistake"}`).Code
	}
	if got := cancel(stranger.key); got != 404 {
		t.Errorf("a stranger: %d", got)
	}
	m, err := h.store.Message(t.Context(), owner.id, waits)
	must(t, err)
	if m.State.String() != "pending" {
		t.Errorf("a stranger made it %s", m.State)
	}
	if got := cancel(owner.key); got != 200 {
		t.Errorf("its owner: %d", got)
	}
}

// A receipt that matched nothing is nobody's: the installation's own tenant alone sees it.
//
// covers: I15
func TestUnmatchedReceiptsAreTheInstallationsOverTheStore(t *testing.T) {
	h := newHouse(t)
	installation, other := h.household("installation"), h.household("other")
	nobody := &household{name: "nobody"}
	n := h.receipt(nobody, "delivered")
	n.GraceOver = true
	h.settle(n)
	for _, path := range []string{"/v1/receipts", "/v1/exceptions"} {
		id := n.Receipt.ID.String()
		if rec := h.call("GET", path, installation.key, ""); !strings.Contains(rec.Body.String(), id) {
			t.Errorf("%s hides it from those who run the gateway: %s", path, rec.Body)
		}
		if rec := h.call("GET", path, other.key, ""); strings.Contains(rec.Body.String(), id) {
			t.Errorf("%s shows it to a tenant: %s", path, rec.Body)
		}
	}
	if rec := h.call("GET", "/v1/receipts/"+n.Receipt.ID.String(), other.key, ""); rec.Code != 404 {
		t.Errorf("%d", rec.Code)
	}
}
