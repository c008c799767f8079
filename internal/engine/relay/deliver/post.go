package deliver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/egress"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

const (
	// PostTimeout is from the first look-up of the name to the end of the answer's head.
	PostTimeout = 10 * time.Second
	// readAtMost is how much of an answer is read, so that its connection serves again. What it says is not kept.
	readAtMost = 16 << 10
)

// Poster sends signed requests.
type Poster struct {
	Client  *http.Client
	Secrets Secrets
	Timeout time.Duration // 0: ten seconds
}

// Post sends a body to an endpoint, once, and says what came of it. now is the store's time: receivers compare it with
// their own, and a node's clock may be wrong.
func (p *Poster) Post(ctx context.Context, w *store.Webhook, id string, body []byte, now time.Time) webhook.Answer {
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return webhook.Answer{Problem: webhook.Forbidden} // it was an address when it was stored
	}
	r.GetBody = nil // else a request whose connection broke might be sent again, unseen
	headers, err := p.Secrets.headers(ctx, w, id, body, now)
	if err != nil {
		return webhook.Answer{Problem: ours(err)}
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Einmal")
	res, err := p.Client.Do(r)
	if err != nil {
		return webhook.Answer{Problem: problemOf(err)}
	}
	_, _ = io.CopyN(io.Discard, res.Body, readAtMost)
	_ = res.Body.Close()
	return webhook.Answer{Status: res.StatusCode, RetryAfter: retryAfter(res.Header)}
}

// ours is why the gateway could not make a request. A store that does not answer is no failure of the endpoint's; what
// can be read and is wrong counts as one, so that it ends in a dead letter that somebody sees.
func ours(err error) webhook.Problem {
	if fault.CodeOf(err) == fault.Unavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return webhook.NoStore
	}
	return webhook.Unbuilt
}

func (p *Poster) timeout() time.Duration { return cmp.Or(p.Timeout, PostTimeout) }

// problemOf puts an error into one of our own words: its text may hold what a name server or an endpoint wrote.
func problemOf(err error) webhook.Problem {
	var (
		dns       *net.DNSError
		op        *net.OpError
		untrusted *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		unknown   x509.UnknownAuthorityError
	)
	switch {
	case errors.Is(err, egress.ErrForbidden):
		return webhook.Forbidden
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return webhook.Timeout
	case errors.As(err, &dns):
		return webhook.Unresolved
	case errors.As(err, &untrusted) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &unknown) || errors.Is(err, http.ErrSchemeMismatch):
		return webhook.BadTLS
	case errors.As(err, &op) && op.Op == "dial":
		return webhook.Unreachable
	}
	return webhook.Broken
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// retryAfter reads what an endpoint asks for: seconds, or a time by its own clock, which its answer shows (RFC 9110,
// section 10.2.3).
func retryAfter(h http.Header) time.Duration {
	asked := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(asked, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	then, err := http.ParseTime(asked)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, then.Sub(now))
}
