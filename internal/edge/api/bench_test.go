package api

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// instant answers at once, so that a benchmark shows what HTTP and JSON cost.
type instant struct{ answer outbound.Answer }

func (i *instant) Submit(context.Context, outbound.Submission) (outbound.Answer, error) {
	return i.answer, nil
}

// BenchmarkSubmit is POST /v1/messages without a decision, over loopback; BenchmarkBare is a handler that decodes
// and answers the same JSON with the standard library. Their ratio is the edge's share of the goal of 0.35.
func BenchmarkSubmit(b *testing.B) {
	w := newWorld(&testing.T{})
	a := New(Config{
		Store: w.store, Outbound: struct {
			*instant
			*canceller
		}{&instant{outbound.Answer{Result: intent.Result{Kind: intent.Decided, Decision: sampleDecision()}}}, nil},
		Contents: fakeContents{}, Identity: identity, Clock: clock.System{}, Ready: func(context.Context) error { return nil },
		Metrics: telemetry.NewMetrics(), Log: slog.New(slog.DiscardHandler),
	})
	drive(b, a, w.admin)
}

type canceller struct{}

func (*canceller) Cancel(context.Context, ident.Partition, ident.Message, string, string) (*store.Message, error) {
	return nil, nil
}

func (*canceller) SubmitAll(context.Context, []outbound.Submission) []outbound.Submitted { return nil }

func (*canceller) AnswerSent(*outbound.Answer) {}

func (*canceller) ApplyPolicy(context.Context, string, []byte, string) (store.PolicyVersion, bool, error) {
	return store.PolicyVersion{}, false, nil
}

func BenchmarkBare(b *testing.B) {
	drive(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in submitBody
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(&submitAnswer{Channel: "sms", Decision: answerDecision{Action: "allow"}, Message: &answerMessage{State: "pending"}})
	}), "x")
}

// drive sends b.N requests over kept-alive connections.
func drive(b *testing.B, h http.Handler, key string) {
	server := httptest.NewServer(h)
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, _ := http.NewRequest("POST", server.URL+"/v1/messages", strings.NewReader(ordinary))
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set("Content-Type", "application/json")
			res, err := client.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			if res.StatusCode != http.StatusCreated {
				b.Fatal(res.StatusCode)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	})
}

// BenchmarkHandler is the handler alone, without a connection.
func BenchmarkHandler(b *testing.B) {
	w := newWorld(&testing.T{})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/v1/messages", strings.NewReader(ordinary))
		r.Header.Set("Authorization", "Bearer "+w.admin)
		r.Header.Set("Content-Type", "application/json")
		w.api.ServeHTTP(httptest.NewRecorder(), r)
		w.outbound.got = w.outbound.got[:0]
	}
}
