package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// fakeResolver resolves the exceptions of a fake store.
type fakeResolver struct {
	store *fakeStore
	got   []store.Resolution
	group receipt.Group
	words []receipt.Word

	replays  []receipt.Replay
	replayed receipt.Replayed
	err      error
}

func (f *fakeResolver) Resolve(ctx context.Context, r store.Resolution) error {
	f.got = append(f.got, r)
	x, err := f.store.Exception(ctx, r.Tenant, r.Exception)
	if err == nil && f.err == nil {
		x.State, x.Resolution = exception.Actions[r.Action], exception.Resolution{At: clock.FromTime(epoch), By: r.Person, Reason: r.Reason, To: r.To}
	}
	if err == nil {
		err = f.err
	}
	return err
}

func (f *fakeResolver) Declare(_ context.Context, w receipt.Word) error {
	f.words = append(f.words, w)
	return f.err
}

func (f *fakeResolver) Replay(_ context.Context, what receipt.Replay) (receipt.Replayed, error) {
	f.replays = append(f.replays, what)
	return f.replayed, f.err
}

func (f *fakeResolver) ResolveGroup(_ context.Context, g receipt.Group, a exception.Action, person, reason string) (int, []error, error) {
	f.group = g
	f.got = append(f.got, store.Resolution{Action: a, Person: person, Reason: reason})
	if f.err != nil {
		return 3, []error{f.err}, nil
	}
	return 4, nil, nil
}

// covers: R6
func TestAnExceptionIsResolved(t *testing.T) {
	w := newWorld(t)
	w.fill()
	x := w.store.exceptions[0]
	path := "/v1/exceptions/" + x.ID.String()
	var v ExceptionView
	w.get(path, 200, &v)
	if !v.Open || v.State != "open" || v.Resolution != nil || !slices.Equal(v.Actions, []string{"attach", "dismiss", "reread"}) {
		t.Errorf("before: %+v", v)
	}
	body := fmt.Sprintf(`{"action":"attach","message":"%s","attempt":1,"part":1,"state":"undelivered","by":" ann ","reason":"the carrier confirmed it"}`, w.store.message.ID)
	w.decode(w.call("POST", path+"/resolve", w.key(tenantA, "review"), body), 200, &v)
	want := store.Resolution{
		Exception: x.ID, Tenant: tenantA, Action: exception.Attach, Person: "ann (key checkout review)", Reason: "the carrier confirmed it",
		To: exception.Part{Message: w.store.message.ID, Attempt: 1, Part: 1}, State: "undelivered",
	}
	if len(w.resolver.got) != 1 || w.resolver.got[0] != want {
		t.Errorf("resolved as %+v", w.resolver.got)
	}
	if v.Open || v.State != "attached" || len(v.Actions) != 0 || v.Resolution.To.Message != w.store.message.ID.String() || *v.Resolution.By != want.Person {
		t.Errorf("after: %+v, %+v", v, v.Resolution)
	}
	w.resolver.err = fault.New(fault.State, "this exception was resolved before: attached by ann")
	if p := w.problem(w.call("POST", path+"/resolve", w.admin, `{"action":"dismiss","by":"bob","reason":"r"}`), 409, fault.State); !strings.Contains(p.Detail, "attached by ann") {
		t.Errorf("%+v", p)
	}
}

// What belongs to nobody's message may be given to any tenant's by whoever runs the installation, and by nobody else.
//
// covers: I15
func TestWhoMayAttachAnywhere(t *testing.T) {
	w := newWorld(t)
	w.fill()
	path := "/v1/exceptions/" + w.store.exceptions[0].ID.String() + "/resolve"
	for name, c := range map[string]struct {
		tenant ident.Partition
		scopes string
		want   bool
	}{"the installation's admin": {store.Installation, "admin", true}, "its reviewer": {store.Installation, "review", false}, "another tenant": {tenantA, "admin", false}} {
		w.resolver.got = nil
		w.call("POST", path, w.key(c.tenant, c.scopes), `{"action":"dismiss","by":"ann","reason":"r"}`)
		if len(w.resolver.got) != 1 || w.resolver.got[0].Anywhere != c.want || w.resolver.got[0].Tenant != c.tenant {
			t.Errorf("%s: %+v", name, w.resolver.got)
		}
	}
}

