package deliver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/egress"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secrets = Secrets{Sealer: secret.NewSealer([secret.KeySize]byte{1}, nil)}

var loopback = egress.Rules{HTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func poster(t *testing.T, rules egress.Rules, roots *x509.CertPool) *Poster {
	t.Helper()
	p := &Poster{Secrets: secrets, Timeout: 2 * time.Second}
	p.Client = egress.NewClient(egress.Config{Rules: rules, KeepHost: 8, Timeout: p.Timeout, TLS: &tls.Config{RootCAs: roots}})
	t.Cleanup(p.Client.CloseIdleConnections)
	return p
}

// hookAt is an endpoint with its secret.
func hookAt(url string) (*store.Webhook, string) {
	w := &store.Webhook{ID: ident.NewWebhook(1), Tenant: 1, URL: url}
	var plain string
	plain, w.Secrets = secrets.First(w.ID)
	return w, plain
}

// Whoever has either secret can verify a request while they are exchanged, and afterwards whoever has the new one alone.
//
// covers: M6
func TestSignatures(t *testing.T) {
	type request struct {
		header http.Header
		body   []byte
	}
	got := make(chan request, 3)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Header, body}
	}))
	defer server.Close()
	p, now := poster(t, loopback, nil), time.Now()
	hook, first := hookAt(server.URL)
	verifies := func(r request, secret string) bool {
		w, err := standardwebhooks.NewWebhook(secret)
		return err == nil && w.Verify(r.body, r.header) == nil
	}
	send := func(at time.Time) request {
		t.Helper()
		if a := p.Post(t.Context(), hook, "evt_1", []byte(`{"a":1}`), at); a.Verdict() != webhook.Took {
			t.Fatalf("%+v", a)
		}
		return <-got
	}
	r := send(now)
	if !verifies(r, first) || string(r.body) != `{"a":1}` || r.header.Get("Content-Type") != "application/json" || r.header.Get("webhook-id") != "evt_1" {
		t.Errorf("%+v", r)
	}
	second, next, err := secrets.Next(t.Context(), hook, clock.FromTime(now), clock.FromTime(now.Add(time.Minute)))
	if err != nil || second == first {
		t.Fatal(err)
	}
	hook.Secrets = next
	if r = send(now); !verifies(r, first) || !verifies(r, second) {
		t.Errorf("while both are live: %v", r.header["Webhook-Signature"])
	}
	if r = send(now.Add(time.Minute)); verifies(r, first) || !verifies(r, second) {
		t.Errorf("once the former one is over: %v", r.header["Webhook-Signature"])
	}
	hook.Secrets.OwnKey = []byte("another's")
	if a := p.Post(t.Context(), hook, "evt_1", nil, now); a.Problem != webhook.Unbuilt {
		t.Errorf("without its key: %+v", a)
	}
}

// covers: I12, M6
func TestAnswers(t *testing.T) {
	date := time.Date(2026, 12, 31, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   webhook.Answer
	}{
		"yes":            {200, nil, "ok", webhook.Answer{Status: 200}},
		"a long yes":     {202, nil, strings.Repeat("x", 1<<20), webhook.Answer{Status: 202}},
		"no":             {500, nil, "", webhook.Answer{Status: 500}},
		"later":          {429, map[string]string{"Retry-After": "120"}, "", webhook.Answer{Status: 429, RetryAfter: 2 * time.Minute}},
		"at a time":      {503, map[string]string{"Date": date.Format(http.TimeFormat), "Retry-After": date.Add(time.Hour).Format(http.TimeFormat)}, "", webhook.Answer{Status: 503, RetryAfter: time.Hour}},
		"at a time over": {503, map[string]string{"Date": date.Format(http.TimeFormat), "Retry-After": date.Add(-time.Hour).Format(http.TimeFormat)}, "", webhook.Answer{Status: 503}},
		"whenever":       {503, map[string]string{"Retry-After": "soon"}, "", webhook.Answer{Status: 503}},
		"elsewhere":      {307, map[string]string{"Location": "http://127.0.0.1:1/"}, "", webhook.Answer{Status: 307}},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		hook, _ := hookAt(server.URL)
		if got := poster(t, loopback, nil).Post(t.Context(), hook, "evt_1", []byte("{}"), time.Now()); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		server.Close()
	}
}

