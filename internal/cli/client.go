package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/ground/certs"
	"github.com/einmal/einmal/internal/ground/secret"
)

// clientFlags say which gateway to talk to, and as whom.
type clientFlags struct {
	URL     string `help:"The gateway." default:"http://127.0.0.1:8080" env:"EINMAL_URL"`
	KeyFile string `help:"File with the API key; EINMAL_KEY in the environment comes first." default:"./einmal-data/admin.key" type:"path"`
	JSON    bool   `name:"json" help:"Print the gateway's JSON."`

	CA         string `name:"ca" help:"File with the certificates by which the gateway's is checked; else the system's." type:"path" placeholder:"FILE"`
	ClientCert string `help:"File with our certificate, where the gateway wants one. It may stand for an API key." type:"path" placeholder:"FILE"`
	ClientKey  string `help:"File with its key." type:"path" placeholder:"FILE"`
}

// clientTimeout bounds one request: the gateway answers within its own write timeout or not at all.
const clientTimeout = 35 * time.Second

// client talks to a gateway.
type client struct {
	base string
	key  string
	http *http.Client
}

func (f *clientFlags) client(env *Env) (*client, error) {
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &failure{code: exitUsage, text: "not the URL of a gateway: write it like http://127.0.0.1:8080"}
	}
	key, err := f.key(env)
	if err != nil {
		return nil, err
	}
	transport, err := f.transport()
	if err != nil {
		return nil, &failure{code: exitUsage, text: err.Error()}
	}
	return &client{base: strings.TrimRight(f.URL, "/"), key: key, http: &http.Client{
		Transport: transport, Timeout: clientTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key goes nowhere else
	}}, nil
}

// maxKeyFile is how much is read of a key's file, in bytes: a key has less than a hundred.
const maxKeyFile = 4096

// whereKeys says how to come by a key.
const whereKeys = "einmal serve writes one to admin.key in its data folder when an installation is new, einmal key create makes others; give --key-file FILE, or set EINMAL_KEY"

// key reads the API key. What is none goes nowhere, and is not printed: it may be any secret.
func (f *clientFlags) key(env *Env) (string, error) {
	key, source := env.Getenv("EINMAL_KEY"), "what EINMAL_KEY holds"
	if key == "" {
		raw, err := readKeyFile(f.KeyFile)
		if errors.Is(err, fs.ErrNotExist) && f.ClientCert != "" {
			return "", nil // the certificate is who we are
		}
		if errors.Is(err, fs.ErrNotExist) {
			return "", &failure{code: exitRefused, text: "no API key: " + f.KeyFile + " does not exist",
				next: "the first einmal serve of an installation makes it; or give --key-file FILE, or set EINMAL_KEY; where all are lost: einmal key admin"}
		}
		if err != nil {
			return "", &failure{code: exitRefused, text: "the API key cannot be read: " + err.Error(), next: "give --key-file FILE, or set EINMAL_KEY"}
		}
		key, source = raw, "what "+f.KeyFile+" holds"
	}
	key = strings.TrimSpace(key)
	if _, err := secret.ParseAPIKey(key); err != nil {
		return "", &failure{code: exitRefused, text: "this is not an API key: " + source + "; nothing was asked of the gateway", next: whereKeys}
	}
	return key, nil
}

// transport trusts the authorities that are named, and shows our certificate.
func (f *clientFlags) transport() (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone() // it is one, as net/http has it
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if f.CA != "" {
		if c.RootCAs, err = certs.Pool(f.CA); err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
	}
	if f.ClientCert != "" {
		pair, err := certs.Pair(f.ClientCert, f.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("--client-cert, --client-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	t.TLSClientConfig = c
	return t, nil
}

func readKeyFile(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close() // it was read
	raw, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	return string(raw), err
}

// answer is what a gateway said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// errLost says that a request may have reached the gateway, whose answer did not come back.
var errLost = errors.New("the answer was lost")

// do sends one request, once. An answer that is an error comes back as one, with the answer.
func (c *client) do(ctx context.Context, method, path string, body []byte, header http.Header) (*answer, error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, unsent(err)
	}
	r.GetBody = nil // else the transport may repeat a request that has an Idempotency-Key, unseen
	if header != nil {
		r.Header = header.Clone()
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(r)
	switch {
	case err != nil && connected.Load():
		return nil, fmt.Errorf("%w: %w", errLost, err)
	case err != nil:
		return nil, c.unreached(err)
	}
	defer res.Body.Close() // it was read
	raw, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	a := &answer{res.StatusCode, res.Header, raw}
	if res.StatusCode >= 300 {
		return a, problemError(a)
	}
	return a, nil
}

// unreached is an error from before there was a connection: nothing of the request has left this machine, so
// there is no answer that could be lost.
func (c *client) unreached(err error) error {
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return &failure{code: exitFailed, text: "the certificate of " + c.base + " is of an authority that this machine does not trust; nothing was sent", next: "give the authority's certificates with --ca FILE"}
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, context.DeadlineExceeded) {
		return &failure{code: exitUnreachable, text: "no gateway answers at " + c.base, next: "einmal serve   (or give --url)"}
	}
	return unsent(err)
}

func unsent(err error) error {
	return &failure{code: exitFailed, text: "the request was not sent: " + clean(err.Error())}
}

// get asks and decodes.
func (c *client) get(ctx context.Context, path string, into any) ([]byte, error) {
	a, err := c.do(ctx, http.MethodGet, path, nil, nil)
	if errors.Is(err, errLost) {
		return nil, &failure{code: exitUnreachable, text: "the gateway's answer was lost", next: "run the same command again"}
	}
	if err != nil {
		return nil, err
	}
	return a.body, json.Unmarshal(a.body, into)
}

// exitCodes are those of problems; all others fail with 1.
var exitCodes = map[string]int{
	"invalid_request": exitUsage, "not_found": exitNotFound, "unavailable": exitUnreachable, "in_progress": exitUnreachable,
	"unauthenticated": exitRefused, "scope": exitRefused, "suspended": exitRefused, "team": exitRefused, "limit": exitRefused, "funds": exitRefused,
}

var nextSteps = map[string]string{
	"unavailable": "run the same command again", "in_progress": "run the same command again",
	"unauthenticated": "give --key-file FILE, or set EINMAL_KEY",
	"scope":           "einmal key create --name NAME --scope SCOPE   (with an admin key)",
}

// problemError puts a problem document into words.
func problemError(a *answer) error {
	var p api.Problem
	if err := json.Unmarshal(a.body, &p); err != nil || p.Code == "" {
		return &failure{code: exitFailed, text: fmt.Sprintf("what answered is no gateway: status %d", a.status), next: "check --url"}
	}
	f := &failure{code: exitFailed, text: clean(p.Title), next: nextSteps[p.Code]}
	if p.Detail != "" {
		f.text += ": " + clean(p.Detail)
	}
	for _, field := range p.Errors {
		f.text += "\n  " + clean(strings.TrimPrefix(field.Pointer, "#/")+field.Parameter+": "+field.Detail)
	}
	if p.Decision != nil {
		f.next = "einmal explain " + clean(p.Decision.ID)
	}
	if code, ok := exitCodes[p.Code]; ok {
		f.code = code
	}
	return f
}
