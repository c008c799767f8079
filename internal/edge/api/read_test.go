package api

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// fill gives the message a history.
func (w *world) fill() {
	after := func(d time.Duration) clock.Micros { return clock.FromTime(epoch.Add(d)) }
	id, receipt := w.store.message.ID, ident.Receipt{4}
	yes := true
	repeat := sampleDecision()
	repeat.ID, repeat.At, repeat.Action, repeat.Class = ident.Decision{2}, after(3*time.Second), intent.Suppress, intent.TechnicalDuplicate
	repeat.Reason, repeat.SameText, repeat.PreviousState = "same_intent_delivered", &yes, message.Delivered
	w.store.decisions = []*store.Decision{
		{Decision: repeat, Tenant: tenantA, Destination: number, IdempotencyKey: intent.Key{0xcd}, Caller: "k"},
		{Decision: sampleDecision(), Tenant: tenantA, Destination: number},
	}
	w.store.events = []evidence.Event{
		{N: 1, At: after(0), Kind: evidence.EventTaken, To: message.Pending},
		{N: 2, At: after(time.Second), Kind: evidence.EventOutcome, From: message.Sending, To: message.Accepted, Attempt: 1, Part: 1,
			Detail: map[string]string{"outcome": "accepted", "external_id": "A1B2", "code": "0x00000000", "name": "ESME_ROK"}},
		{N: 3, At: after(2 * time.Second), Kind: evidence.EventReceipt, From: message.Accepted, To: message.Delivered, Attempt: 1, Part: 1, Receipt: receipt,
			Detail: map[string]string{"status": "DELIVRD", "state": "delivered", "match": "external_id"}},
		{N: 4, At: after(4 * time.Second), Kind: evidence.EventConflict, From: message.Delivered, To: message.Delivered, Attempt: 1, Part: 1, Receipt: receipt,
			Detail: map[string]string{"status": "UNDELIV", "state": "undelivered", "match": "external_id"}},
	}
	w.store.exceptions = []*store.ExceptionView{{Exception: exception.Exception{
		ID: ident.Exception{5}, Kind: exception.Conflicting, Tenant: tenantA, Connection: 1, At: after(4 * time.Second), Message: id,
		Attempt: 1, Part: 1, Receipt: receipt, Detail: "a receipt says undelivered after the part was reported delivered",
		State: exception.Open,
	}, GroupCount: 1}}
	w.store.receipts = []*store.LoggedReceipt{{
		ID: receipt, Connection: 1, Kind: "receipt", ExternalID: []byte{0, 1}, Reference: -1, Status: "DELIVRD", State: "delivered",
		Source: "12025550143", Dest: "SHOP", Parser: "smpp-receipt/1", Seq: 3, ReceivedAt: after(2 * time.Second),
		DoneDate: "2612311000", ErrorCode: "069",
		Parsed: `{"extra":{"network_error_code":"3/2050","to":"12025550143"},"warnings":["odd"],"done_at":"2026-12-31T10:00:00Z","error_meaning":"absent subscriber"}`,
	}}
	w.store.feed = []store.FeedEvent{{Seq: 41, Message: id, Event: w.store.events[2]}}
}