func TestWrongResolutions(t *testing.T) {
	w := newWorld(t)
	w.fill()
	path := "/v1/exceptions/" + w.store.exceptions[0].ID.String() + "/resolve"
	for body, want := range map[string][]string{
		"":   {"#/action", "#/by", "#/reason"},
		"{}": {"#/action", "#/by", "#/reason"},
		`{"action":"delete","by":"a","reason":"r"}`:                                           {"#/action"},
		`{"action":"dismiss","by":"a","reason":"  "}`:                                         {"#/reason"},
		`{"action":"dismiss","by":"a\u202e","reason":"r"}`:                                    {"#/by"},
		`{"action":"dismiss","by":"a","reason":"r","state":"delivered"}`:                      {"#/action"},
		`{"action":"attach","by":"a","reason":"r","message":"4711"}`:                          {"#/message"},
		`{"action":"attach","by":"a","reason":"r","message":"msg_` + zeros + `"}`:             {"#/message"},
		`{"action":"attach","by":"a","reason":"r","attempt":2}`:                               {"#/message"},
		`{"action":"attach","by":"a","reason":"r","message":"` + msg + `","attempt":0}`:       {"#/attempt"},
		`{"action":"attach","by":"a","reason":"r","message":"` + msg + `","part":70000}`:      {"#/part"},
		`{"action":"attach","by":"a","reason":"r","state":"failed"}`:                          {"#/state"},
		`{"action":"attach","by":"a","reason":"r","to":"` + msg + `"}`:                        {"#/to"},
		`{"action":"attach","by":"` + strings.Repeat("a", longestShown+1) + `","reason":"r"}`: {"#/by"},
	} {
		p := w.problem(w.call("POST", path, w.admin, body), 400, fault.Invalid)
		if got := pointers(p); !slices.Equal(got, want) {
			t.Errorf("%s: %v", body, p.Errors)
		}
	}
	if len(w.resolver.got) != 0 {
		t.Errorf("something was resolved: %+v", w.resolver.got)
	}
}

const (
	msg   = "msg_09000000000000000000000000000000"
	zeros = "00000000000000000000000000000000"
)

// An id of zeros is nobody's. It is not taken for one that was left out, which would mean any.
//
// covers: I13
func TestNobodysID(t *testing.T) {
	w := newWorld(t)
	w.fill()
	for _, list := range []string{"exceptions", "decisions", "receipts"} {
		p := w.problem(w.call("GET", "/v1/"+list+"?message=msg_"+zeros, w.admin, ""), 400, fault.Invalid)
		if got := pointers(p); !slices.Equal(got, []string{"message"}) || !strings.Contains(p.Errors[0].Detail, "nobody's") {
			t.Errorf("%s: %+v", list, p.Errors)
		}
	}
	for _, path := range []string{"messages/msg_", "exceptions/exc_", "receipts/rcp_", "decisions/dec_"} {
		w.problem(w.call("GET", "/v1/"+path+zeros, w.admin, ""), 404, fault.NotFound)
	}
}

