package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/fault"
)

type batchOf struct {
	Data []struct {
		Status      int             `json:"status"`
		Replayed    bool            `json:"replayed"`
		Answer      json.RawMessage `json:"answer"`
		Problem     *Problem        `json:"problem"`
		RetryAfterS int             `json:"retry_after_s"`
	} `json:"data"`
}

// Each message gets what it would have got alone, in its place; one that is wrong concerns no other.
//
// covers: D8, I15
func TestABatchAnswersEachMessage(t *testing.T) {
	w := newWorld(t)
	with := func(members string) string { return strings.Replace(ordinary, "{", "{"+members+",", 1) }
	body := `{"messages":[` + strings.Join([]string{
		ordinary, `{"to":12025550143,"txt":"x"}`, with(`"idempotency_key":"k-2"`), with(`"idempotency_key":""`), `"12025550143"`,
		strings.Replace(ordinary, `"Hi"`, `"refuse"`, 1), with(`"dry_run":true`),
	}, ",") + `]}`
	var got batchOf
	rec := w.decode(w.call("POST", "/v1/messages/batch", w.key(tenantA, "send"), body), 200, &got)
	var statuses []int
	for _, d := range got.Data {
		statuses = append(statuses, d.Status)
		if (d.Problem == nil) == (d.Answer == nil) {
			t.Errorf("%+v", d)
		}
	}
	if !slices.Equal(statuses, []int{201, 400, 201, 400, 400, 503, 201}) || strings.Contains(rec.Body.String(), "2025550143") {
		t.Fatalf("%s", rec.Body)
	}
	single := w.call("POST", "/v1/messages", w.admin, ordinary)
	if strings.TrimSpace(string(got.Data[0].Answer)) != strings.TrimSpace(single.Body.String()) {
		t.Errorf("%s is answered with\n%s", got.Data[0].Answer, single.Body)
	}
	if p := pointers(*got.Data[1].Problem); !slices.Equal(p, []string{"#/to", "#/txt"}) || got.Data[1].Problem.Code != "invalid_request" {
		t.Errorf("%+v", got.Data[1].Problem)
	}
	if got.Data[5].RetryAfterS != 2 || !got.Data[5].Problem.Retryable {
		t.Errorf("%+v", got.Data[5])
	}
	taken := w.outbound.got // not the wrong ones; the last is the single request
	if len(taken) != 5 || taken[0].IdempotencyKey != "" || taken[1].IdempotencyKey != "k-2" || taken[1].Operation != sendOperation ||
		taken[1].Tenant != tenantA || taken[1].Caller == "" || !taken[3].DryRun {
		t.Errorf("%+v", taken)
	}
	if taken[1].CallerName == "" || taken[1].Header != nil || taken[4].CallerName == "" || taken[4].Header["Authorization"] == nil {
		t.Errorf("what rules of the policy see: %q %v, alone %q %v", taken[1].CallerName, taken[1].Header, taken[4].CallerName, taken[4].Header)
	}
	if _, there := taken[1].Canonical["idempotency_key"]; there || len(taken[1].Canonical) != len(taken[4].Canonical) {
		t.Error("the key is part of what it is compared over: the same request alone would be another one")
	}
}

// What is JSON and wrong within one message is that message's own, wherever it stands.
//
// covers: D8, I15
func TestWhatJSONCannotTellIsTheMessagesOwn(t *testing.T) {
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for _, c := range []struct{ wrong, pointer string }{
		{`{"text":"a\u0000"}`, "#/text"}, {`{"text":"\ud800"}`, "#/text"}, {"{\"text\":\"\xff\"}", "#/text"}, {`{"to":"1","to":"2"}`, "#/to"},
		{`{"event":{"id":"1","id":"2"}}`, "#/event/id"}, {`{"a\u0000":1}`, "#"}, {`"\ud800"`, "#"},
		{`{"metadata":` + deep + `}`, "#/metadata" + strings.Repeat("/0", 13)},
		{`{"metadata":{"12025550143":"","12025550143":""}}`, "#/metadata/?"},
	} {
		w := newWorld(t)
		var got batchOf
		w.decode(w.call("POST", "/v1/messages/batch", w.admin, `{"messages":[`+ordinary+`,`+c.wrong+`,`+ordinary+`]}`), 200, &got)
		if len(got.Data) != 3 || got.Data[0].Status != 201 || got.Data[2].Status != 201 || len(w.outbound.got) != 2 {
			t.Errorf("%s: %+v", c.wrong, got.Data)
			continue
		}
		alone := w.problem(w.call("POST", "/v1/messages", w.admin, c.wrong), 400, fault.Invalid)
		if p := got.Data[1].Problem; p == nil || p.Status != 400 || !slices.Equal(pointers(*p), []string{c.pointer}) || p.Code != alone.Code {
			t.Errorf("%s: %+v, alone %+v", c.wrong, p, alone)
		}
	}
}