// covers: D16, R15
func TestMessageShowsItsFactsApart(t *testing.T) {
	w := newWorld(t)
	var m map[string]any
	rec := w.get("/v1/messages/"+w.store.message.ID.String(), 200, &m)
	for name, want := range map[string]any{
		"state": "delivered", "final": true, "parts": 1.0, "reported_delivery": "delivered", "verified": nil, "to": "+1202•••0143",
		"channel": "sms", "simulated": true, "decision": "dec_01020300000000000000000000000000", "created_at": "2026-12-31T10:00:00Z",
		"deduplication_key": "ab000000000000000000000000000000", "purpose": "order_confirmation",
	} {
		if got, there := m[name]; !there || got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	attempt := m["attempts"].([]any)[0].(map[string]any)
	for name, want := range map[string]any{
		"outcome": "accepted", "external_id": "A1B2", "reference": 17.0, "connection": "simulator", "reported_delivery": "delivered", "status": "DELIVRD",
		"source_sent": "5/0 SHOP", "destination_sent": "1/1 1202•••0143",
	} {
		if attempt[name] != want {
			t.Errorf("attempts[0].%s: %v", name, attempt[name])
		}
	}
	if strings.Contains(rec.Body.String(), "$schema") || m["metadata"].(map[string]any)["basket"] != "77" {
		t.Error(rec.Body)
	}
	w.problem(w.call("GET", "/v1/messages/msg_00000000000000000000000000000001", w.admin, ""), 404, fault.NotFound)
	w.problem(w.call("GET", "/v1/messages/12025550143", w.admin, ""), 404, fault.NotFound)
}

func TestMessagesAreFilteredAndPaged(t *testing.T) {
	w := newWorld(t)
	query := url.Values{
		"to": {"(202) 555-0143"}, "region": {"US"}, "event": {"A-1"}, "correlation_id": {"c"}, "idempotency_key": {"k"},
		"deduplication_key": {"ab000000000000000000000000000000"}, "external_id": {"0x0001"}, "state": {"en_route"}, "purpose": {"p"},
		"from": {"2026-12-31T10:00:00Z"}, "until": {"2026-12-31T12:00:00+01:00"}, "limit": {"2"},
	}
	var l List[MessageView]
	w.get("/v1/messages?"+query.Encode(), 200, &l)
	want := store.MessageFilter{
		Destination: number, EventID: "A-1", CorrelationID: "c", ExternalID: "\x00\x01", States: []message.State{message.EnRoute}, Purpose: "p",
		IntentKey: intent.Key{0xab}, IdempotencyKey: identity.Key(intent.IdempotencyForm(uint64(tenantA), sendOperation, "k")),
		From: clock.FromTime(epoch), Until: clock.FromTime(epoch.Add(time.Hour)),
	}
	if !reflect.DeepEqual(w.store.filter, want) {
		t.Errorf("%+v", w.store.filter)
	}
	if len(l.Data) != 2 || l.Next == nil || l.Data[0].To != number || l.Data[0].Attempts[0].DestSent != "1/1 12025550143" {
		t.Fatalf("%+v: a number that was searched for is shown whole", l)
	}
	var next List[MessageView]
	w.get("/v1/messages?after="+*l.Next, 200, &next)
	if next.Next != nil || next.Data == nil {
		t.Errorf("%+v", next)
	}
	w.get("/v1/messages?limit=5", 200, &l)
	if l.Data[0].To != "+1202•••0143" || l.Data[0].Attempts[0].DestSent != "1/1 1202•••0143" {
		t.Errorf("%+v", l.Data[0])
	}
}

func TestWrongQueriesAreRefused(t *testing.T) {
	w := newWorld(t)
	for query, parameter := range map[string]string{
		"stat=pending": "stat", "to=2025550143": "to", "to=%2B12025550143&to=x": "to", "state=gone": "state", "from=yesterday": "from",
		"after=xyz": "after", "limit=0": "limit", "limit=x": "limit", "limit=9999": "limit", "deduplication_key=12": "deduplication_key", "12025550143=1": "?",
	} {
		p := w.problem(w.call("GET", "/v1/messages?"+query, w.admin, ""), 400, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Parameter != parameter || p.Errors[0].Detail == "" {
			t.Errorf("%s: %+v", query, p)
		}
	}
}

// covers: D14, R9
func TestTimelineTellsTheWholeStoryInOrder(t *testing.T) {
	w := newWorld(t)
	w.fill()
	path := "/v1/messages/" + w.store.message.ID.String() + "/timeline"
	var all Timeline
	w.get(path, 200, &all)
	var kinds []string
	for _, line := range all.Data {
		kinds = append(kinds, line.Kind)
		if line.Summary == "" || strings.Contains(line.Summary, "%!") || strings.Contains(line.Summary, "2025550143") {
			t.Errorf("%s: %q", line.Kind, line.Summary)
		}
	}
	want := []string{"decision", "taken", "attempt", "outcome", "receipt", "decision", "conflict", "exception"}
	if !slices.Equal(kinds, want) || all.Next != nil {
		t.Fatalf("%v", kinds)
	}
	attempt, outcome, receipt, repeat, conflict := all.Data[2], all.Data[3], all.Data[4], all.Data[5], all.Data[6]
	if attempt.Attempt != 1 || *attempt.Reference != 17 || attempt.Connection != "simulator" ||
		outcome.Outcome != "accepted" || *outcome.ExternalID != "A1B2" || *outcome.State != "accepted" ||
		receipt.Match != "external_id" || receipt.Effect != "applied" || receipt.Status != "DELIVRD" || receipt.Reported != "delivered" ||
		repeat.Action != "suppress" || !strings.Contains(repeat.Summary, "not sent a second time") || conflict.Effect != "conflicting" {
		t.Errorf("%+v", all.Data)
	}
	var paged []TimelineView
	next := ""
	for {
		var page Timeline
		w.get(path+"?limit=3&after="+next, 200, &page)
		paged = append(paged, page.Data...)
		if page.Next == nil {
			break
		}
		next = *page.Next
	}
	if fmt.Sprint(len(paged), paged[3].Summary) != fmt.Sprint(len(all.Data), outcome.Summary) {
		t.Errorf("%d lines in pages", len(paged))
	}
	w.problem(w.call("GET", path+"?after=!", w.admin, ""), 400, fault.Invalid)
}

func TestDecisionsReceiptsExceptionsEvents(t *testing.T) {
	w := newWorld(t)
	w.fill()
	about := "?message=" + w.store.message.ID.String()
	var decisions List[DecisionView]
	w.get("/v1/decisions"+about, 200, &decisions)
	if d := decisions.Data[0]; d.Action != "suppress" || *d.PreviousState != "delivered" || d.To != "+1202•••0143" ||
		*d.IdempotencyKey != "cd000000000000000000000000000000" || decisions.Data[1].IdempotencyKey != nil {
		t.Errorf("%+v", decisions)
	}
	var decision DecisionView
	w.get("/v1/decisions/"+decisions.Data[0].ID, 200, &decision)
	var receipts List[ReceiptView]
	rec := w.get("/v1/receipts", 200, &receipts)
	if r := receipts.Data[0]; r.Source != "•••0143" || r.Dest != "SHOP" || *r.ExternalID != "0x0001" || r.Reference != nil || r.Connection != "simulator" {
		t.Errorf("%s", rec.Body)
	}
	r := receipts.Data[0]
	if r.DoneDate != "2612311000" || r.DoneAt != "2026-12-31T10:00:00Z" || r.SubmittedAt != "" || r.ErrorCode != "069" || r.ErrorMeans != "absent subscriber" ||
		r.Other["network_error_code"] != "3/2050" || r.Other["to"] != "•••0143" || !slices.Equal(r.Warnings, []string{"odd"}) {
		t.Errorf("what stands beside the columns: %+v", r)
	}
	var receipt ReceiptView
	w.get("/v1/receipts/"+receipts.Data[0].ID, 200, &receipt)
	var exceptions List[ExceptionView]
	w.get("/v1/exceptions"+about, 200, &exceptions)
	if x := exceptions.Data[0]; x.Kind != "conflicting" || !x.Open || *x.Message != w.store.message.ID.String() {
		t.Errorf("%+v", x)
	}
	var feed Feed
	w.get("/v1/events?after=40", 200, &feed)
	if e := feed.Data[0]; feed.Next != "41" || e.Sequence != 41 || e.Data.Message.State != "delivered" || *e.Data.Event.From != "accepted" || !e.Simulated ||
		e.Type != "message.delivered" || e.ID != "evt_"+strings.TrimPrefix(w.store.message.ID.String(), "msg_")+"_41" {
		t.Errorf("%+v", feed)
	}
	w.problem(w.call("GET", "/v1/decisions?message=msg_1", w.admin, ""), 400, fault.Invalid)
}

func TestCancelNamesThePerson(t *testing.T) {
	w := newWorld(t)
	path := "/v1/messages/" + w.store.message.ID.String() + "/cancel"
	var m MessageView
	w.decode(w.call("POST", path, w.key(tenantA, "send"), `{"reason":"mistake"}`), 200, &m)
	if c := w.outbound.cancelled; c.person != "checkout send" || c.reason != "mistake" || c.tenant != tenantA {
		t.Errorf("%+v", c)
	}
	p := w.problem(w.call("POST", path, w.admin, `{"reson":"x"}`), 400, fault.Invalid)
	if got := pointers(p); !slices.Equal(got, []string{"#/reason", "#/reson"}) {
		t.Errorf("%v", got)
	}
	w.problem(w.call("POST", path, w.admin, `{"reason":"x"}`, "Content-Type", "text/plain"), 415, fault.MediaType)
	w.problem(w.call("POST", path, w.admin, `{"reason":"`+strings.Repeat("x", maxBody)+`"}`), 413, fault.TooLarge)
	w.outbound.err = fault.New(fault.State, "message msg_… was accepted")
	w.problem(w.call("POST", path, w.admin, `{"reason":"x"}`), 409, fault.State)
}

func TestUnknownPathsAndMethods(t *testing.T) {
	w := newWorld(t)
	w.problem(w.call("GET", "/v2", "", ""), 404, fault.NotFound)
	w.problem(w.call("GET", "/v1/mesages", "", ""), 401, fault.Unauthenticated)
	w.problem(w.call("GET", "/v1/mesages", w.admin, ""), 404, fault.NotFound)
	rec := w.call("PUT", "/v1/messages", w.admin, "")
	w.problem(rec, 405, methodNotAllowed)
	if got := rec.Header().Get("Allow"); got != "GET, HEAD, POST" {
		t.Error(got)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	w := newWorld(t)
	w.notReady = fault.New(fault.Unavailable, "the store does not answer")
	if rec := w.call("GET", "/healthz", "", ""); rec.Code != 200 {
		t.Errorf("%d", rec.Code)
	}
	if p := w.problem(w.call("GET", "/readyz", "", ""), 503, fault.Unavailable); p.Detail != "the store does not answer" {
		t.Errorf("%+v", p)
	}
	w.notReady = fmt.Errorf("dial 10.0.0.1: refused")
	if p := w.problem(w.call("GET", "/readyz", "", ""), 503, fault.Unavailable); strings.Contains(p.Detail, "10.0.0.1") {
		t.Errorf("%+v", p)
	}
	w.notReady = nil
	if rec := w.call("GET", "/readyz", "", ""); rec.Code != 200 {
		t.Errorf("%d", rec.Code)
	}
}

func TestMetricsCountByRouteAndStatus(t *testing.T) {
	w := newWorld(t)
	w.call("GET", "/v1/messages/12025550143", w.admin, "")
	rec := w.call("GET", "/metrics", "", "")
	want := `einmal_http_requests_total{route="GET /v1/messages/{id}",status="404"} 1`
	if !strings.Contains(rec.Body.String(), want) || strings.Contains(rec.Body.String(), "2025550143") {
		t.Error(rec.Body)
	}
}

// An error's words may quote what came in, and so may any other value: the log has the type alone.
func TestPanicsAnswerAndAreLogged(t *testing.T) {
	_, quotes := strconv.Atoi("x12025550143")
	for kind, value := range map[string]any{"*strconv.NumError": quotes, "string": "to 12025550143", "*fmt.wrapError": fmt.Errorf("one-time 314159: %w", quotes)} {
		w := newWorld(t)
		w.outbound.panics = value
		w.problem(w.call("POST", "/v1/messages", w.admin, ordinary), 500, fault.Internal)
		log := w.log.String()
		if !strings.Contains(log, "panic") || !strings.Contains(log, `"`+kind+`"`) {
			t.Errorf("%s: %s", kind, log)
		}
		if strings.Contains(log, "0143") || strings.Contains(log, "314159") || strings.Contains(log, "invalid syntax") {
			t.Errorf("%s: the log quotes the value: %s", kind, log)
		}
	}
}

func TestTheDescriptionCoversEveryRoute(t *testing.T) {
	w := newWorld(t)
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			Security  []any          `json:"security"`
			Responses map[string]any `json:"responses"`
		} `json:"paths"`
		Problems []map[string]any `json:"x-problems"`
	}
	rec := w.get("/openapi.json", 200, &doc)
	if !strings.HasPrefix(doc.OpenAPI, "3.1") || len(doc.Problems) != len(faults) {
		t.Errorf("%s, %d problems", doc.OpenAPI, len(doc.Problems))
	}
	for _, r := range w.api.Routes() {
		if r.Path == "/metrics" || r.Path == "/openapi.json" || r.Path == "/handset/{number}" { // no calls of the API
			continue
		}
		o, ok := doc.Paths[r.Path][strings.ToLower(r.Method)]
		if !ok || (len(o.Security) > 0) != (r.Scope != "") || len(o.Responses) < 3 {
			t.Errorf("%v: %+v", r, o)
		}
	}
	if !json.Valid(rec.Body.Bytes()) || !strings.Contains(rec.Body.String(), "application/problem+json") {
		t.Error("no problem documents in the description")
	}
}

func TestServerLimits(t *testing.T) {
	w := newWorld(t)
	s := NewServer(w.api, w.api.cfg.Log)
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("%+v", s)
	}
	server := httptest.NewUnstartedServer(w.api)
	server.Config = s
	server.Start()
	defer server.Close()
	rec, err := server.Client().Get(server.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Body.Close()
	if rec.StatusCode != 200 || rec.Header.Get("X-Content-Type-Options") != "nosniff" || rec.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", rec.StatusCode, rec.Header)
	}
}
