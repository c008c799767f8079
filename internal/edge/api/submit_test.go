package api

import (
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
)

// covers: D8
func TestAllowedAnswersCreatedAndTheReplayIsTheSame(t *testing.T) {
	w := newWorld(t)
	first := w.call("POST", "/v1/messages", w.admin, ordinary, idempotencyHeader, `"k1"`)
	if first.Code != 201 || first.Header().Get(replayedHeader) != "" {
		t.Fatalf("%d %s", first.Code, first.Body)
	}
	want := `{"decision":{"id":"dec_01020300000000000000000000000000","action":"allow","class":"new_intent","reason":"no_equivalent",` +
		`"rule":"order_confirmation.window","policy_version":"builtin@1","explanation":"No message for the same \"key\" is known.",` +
		`"window_ends":"2026-12-31T11:00:00Z","same_text":null,"mode":"enforce","would":null,"compared_with":null,"mapped_by":null},"guards":[],"message":{"id":"msg_09000000000000000000000000000000",` +
		`"state":"pending","reported_delivery":null,"verified":null,"attempts":0},"channel":"sms","simulated":true,"parts":1,"encoding":"gsm7"}` + "\n"
	if first.Body.String() != want {
		t.Errorf("%s", first.Body)
	}
	if got := first.Header().Get("Location"); got != "/v1/messages/msg_09000000000000000000000000000000" {
		t.Error(got)
	}
	w.outbound.answer.Replayed, w.outbound.answer.Kind = true, intent.Replayed
	again := w.call("POST", "/v1/messages", w.admin, ordinary, idempotencyHeader, `k1`)
	if again.Code != 201 || again.Body.String() != want || again.Header().Get(replayedHeader) != "true" {
		t.Errorf("%d %v %s", again.Code, again.Header(), again.Body)
	}
	if a, b := w.outbound.got[0], w.outbound.got[1]; a.IdempotencyKey != "k1" || b.IdempotencyKey != "k1" || a.Operation != sendOperation {
		t.Errorf("%+v %+v", a, b)
	}
}

func TestSuppressedAnswersOKWithTheExistingMessage(t *testing.T) {
	w := newWorld(t)
	no := false
	d := &w.outbound.answer.Decision
	d.Action, d.Class, d.Reason, d.SameText, d.WindowEnds = intent.Suppress, intent.TechnicalDuplicate, "same_intent_accepted", &no, 0
	d.Message = intent.Snapshot{ID: d.Message.ID, State: message.EnRoute, Delivery: "en_route", Attempts: 2}
	rec := w.call("POST", "/v1/messages", w.admin, ordinary)
	for _, want := range []string{
		`"action":"suppress"`, `"window_ends":null`, `"same_text":false`, `"state":"en_route","reported_delivery":"en_route","verified":null,"attempts":2`,
	} {
		if rec.Code != 200 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %s in %s", want, rec.Body)
		}
	}
}

func TestDryRunNamesNothingThatWasNotStored(t *testing.T) {
	w := newWorld(t)
	w.outbound.answer.DryRun = true
	rec := w.call("POST", "/v1/messages", w.admin, strings.Replace(ordinary, "{", `{"dry_run":true,`, 1))
	for _, want := range []string{`"decision":{"id":null`, `"message":null`, `"parts":1,"encoding":"gsm7","dry_run":true,"units_left":0`} {
		if rec.Code != 200 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %s in %d %s", want, rec.Code, rec.Body)
		}
	}
	if s := w.outbound.got[0]; !s.DryRun || s.Canonical["dry_run"] != nil {
		t.Errorf("%+v", s)
	}
}

