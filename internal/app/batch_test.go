package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// A newsletter's list with doubles in it, sent twice because the first answer was lost: each of its intents is one
// message, whichever way it came.
//
// covers: D7, D8, I2, I11
func TestABatchSentTwice(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		var messages []map[string]any
		for i := range 60 {
			m := order(fmt.Sprint("B-", i%20), "1", fmt.Sprintf("+120255501%02d", 30+i%20))
			m["idempotency_key"] = fmt.Sprint("batch-", i)
			messages = append(messages, m)
		}
		messages[5] = map[string]any{"to": "nobody", "text": "x", "purpose": "alert"}
		send := func() []any {
			r := g.call(http.MethodPost, "/v1/messages/batch", map[string]any{"messages": messages})
			if r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Raw)
			}
			return r.Body["data"].([]any)
		}
		first, second := send(), send()
		ids := map[string]bool{}
		for i := range messages {
			a, b := reply{Body: first[i].(map[string]any)}, reply{Body: second[i].(map[string]any)}
			want := map[bool]string{true: "201", false: "200"}[i < 20 || i == 25] // the first of its kind that could be read
			if i == 5 {
				want = "400"
			}
			if a.at("status") != want || b.at("status") != want || a.at("answer.decision.id") != b.at("answer.decision.id") {
				t.Errorf("message %d: %v, then %v", i, a.Body, b.Body)
			}
			if i != 5 && (a.at("replayed") != "false" || b.at("replayed") != "true") {
				t.Errorf("message %d: replayed %s, then %s", i, a.at("replayed"), b.at("replayed"))
			}
			if id := a.at("answer.message.id"); id != "" {
				ids[id] = true
			}
		}
		for id := range ids {
			g.await(id, "delivered")
		}
		single := messages[0]
		delete(single, "idempotency_key")
		if r := g.post(single, "Idempotency-Key", "batch-0"); r.Status != http.StatusCreated || r.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("the same message alone: %d %s", r.Status, r.Raw)
		}
		if len(ids) != 20 || g.accepts() != 20 {
			t.Errorf("%d messages and %d texts of 20 intents", len(ids), g.accepts())
		}
	})
}

// What is wrong within one message is its own, a dry run is told what is decided in its place, and two texts never come
// of one number that was written with and without its plus sign.
//
// covers: D2, D8, I15
func TestABatchWithOneOfEachKind(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		one := `{"to":"+49 151 23456780","region":"DE","purpose":"alert","event":{"id":"K-1","version":"1"},"text":"Open.","sender":"SHOP"`
		r := g.call(http.MethodPost, "/v1/messages/batch", `{"messages":[`+one+`},{"to":"+12025550143","text":"a\u0000"},`+
			one+`,"dry_run":true},`+one+`},`+strings.Replace(one, "+", "", 1)+`},`+strings.Replace(one, "+49 ", "0", 1)+`}]}`)
		if r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Raw)
		}
		for i, want := range []string{"201 allow", "400 ", "200 suppress", "200 suppress", "400 ", "200 suppress"} {
			a := reply{Body: r.Body["data"].([]any)[i].(map[string]any)}
			if got := a.at("status") + " " + a.at("answer.decision.action"); got != want {
				t.Errorf("message %d: %s, want %s: %v", i, got, want, a.Body)
			}
		}
	})
}
