package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
)

type httpClient = *http.Client

// newHTTPClient keeps as many connections as the busiest scene has requests under way.
func newHTTPClient() httpClient {
	return &http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32, MaxConnsPerHost: 32}}
}

// answer is what a request was told.
type answer struct {
	Status    int
	Replayed  bool
	Simulated bool
	Action    string
	Class     string
	Message   string // id
	Problem   string
}

// answerBody is the part of an answer that matters here.
type answerBody struct {
	Decision struct {
		Action string `json:"action"`
		Class  string `json:"class"`
	} `json:"decision"`
	Message *struct {
		ID string `json:"id"`
	} `json:"message"`
	Simulated bool `json:"simulated"`
}

// because says why a request made no message although it was answered well; "": it made one, or was not.
func (a *answer) because() string {
	switch {
	case a.Status >= 300:
		return ""
	case a.Replayed:
		return "replayed"
	case a.Action != "allow":
		return a.Class
	}
	return ""
}

func (b *answerBody) fill(a *answer) {
	a.Action, a.Class, a.Simulated = b.Decision.Action, b.Decision.Class, b.Simulated
	if b.Message != nil {
		a.Message = b.Message.ID
	}
}

// send submits a request, with an idempotency key or without.
func (s *stage) send(ctx context.Context, body map[string]any, key string) (answer, error) {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	var raw json.RawMessage
	res, err := s.call(ctx, http.MethodPost, "/v1/messages", body, header, &raw)
	if err != nil {
		return answer{}, err
	}
	a := answer{Status: res.StatusCode, Replayed: res.Header.Get("Idempotency-Replayed") != ""}
	if a.Status >= 300 {
		var p api.Problem
		err = json.Unmarshal(raw, &p)
		a.Problem = problemWords(&p)
		return a, err
	}
	var got answerBody
	err = json.Unmarshal(raw, &got)
	got.fill(&a)
	return a, err
}

// sendAll submits a batch and returns the answers in its order.
func (s *stage) sendAll(ctx context.Context, bodies []map[string]any) ([]answer, error) {
	var got struct {
		Data []struct {
			Status   int          `json:"status"`
			Replayed bool         `json:"replayed"`
			Answer   answerBody   `json:"answer"`
			Problem  *api.Problem `json:"problem"`
		} `json:"data"`
	}
	res, err := s.call(ctx, http.MethodPost, "/v1/messages/batch", map[string]any{"messages": bodies}, nil, &got)
	if err == nil && (res.StatusCode != http.StatusOK || len(got.Data) != len(bodies)) {
		err = fmt.Errorf("the batch was answered with status %d and %d answers", res.StatusCode, len(got.Data))
	}
	all := make([]answer, len(got.Data))
	for i, d := range got.Data {
		all[i] = answer{Status: d.Status, Replayed: d.Replayed}
		d.Answer.fill(&all[i])
		if d.Problem != nil {
			all[i].Problem = problemWords(d.Problem)
		}
	}
	return all, err
}

// problemWords are what a problem says of the case.
func problemWords(p *api.Problem) string {
	words := p.Detail
	for _, f := range p.Errors {
		words += " " + f.Pointer + f.Parameter + ": " + f.Detail
	}
	return words
}

// together sends the same request n times, of which some are under way at the same moment.
func (s *stage) together(ctx context.Context, it *intent, n, atOnce int) error {
	var (
		mu     sync.Mutex
		failed error
		all    sync.WaitGroup
	)
	turns := make(chan struct{}, atOnce)
	for range n {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			a, err := s.send(ctx, it.body, "")
			mu.Lock()
			defer mu.Unlock()
			it.answers = append(it.answers, a)
			if err != nil {
				failed = err
			}
		})
	}
	all.Wait()
	return failed
}

// wait waits for a message to be in one of the states, a few seconds at most.
func (s *stage) wait(ctx context.Context, message, states string) error {
	const patience = "15s" // longer than a carrier's answer is awaited
	return s.get(ctx, "/v1/messages/"+message+"?wait="+patience+"&state="+states, &api.OneMessageView{})
}

func (s *stage) get(ctx context.Context, path string, into any) error {
	res, err := s.call(ctx, http.MethodGet, path, nil, nil, into)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s was answered with status %d", path, res.StatusCode)
	}
	return err
}

// call makes one request. Its body is read whatever its status is.
func (s *stage) call(ctx context.Context, method, path string, body any, header http.Header, into any) (*http.Response, error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.gateway.URL+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	r.GetBody = nil // or the transport may send a request twice by itself, unseen
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer "+s.gateway.Key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := s.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return nil, fmt.Errorf("%s %s: what answers is no gateway, status %d", method, path, res.StatusCode)
	}
	return res, nil
}