func TestABatchSaysWhatWasReplayed(t *testing.T) {
	w := newWorld(t)
	w.outbound.answer.Replayed, w.outbound.answer.Kind = true, intent.Replayed
	var got batchOf
	w.decode(w.call("POST", "/v1/messages/batch", w.admin, `{"messages":[`+ordinary+`]}`), 200, &got)
	if d := got.Data[0]; d.Status != 201 || !d.Replayed {
		t.Errorf("%+v", d)
	}
}

// covers: D18
func TestAnswersOfABatchThatGetOut(t *testing.T) {
	w := newWorld(t)
	w.outbound.answer.Unanswered = intent.Key{1}
	w.call("POST", "/v1/messages/batch", w.admin, `{"messages":[`+ordinary+`,`+ordinary+`]}`)
	if got := w.outbound.sent.Load(); got != 2 {
		t.Errorf("%d answers got out", got)
	}
}

func TestABatchThatCannotBeReadIsRefusedAsAWhole(t *testing.T) {
	w := newWorld(t)
	many := `{"messages":[` + strings.TrimSuffix(strings.Repeat(ordinary+",", maxBatch+1), ",") + `]}`
	for _, c := range []struct{ body, pointer string }{
		{`{}`, "#/messages"}, {`{"messages":{}}`, "#/messages"}, {`{"messages":[]}`, "#/messages"}, {many, "#/messages"},
		{`{"messages":[` + ordinary + `],"dry_run":true}`, "#/dry_run"}, {`[` + ordinary + `]`, "#"},
		{`{"messages":[`, "#/messages/0"}, {`{"messages":[` + ordinary + `,{"to":}]}`, "#/messages/1/to"},
		{`{"messages":[` + ordinary + `,{"to":"\x"}]}`, "#/messages/1/to"}, {`{"messages":[` + ordinary + `],"messages":[]}`, "#/messages"},
		{`{"messages":[` + ordinary + `],"x":"\u0000"}`, "#/x"}, {`{"messages\u0000":[` + ordinary + `]}`, "#"},
	} {
		if got := pointers(w.problem(w.call("POST", "/v1/messages/batch", w.admin, c.body), 400, fault.Invalid)); !slices.Equal(got, []string{c.pointer}) {
			t.Errorf("%.40s…: %v", c.body, got)
		}
	}
	p := w.problem(w.call("POST", "/v1/messages/batch", w.admin, `{"messages":[`+ordinary+`]}`, idempotencyHeader, "k"), 400, fault.Invalid)
	if got := pointers(p); !slices.Equal(got, []string{idempotencyHeader}) || !strings.Contains(p.Errors[0].Detail, "idempotency_key") {
		t.Errorf("%+v", p)
	}
	w.problem(w.call("POST", "/v1/messages/batch?dry_run=true", w.admin, `{"messages":[`+ordinary+`]}`), 400, fault.Invalid)
	w.problem(w.call("POST", "/v1/messages/batch", w.admin, `{}`, "Content-Type", "text/csv"), 415, fault.MediaType)
	p = w.problem(w.call("POST", "/v1/messages/batch", w.admin, `{"messages":[`+strings.Repeat(" ", maxBatchBody)+`]}`), 413, fault.TooLarge)
	if !strings.Contains(p.Detail, "1048576") {
		t.Errorf("%+v", p)
	}
	if len(w.outbound.got) != 0 {
		t.Errorf("%d messages were taken", len(w.outbound.got))
	}
}