// covers: R6
func TestGroupsAreListedAndResolved(t *testing.T) {
	w := newWorld(t)
	hour := clock.FromTime(epoch.Truncate(time.Hour))
	key := store.GroupKey{Hour: hour, Connection: 1, Kind: exception.Unmatched}
	w.store.groups = []store.ExceptionGroup{{GroupKey: key, Count: 1200, Open: 7}, {GroupKey: store.GroupKey{Hour: hour, Connection: 1, Kind: exception.Ambiguous}, Count: 1}}
	var l List[ExceptionGroupView]
	w.get("/v1/exception-groups?limit=1", 200, &l)
	if len(l.Data) != 1 || l.Data[0] != (ExceptionGroupView{Hour: "2026-12-31T10:00:00Z", Connection: "simulator", Kind: "unmatched", Count: 1200, Open: 7}) || l.Next == nil {
		t.Fatalf("%+v", l)
	}
	w.get("/v1/exception-groups?open=true&after="+*l.Next, 200, &l)
	if w.store.groupsAfter != key {
		t.Errorf("the next page goes on after %+v", w.store.groupsAfter)
	}
	w.problem(w.call("GET", "/v1/exception-groups?after=x", w.admin, ""), 400, fault.Invalid)
	ask := func(action string) string {
		return `{"connection":"simulator","kind":"unmatched","hour":"2026-12-31T10:00:00Z","action":"` + action + `","by":"ann","reason":"foreign receipts"}`
	}
	var v GroupResolvedView
	w.decode(w.call("POST", "/v1/exception-groups/resolve", w.admin, ask("dismiss")), 200, &v)
	if v.Resolved != 4 || v.Left != 7 || len(v.Failed) != 0 || w.resolver.group.GroupKey != key || w.resolver.group.Tenant != tenantA {
		t.Errorf("%+v of %+v", v, w.resolver.group)
	}
	w.resolver.err = fault.New(fault.State, "resolved before")
	w.decode(w.call("POST", "/v1/exception-groups/resolve", w.admin, ask("dismiss")), 200, &v)
	if v.Resolved != 3 || !slices.Equal(v.Failed, []string{"resolved before"}) {
		t.Errorf("%+v", v)
	}
	for body, want := range map[string][]string{
		"{}":          {"#/action", "#/by", "#/connection", "#/hour", "#/kind", "#/reason"},
		ask("attach"): {"#/action"},
		`{"connection":"x","kind":"y","hour":"z","action":"dismiss","by":"a","reason":"r"}`: {"#/connection", "#/hour", "#/kind"},
	} {
		if got := pointers(w.problem(w.call("POST", "/v1/exception-groups/resolve", w.admin, body), 400, fault.Invalid)); !slices.Equal(got, want) {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestFiltersOfExceptions(t *testing.T) {
	w := newWorld(t)
	w.fill()
	w.get("/v1/exceptions?state=dismissed&kind=unmatched&connection=simulator&hour=2026-12-31T10:00:00Z&message="+w.store.message.ID.String(), 200, &List[ExceptionView]{})
	want := store.ExceptionFilter{
		About: w.store.message.ID, State: exception.Dismissed, Kind: exception.Unmatched, Connection: 1, Hour: clock.FromTime(epoch),
	}
	if w.store.exceptionFilter != want {
		t.Errorf("%+v", w.store.exceptionFilter)
	}
	for query, place := range map[string]string{"state=closed": "state", "kind=x": "kind", "connection=x": "connection", "hour=now": "hour", "message=x": "message"} {
		if got := pointers(w.problem(w.call("GET", "/v1/exceptions?"+query, w.admin, ""), 400, fault.Invalid)); !slices.Equal(got, []string{place}) {
			t.Errorf("%s: %v", query, got)
		}
	}
}

// covers: R9
func TestTheLogIsReadAgain(t *testing.T) {
	w := newWorld(t)
	place := store.LogPlace{At: clock.FromTime(epoch), ID: ident.Receipt{7}}
	w.resolver.replayed = receipt.Replayed{
		LookedAt: 200, Changed: 3, Gone: 1, Effects: map[store.RereadEffect]int{store.RereadNothing: 196, store.RereadRebuilt: 2, store.RereadExcepted: 1}, Next: place,
		Changes: []store.Reread{
			{Receipt: ident.Receipt{4}, Changed: true, Effect: store.RereadRebuilt, Message: w.store.message.ID, From: message.Accepted, To: message.Undelivered},
			{Receipt: ident.Receipt{5}, Effect: store.RereadNothing, Err: fault.New(fault.Unavailable, "something else holds it")},
		},
	}
	ask := func(more string) string {
		return `{"connection":"simulator","by":"ann","reason":"FAILED is documented now"` + more + `}`
	}
	var v ReplayView
	w.decode(w.call("POST", "/v1/receipts/replay", w.admin, ask(`,"since":"2026-12-31T10:00:00Z","dry_run":true`)), 200, &v)
	if v.LookedAt != 200 || v.Changed != 3 || v.Gone != 1 || v.Effects["rebuilt"] != 2 || len(v.Changes) != 2 || !v.DryRun || v.Next == nil ||
		*v.Changes[0].Message != w.store.message.ID.String() || *v.Changes[0].From != "accepted" || *v.Changes[0].State != "undelivered" || v.Changes[1].Problem != "something else holds it" {
		t.Errorf("%+v", v)
	}
	w.resolver.replayed = receipt.Replayed{}
	w.decode(w.call("POST", "/v1/receipts/replay", w.admin, ask(`,"after":"`+*v.Next+`"`)), 200, &v)
	want := []receipt.Replay{
		{Connection: 1, From: store.LogPlace{At: clock.FromTime(epoch)}, Limit: replayBatch, Rereading: store.Rereading{Person: "ann (key checkout admin)", Reason: "FAILED is documented now", Dry: true}},
		{Connection: 1, From: place, Limit: replayBatch, Rereading: store.Rereading{Person: "ann (key checkout admin)", Reason: "FAILED is documented now"}},
	}
	if !slices.Equal(w.resolver.replays, want) || v.Next != nil || v.Changes == nil {
		t.Errorf("%+v, and then %+v", w.resolver.replays, v)
	}
	w.problem(w.call("POST", "/v1/receipts/replay", w.key(tenantB, "admin"), ask("")), 404, fault.NotFound)
	for body, places := range map[string][]string{
		"{}": {"#/by", "#/reason"}, ask(`,"since":"yesterday","after":"x"`): {"#/after", "#/since"},
		`{"connection":"x","by":"ann","reason":"r"}`: {"#/connection"},
	} {
		if got := pointers(w.problem(w.call("POST", "/v1/receipts/replay", w.admin, body), 400, fault.Invalid)); !slices.Equal(got, places) {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// covers: R9
func TestFormerReadings(t *testing.T) {
	w := newWorld(t)
	w.fill()
	id := w.store.receipts[0].ID
	var one OneReceiptView
	w.get("/v1/receipts/"+id.String(), 200, &one)
	if one.ID != id.String() || one.Readings == nil || len(one.Readings) != 0 {
		t.Errorf("a receipt that was read once: %+v", one)
	}
	before := store.Reading{Until: clock.FromTime(epoch), By: "ann", Reason: "FAILED is documented now"}
	before.Kind, before.Status, before.ErrorCode, before.Parser, before.ExternalID = "unreadable", "FAILED", "2025550143", "smpp-receipt/1", []byte("A1")
	before.Parsed = `{"problem":"no status"}`
	w.store.readings = map[ident.Receipt][]store.Reading{id: {before}}
	w.get("/v1/receipts/"+id.String(), 200, &one)
	want := ReadingView{
		Until: "2026-12-31T10:00:00Z", By: "ann", Reason: "FAILED is documented now", Kind: "unreadable", Status: "FAILED",
		ErrorCode: "•••0143", Problem: "no status", Parser: "smpp-receipt/1",
	}
	got := one.Readings[0]
	if got.State != nil || *got.ExternalID != "A1" {
		t.Errorf("%+v", got)
	}
	if got.ExternalID = nil; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
