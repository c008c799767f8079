package api

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
)

// Whether an answer got out is said of those that are awaited, and of them alone.
//
// covers: D18
func TestAnswersThatGetOut(t *testing.T) {
	w := newWorld(t)
	for awaited, want := range map[bool]int32{true: 1, false: 0} {
		w.outbound.sent.Store(0)
		w.outbound.answer.Unanswered = intent.Key{}
		if awaited {
			w.outbound.answer.Unanswered = intent.Key{1}
		}
		server := httptest.NewServer(w.api)
		req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages", strings.NewReader(ordinary))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+w.admin)
		req.Header.Set("Content-Type", "application/json")
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		server.Close() // the request has ended then
		if err != nil || res.StatusCode != http.StatusCreated || int64(len(body)) != res.ContentLength {
			t.Errorf("%d, %d octets, %v", res.StatusCode, len(body), err)
		}
		if got := w.outbound.sent.Load(); got != want {
			t.Errorf("awaited %v: %d answers got out, want %d", awaited, got, want)
		}
	}
}

// The caller goes away while its request is decided: its answer never gets out.
//
// covers: D18
func TestAnswersToNobody(t *testing.T) {
	w := newWorld(t)
	w.outbound.answer.Unanswered, w.outbound.gone = intent.Key{1}, make(chan struct{})
	server := httptest.NewServer(w.api)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+w.admin+
		"\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(ordinary))+"\r\n\r\n"+ordinary)
	if err != nil {
		t.Fatal(err)
	}
	<-w.outbound.gone
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if got := w.outbound.sent.Load(); got != 0 || len(w.outbound.got) != 1 {
		t.Errorf("%d requests, %d answers got out", len(w.outbound.got), got)
	}
}

// The caller is still there, and our own deadline passes before the answer is written: it never gets out either, alone
// or in a batch.
//
// covers: D18
func TestAnswersAfterTheDeadline(t *testing.T) {
	for path, body := range map[string]string{"/v1/messages": ordinary, "/v1/messages/batch": `{"messages":[` + ordinary + `]}`} {
		for late, want := range map[bool]int32{true: 0, false: 1} {
			w := newWorld(t)
			w.outbound.answer.Unanswered = intent.Key{1}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				if late { // as after a write deadline that passed while the request was decided on
					must(t, http.NewResponseController(out).SetWriteDeadline(time.Now().Add(-time.Second)))
				}
				w.api.ServeHTTP(out, r)
			}))
			server.Start()
			req, err := http.NewRequest(http.MethodPost, server.URL+path, strings.NewReader(body))
			must(t, err)
			req.Header.Set("Authorization", "Bearer "+w.admin)
			req.Header.Set("Content-Type", "application/json")
			res, err := server.Client().Do(req)
			if (err != nil) != late {
				t.Errorf("%s, late %v: the caller got %v, %v", path, late, res, err)
			}
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
			server.Close() // the request has ended then
			if got := w.outbound.sent.Load(); got != want || len(w.outbound.got) != 1 {
				t.Errorf("%s, late %v: %d requests, %d answers got out", path, late, len(w.outbound.got), got)
			}
		}
	}
}