// What went wrong is said in words of our own.
//
// covers: M6
func TestProblems(t *testing.T) {
	released := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	defer silent.Close()
	defer close(released)
	encrypted := httptest.NewUnstartedServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0)
	encrypted.StartTLS()
	defer encrypted.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	must(t, nobody.Close())
	for name, c := range map[string]struct {
		url   string
		rules egress.Rules
		want  webhook.Problem
	}{
		"silent":       {silent.URL, loopback, webhook.Timeout},
		"not trusted":  {encrypted.URL, loopback, webhook.BadTLS},
		"not TLS":      {strings.Replace(plain.URL, "http:", "https:", 1), loopback, webhook.BadTLS},
		"nobody there": {"http://" + nobody.Addr().String(), loopback, webhook.Unreachable},
		"not allowed":  {plain.URL, egress.Rules{HTTP: true}, webhook.Forbidden},
		"no address":   {"://", loopback, webhook.Forbidden},
	} {
		hook, _ := hookAt(c.url)
		p := poster(t, c.rules, nil)
		p.Timeout = 300 * time.Millisecond
		if got := p.Post(t.Context(), hook, "evt_1", []byte("{}"), time.Now()); got != (webhook.Answer{Problem: c.want}) {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// HTTP/2 has repeats of its own, and so has a connection that served before: an endpoint that has read a request and breaks
// off gets it once.
//
// covers: M6
func TestHTTP2SendsOnce(t *testing.T) {
	var read, breaks atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil || r.ProtoMajor != 2 {
			t.Errorf("HTTP/%d: %v", r.ProtoMajor, err)
		}
		read.Add(1)
		if breaks.Load() == 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	p := poster(t, loopback, roots)
	hook, _ := hookAt(server.URL)
	if a := p.Post(context.Background(), hook, "evt_1", []byte("{}"), time.Now()); a.Verdict() != webhook.Took {
		t.Fatalf("%+v", a)
	}
	breaks.Store(1)
	if a := p.Post(context.Background(), hook, "evt_2", []byte("{}"), time.Now()); a.Problem != webhook.Broken || read.Load() != 2 {
		t.Errorf("%+v after %d requests of two", a, read.Load())
	}
}

// Whoever lost the answers of rotations still has the secret from before the first, and requests are signed with it for as
// long as the first rotation said. Rotated without time for the former ones, nothing but the new one signs.
//
// covers: M6
func TestRotatedAgain(t *testing.T) {
	hook, first := hookAt("https://example.com/")
	begin := time.Now()
	at := func(d time.Duration) clock.Micros { return clock.FromTime(begin.Add(d)) }
	rotate := func(now, until time.Duration) string {
		t.Helper()
		plain, next, err := secrets.Next(t.Context(), hook, at(now), at(until))
		must(t, err)
		hook.Secrets = next
		return plain
	}
	signs := func(when time.Duration, plain string) bool {
		t.Helper()
		headers, err := secrets.headers(t.Context(), hook, "evt_1", []byte("{}"), begin.Add(when))
		must(t, err)
		want, err := sign(plain, "evt_1", begin.Add(when), []byte("{}"))
		must(t, err)
		return slices.Contains(strings.Fields(headers[standardwebhooks.HeaderWebhookSignature]), want)
	}
	second := rotate(0, time.Hour)
	third := rotate(time.Minute, 2*time.Hour)
	for when, want := range map[time.Duration][3]bool{
		30 * time.Minute: {true, true, true}, 90 * time.Minute: {false, true, true}, 150 * time.Minute: {false, false, true},
	} {
		if got := [3]bool{signs(when, first), signs(when, second), signs(when, third)}; got != want {
			t.Errorf("after %s the three sign: %v, want %v", when, got, want)
		}
	}
	rotate(2*time.Minute, 2*time.Hour)
	if _, _, err := secrets.Next(t.Context(), hook, at(3*time.Minute), at(time.Hour)); fault.CodeOf(err) != fault.State {
		t.Errorf("a fourth former one: %v", err)
	}
	last := rotate(3*time.Minute, 3*time.Minute)
	if signs(4*time.Minute, first) || signs(4*time.Minute, third) || !signs(4*time.Minute, last) || hook.Secrets.Former != nil {
		t.Error("a former one signs after all of them were ended")
	}
}
