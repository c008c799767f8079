package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/edge/api/handset"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/provider"
)

// fakePhones are handsets that a test fills.
type fakePhones struct {
	mu       sync.Mutex
	received map[string][]provider.PhoneMessage
	came     chan struct{} // receives when somebody begins to wait; nil: nobody looks
	answered []string
	err      error
}

func (f *fakePhones) add(number, from, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.received == nil {
		f.received = map[string][]provider.PhoneMessage{}
	}
	n := int64(len(f.received[number]) + 1)
	f.received[number] = append(f.received[number], provider.PhoneMessage{N: n, At: epoch, From: from, Text: text, Parts: 1, MessageID: "A1"})
}

func (f *fakePhones) Received(number string, after int64) []provider.PhoneMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.received[number]
	return slices.Clone(all[min(int(after), len(all)):])
}

func (f *fakePhones) Await(ctx context.Context, number string, after int64) {
	if len(f.Received(number, after)) == 0 {
		f.came <- struct{}{}
		<-ctx.Done()
	}
}

func (f *fakePhones) Answer(_ context.Context, number, to, text string) error {
	f.answered = []string{number, to, text}
	return f.err
}

// covers: D15
func TestAHandsetShowsWhatItReceived(t *testing.T) {
	w := newWorld(t)
	w.phones.add(number[1:], "SHOP", "314159 is your code")
	w.phones.add(number[1:], "4711", "two")
	key := w.key(tenantA, "read")
	var got handset.Messages
	rec := w.decode(w.call("GET", "/v1/handset/"+number, key, ""), 200, &got)
	if got.Number != number || !got.Simulated || len(got.Data) != 2 || got.Data[0] != (handset.Message{N: 1, At: "2026-12-31T10:00:00Z", From: "SHOP", Text: "314159 is your code", Parts: 1, MessageID: "A1"}) {
		t.Errorf("%s", rec.Body)
	}
	w.get("/v1/handset/2025550143?region=US&after=1", 200, &got)
	if len(got.Data) != 1 || got.Data[0].Text != "two" {
		t.Errorf("%+v", got)
	}
	if w.get("/v1/handset/+12025550199", 200, &got); got.Data == nil || len(got.Data) != 0 {
		t.Errorf("%+v", got)
	}
	p := w.problem(w.call("GET", "/v1/handset/2025550143", w.admin, ""), 400, fault.Invalid)
	if got := pointers(p); !slices.Equal(got, []string{"number"}) {
		t.Errorf("%+v", p)
	}
	if strings.Contains(w.log.String(), "314159") {
		t.Error("the code is in the log")
	}
	w.api.cfg.Phones = func() provider.Phones { return nil }
	for _, r := range []string{"GET /v1/handset/", "GET /handset/"} {
		method, path, _ := strings.Cut(r, " ")
		w.problem(w.call(method, path+number, w.admin, ""), 404, fault.NotFound)
	}
}

// A question that waits is answered when the wait is over, or the gateway stops.
func TestAHandsetIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.phones.came = make(chan struct{}, 1)
	var got handset.Messages
	w.get("/v1/handset/"+number+"?wait=1ms", 200, &got)
	<-w.phones.came
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() { done <- w.call("GET", "/v1/handset/"+number+"?wait=60s", w.admin, "") }()
	<-w.phones.came
	w.api.Release()
	if rec := <-done; rec.Code != 200 {
		t.Errorf("%d", rec.Code)
	}
	for _, wrong := range []string{"10", "-1s", "0s", "61s", "soon"} {
		p := w.problem(w.call("GET", "/v1/handset/"+number+"?wait="+wrong, w.admin, ""), 400, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Parameter != "wait" || !strings.Contains(p.Errors[0].Detail, "10s") {
			t.Errorf("%s: %+v", wrong, p)
		}
	}
}

func TestWaitersAreBounded(t *testing.T) {
	w := newWorld(t)
	w.api.waiting.slots = make(chan struct{}, 1)
	w.api.waiting.slots <- struct{}{}
	w.problem(w.call("GET", "/v1/handset/"+number+"?wait=1s", w.admin, ""), 503, fault.Unavailable)
	<-w.api.waiting.slots
	w.phones.add(number[1:], "SHOP", "x")
	var got handset.Messages
	w.get("/v1/handset/"+number+"?wait=1s", 200, &got)
	if len(w.api.waiting.slots) != 0 {
		t.Error("a place is not given back")
	}
}

