package torture_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/torture/check"
)

// answer is what the API says to a submission.
type answer struct {
	Decision struct{ ID ident.Decision }
	Message  struct{ ID ident.Message }
}

// maxTries is how often a request is repeated at once after an answer that asks for it.
const maxTries = 5

// shoot sends a request and repeats it while it is asked to. A gateway that is gone leaves it without an answer.
func (l *load) shoot(s *shot) {
	for range maxTries {
		var a answer
		status := l.call(http.MethodPost, "/v1/messages", s.key, body(&s.of.Ask, s.of.brief), &a)
		switch {
		case status == http.StatusCreated || status == http.StatusOK:
			l.told(s, status, &a)
			l.afterwards(s, a.Message.ID)
			return
		case status == 0:
			l.leave(s)
			return
		case status != http.StatusConflict && status < http.StatusInternalServerError:
			l.t.Errorf("a request for %s was answered with %d", s.of.Event, status)
			return
		}
		<-time.After(50 * time.Millisecond) // Retry-After is in whole seconds, which is longer than a test wants
	}
	l.leave(s)
}

// shootTogether sends requests as one batch. What has no definite answer is asked for again, alone.
func (l *load) shootTogether(shots []*shot) {
	messages := make([]any, len(shots))
	for i, s := range shots {
		m := body(&s.of.Ask, s.of.brief)
		if s.key != "" {
			m["idempotency_key"] = s.key
		}
		messages[i] = m
	}
	var got struct {
		Data []struct {
			Status int
			Answer answer
		}
	}
	if l.call(http.MethodPost, "/v1/messages/batch", "", map[string]any{"messages": messages}, &got) != http.StatusOK || len(got.Data) != len(shots) {
		for _, s := range shots {
			l.leave(s)
		}
		return
	}
	for i, one := range got.Data {
		switch {
		case one.Status == http.StatusCreated || one.Status == http.StatusOK:
			l.told(shots[i], one.Status, &one.Answer)
		case one.Status == http.StatusConflict || one.Status >= http.StatusInternalServerError:
			l.leave(shots[i])
		default:
			l.t.Errorf("a request for %s in a batch was answered with %d", shots[i].of.Event, one.Status)
		}
	}
}

func (l *load) told(s *shot, status int, a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, check.Ack{Ask: &s.of.Ask, Key: s.key, Status: status, Message: a.Message.ID, Decision: a.Decision.ID, At: time.Now()})
}

func (l *load) leave(s *shot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.untold = append(l.untold, s)
}

// afterwards is what a client does that has its answer: some take the message back, some use the key again.
func (l *load) afterwards(s *shot, id ident.Message) {
	if s != s.of.shots[0] || s.of.again {
		return
	}
	if s.of.cancel {
		if l.call(http.MethodPost, "/v1/messages/"+id.String()+"/cancel", "", map[string]string{"reason": "not wanted any more"}, nil) == http.StatusOK {
			l.mu.Lock()
			l.cancelled = append(l.cancelled, id)
			l.mu.Unlock()
		}
	}
	if s.of.misuse {
		l.mu.Lock()
		l.refused = append(l.refused, &s.of.misusing)
		l.mu.Unlock()
		status := l.call(http.MethodPost, "/v1/messages", s.key, body(&s.of.misusing, s.of.brief), nil)
		if status != http.StatusUnprocessableEntity && status != 0 && status < http.StatusInternalServerError {
			l.t.Errorf("another request under the key of %s was answered with %d, want 422", s.of.Event, status)
		}
	}
}

func body(a *check.Ask, brief bool) map[string]any {
	b := map[string]any{"to": a.To, "text": a.Text}
	if !a.Unnamed() {
		b["purpose"], b["event"] = a.Purpose, map[string]string{"type": "test", "id": a.Event, "version": "1"}
	}
	if brief {
		b["valid_for"] = "2s"
	}
	return b
}

// call makes a request and reads its answer into out. The status is 0 if there was no whole answer.
func (l *load) call(method, path, key string, body, out any) int {
	return l.callAs("", method, path, key, body, out)
}

// callAs is call with an API key of its own; "": the gateway's admin key.
func (l *load) callAs(own, method, path, key string, body, out any) int {
	url, token := l.gate()
	if own != "" {
		token = own
	}
	sent, err := json.Marshal(body)
	must(l.t, err)
	req, err := http.NewRequest(method, url+path, bytes.NewReader(sent))
	must(l.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", strconv.Quote(key))
	}
	res, err := l.client.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0
	}
	if out != nil && res.StatusCode < http.StatusMultipleChoices && json.Unmarshal(text, out) != nil {
		l.t.Errorf("%s %s: the answer cannot be read", method, path)
	}
	return res.StatusCode
}