func TestSubmissionIsWhatWasSent(t *testing.T) {
	w := newWorld(t)
	w.call("POST", "/v1/messages", w.key(tenantB, "send"), `{ "to":"0151 2345 6789","region":"DE","purpose":"p","sender":"SHOP",
		"event":{"type":"order","id":"A-1","version":7},"template":{"version":"3","id":"t"},"text":"H\u00e9",
		"correlation_id":"c","valid_for":"1h","metadata":{"b":"2","a":"1"}}`)
	s := w.outbound.got[0]
	if s.Tenant != tenantB || s.Caller == "" || s.To != "0151 2345 6789" || s.Region != "DE" || s.Purpose != "p" || s.Sender != "SHOP" ||
		s.Event != (intent.Event{Type: "order", ID: "A-1", Version: "7"}) || s.Template != (intent.Template{ID: "t", Version: "3"}) ||
		s.Text != "Hé" || s.CorrelationID != "c" || s.ValidFor != "1h" || s.Metadata["a"] != "1" {
		t.Errorf("%+v", s)
	}
	for name, want := range map[string]string{
		"event": `{"id":"A-1","type":"order","version":7}`, "metadata": `{"a":"1","b":"2"}`, "text": `"Hé"`,
	} {
		if got := string(s.Canonical[name]); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestEveryWrongFieldHasItsEntry(t *testing.T) {
	w := newWorld(t)
	body := `{"to":12025550143,"txt":"x","from":"SHOP","purpose":["p"],"event":{"id":1,"versoin":"1"},"metadata":{"a":1},"dry_run":"yes",` +
		`"exception":{},"template":{"version":1.5},"+12025550143":"x","zzz":1}`
	p := w.problem(w.call("POST", "/v1/messages", w.admin, body, idempotencyHeader, `"x`), 400, fault.Invalid)
	want := []string{"#/?", "#/dry_run", "#/event/id", "#/event/versoin", "#/exception", "#/from", "#/metadata/a", "#/purpose",
		"#/template/version", "#/to", "#/txt", "#/zzz", idempotencyHeader}
	if got := pointers(p); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, f := range p.Errors {
		right := map[string]string{"#/txt": "did you mean text", "#/from": "did you mean sender", "#/event/versoin": "did you mean version", "#/zzz": "known correlation_id"}
		if !strings.Contains(f.Detail, right[f.Pointer]) {
			t.Errorf("%+v", f)
		}
	}
	if len(w.outbound.got) != 0 {
		t.Error("a wrong request was handed on")
	}
}

func TestBrokenBodiesAreRefused(t *testing.T) {
	w := newWorld(t)
	for body, pointer := range map[string]string{
		`[]`: "#", `{"text":"a","text":"b"}`: "#/text", `{"text":"\u0000"}`: "#/text", "{\"text\":\"\xff\"}": "#/text",
		ordinary + "x": "#", `{"text":`: "#/text", `null`: "#",
	} {
		p := w.problem(w.call("POST", "/v1/messages", w.admin, body), 400, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %+v", body, p.Errors)
		}
	}
}

func TestFaultsOfTheFlowBecomeProblems(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		err        error
		status     int
		code       fault.Code
		retryAfter string
	}{
		{fault.New(fault.InProgress, "wait"), 409, fault.InProgress, "1"},
		{&fault.Fault{Code: fault.IdempotencyMismatch, Fields: []fault.Field{{Pointer: "#/text", Detail: "differs"}}}, 422, fault.IdempotencyMismatch, ""},
		{errDown, 503, fault.Unavailable, "2"},
		{&fault.Fault{Code: fault.Storm, About: "msg_1", RetryAfter: 7 * time.Second}, 429, fault.Storm, "7"},
		{fmt.Errorf("pq: 2025550143 broke"), 500, fault.Internal, ""},
		{fault.Wrap(fmt.Errorf("to 12025550143"), fault.Internal, ""), 500, fault.Internal, ""},
	} {
		w.outbound.err = c.err
		rec := w.call("POST", "/v1/messages", w.admin, ordinary)
		p := w.problem(rec, c.status, c.code)
		if rec.Header().Get("Retry-After") != c.retryAfter || p.Retryable != (c.retryAfter != "") {
			t.Errorf("%s: %v", c.code, rec.Header())
		}
		if (c.code == fault.Storm) != (p.Message != nil && p.Message.ID == "msg_1") {
			t.Errorf("%s: about %+v", c.code, p.Message)
		}
		if c.code == fault.IdempotencyMismatch && !slices.Equal(pointers(p), []string{"#/text"}) {
			t.Errorf("%+v", p)
		}
	}
	if log := w.log.String(); strings.Count(log, "a request failed") != 2 || strings.Contains(log, "2025550143") {
		t.Error(log)
	}
}

func TestBodyLimits(t *testing.T) {
	w := newWorld(t)
	pad := func(size int) string {
		return strings.Replace(ordinary, `"text":"Hi"`, `"text":"`+strings.Repeat("x", size-len(ordinary)+2)+`"`, 1)
	}
	if rec := w.call("POST", "/v1/messages", w.admin, pad(maxBody)); rec.Code != 201 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	w.problem(w.call("POST", "/v1/messages", w.admin, pad(maxBody+1)), 413, fault.TooLarge)
	r := httptest.NewRequest("POST", "/v1/messages", io.MultiReader(strings.NewReader(ordinary), failingReader{}))
	r.Header.Set("Authorization", "Bearer "+w.admin)
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	w.problem(rec, 400, fault.Invalid)
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestMediaTypes(t *testing.T) {
	w := newWorld(t)
	for ct, ok := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON;charset=UTF-8": true,
		"": false, "text/plain": false, "application/x-www-form-urlencoded": false, "application/json; charset=latin1": false,
	} {
		r := httptest.NewRequest("POST", "/v1/messages", strings.NewReader(ordinary))
		r.Header.Set("Authorization", "Bearer "+w.admin)
		r.Header["Content-Type"] = []string{ct}
		rec := httptest.NewRecorder()
		w.api.ServeHTTP(rec, r)
		if ok && rec.Code != 201 {
			t.Errorf("%s: %d", ct, rec.Code)
		} else if !ok {
			w.problem(rec, 415, fault.MediaType)
		}
	}
	w.problem(w.call("POST", "/v1/messages", w.admin, ordinary, "Content-Encoding", "gzip"), 415, fault.MediaType)
}

// The vectors are those that the documentation promises.
func TestIdempotencyKeys(t *testing.T) {
	const refused = "\x00"
	for header, want := range map[string]string{
		`"abc"`: "abc", `abc`: "abc", `"a\"b"`: `a"b`, `"a\\b"`: `a\b`, `  "abc"  `: "abc", `"abc";x=1`: "abc", `"abc" ;x`: "abc",
		strings.Repeat("k", 255): strings.Repeat("k", 255), `"` + strings.Repeat("k", 255) + `"`: strings.Repeat("k", 255),
		`"a`: refused, `""`: refused, ``: refused, `"a", "b"`: refused, `a, b`: refused, `"é"`: refused, `é`: refused, `"a\n"`: refused,
		`a"b`: refused, `"a"b`: refused, "\"a\tb\"": refused, strings.Repeat("k", 256): refused, `"a\`: refused,
	} {
		got, wrong := idempotencyKey(map[string][]string{idempotencyHeader: {header}})
		if wrong != nil {
			got = refused
		}
		if got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
	if _, wrong := idempotencyKey(map[string][]string{idempotencyHeader: {"a", "a"}}); wrong == nil {
		t.Error("two lines were taken")
	}
	if got, wrong := idempotencyKey(nil); got != "" || wrong != nil {
		t.Error("no header is no key")
	}
}

func TestAnswerTimesAreUTC(t *testing.T) {
	w := newWorld(t)
	w.outbound.answer.Decision.WindowEnds = w.outbound.answer.Decision.At.Add(1500 * time.Microsecond)
	rec := w.call("POST", "/v1/messages", w.admin, ordinary)
	if !strings.Contains(rec.Body.String(), `"window_ends":"2026-12-31T10:00:00.0015Z"`) {
		t.Error(rec.Body)
	}
}