func TestAHandsetAnswers(t *testing.T) {
	w := newWorld(t)
	path, key := "/v1/handset/"+number+"/reply", w.key(tenantA, "send")
	w.phones.add(number[1:], "+4930123", "one")
	var r handset.Reply
	w.decode(w.call("POST", path, key, `{"text":"yes"}`), 200, &r)
	if !r.Taken || r.From != number || r.To != "+4930123" || !strings.Contains(r.WhatHappened, "stored it") || !slices.Equal(w.phones.answered, []string{number[1:], "4930123", "yes"}) {
		t.Errorf("%+v %v", r, w.phones.answered)
	}
	w.phones.err = context.DeadlineExceeded
	w.decode(w.call("POST", path, key, `{"text":"yes","to":"4711"}`), 200, &r)
	if r.Taken || r.To != "4711" || !strings.Contains(r.WhatHappened, "Nobody has taken it yet") {
		t.Errorf("%+v", r)
	}
	w.phones.err = provider.ErrNobody
	w.problem(w.call("POST", path, key, `{"text":"yes"}`), 409, fault.State)
	w.phones.add(number[1:], "SHOP", "two")
	for body, pointer := range map[string]string{
		`{"text":"yes"}`: "#/to", `{"text":"yes","to":"SHOP"}`: "#/to", `{"text":" "}`: "#/text", `{}`: "#/text", `{"txt":"a","text":"b"}`: "#/txt",
	} {
		if got := pointers(w.problem(w.call("POST", path, key, body), 400, fault.Invalid)); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	w.phones.err = &gsm.TooLongError{Parts: 2}
	w.problem(w.call("POST", path, key, `{"text":"long","to":"4711"}`), 400, fault.Invalid)
}

// The page holds nothing but the number, and runs nothing but its own script.
//
// covers: D15
func TestTheHandsetPageHoldsNoMessage(t *testing.T) {
	w := newWorld(t)
	w.phones.add(number[1:], "SHOP", "314159 is your code")
	rec := w.call("GET", "/handset/"+number, "", "")
	page, policy := rec.Body.String(), rec.Header().Get("Content-Security-Policy")
	if rec.Code != 200 || !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") || !strings.Contains(page, `data-number="&#43;12025550143"`) || !strings.Contains(page, `data-key="needed"`) {
		t.Errorf("%d %s", rec.Code, page)
	}
	if strings.Contains(page, "314159") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Error("a message or another host is in the page")
	}
	nonce, _, _ := strings.Cut(strings.SplitN(policy, "script-src 'nonce-", 2)[1], "'")
	if !strings.Contains(policy, "default-src 'none'") || strings.Count(page, `nonce="`+nonce+`"`) != 2 || rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s", policy)
	}
	if again := w.call("GET", "/handset/"+number, "", "").Body.String(); strings.Contains(again, nonce) {
		t.Error("a nonce comes twice")
	}
	w.problem(w.call("GET", "/handset/2025550143", "", ""), 400, fault.Invalid)
	if got := w.call("GET", "/handset/"+`%3Cscript%3E`, "", ""); got.Code != 400 || strings.Contains(got.Body.String(), "<script>") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A message centre that runs by itself shows its handsets without a key, on this machine alone.
func TestPhonesAlone(t *testing.T) {
	phones := &fakePhones{came: make(chan struct{}, 1)}
	phones.add(number[1:], "4711", "hello")
	h := NewPhones(phones)
	call := func(method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Host = "127.0.0.1:8085"
		r.Header.Set("Content-Type", "application/json")
		if change != nil {
			change(r)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec
	}
	for path, want := range map[string]string{
		"/v1/handset/" + number: `"text":"hello"`, "/v1/handset/" + number + "?after=1&wait=1ms": `"data":[]`, "/handset/" + number: `data-key="none"`,
	} {
		if rec := call("GET", path, "", nil); rec.Code != 200 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	reply := "/v1/handset/" + number + "/reply"
	if rec := call("POST", reply, `{"text":"yes"}`, nil); rec.Code != 200 || !strings.Contains(rec.Body.String(), `"taken":true`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for name, change := range map[string]func(*http.Request){
		"a name that leads here": func(r *http.Request) { r.Host = "evil.example" },
		"another origin":         func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
	} {
		if rec := call("POST", reply, `{"text":"yes"}`, change); rec.Code != 403 {
			t.Errorf("%s: %d", name, rec.Code)
		}
	}
	for path, status := range map[string]int{"/v1/handset/x": 400, "/v1/handset/" + number + "?wait=x": 400, "/v1/handset/" + number + "?after=-1": 400, "/handset/x": 400, "/v1/messages": 404} {
		if rec := call("GET", path, "", nil); rec.Code != status {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
}

// A wait that is longer than the server's own patience is not cut short by it.
func TestAWaitOutlastsTheServersTimes(t *testing.T) {
	w := newWorld(t)
	w.phones.came = make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(w.api)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	server.Start()
	defer server.Close()
	r, err := http.NewRequest("GET", server.URL+"/v1/handset/"+number+"?wait=400ms", nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+w.admin)
	begun := time.Now()
	res, err := server.Client().Do(r)
	must(t, err)
	defer res.Body.Close()
	if took := time.Since(begun); res.StatusCode != 200 || took < 400*time.Millisecond {
		t.Errorf("%d after %s", res.StatusCode, took)
	}
}
