package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
)

// clientFlags say which gateway to talk to, and as whom.
type clientFlags struct {
	URL     string `help:"The gateway." default:"http://127.0.0.1:8080" env:"EINMAL_URL"`
	KeyFile string `help:"File with the API key; EINMAL_KEY in the environment comes first." default:"./einmal-data/admin.key" type:"path"`
	JSON    bool   `name:"json" help:"Print the gateway's JSON."`
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
	return &client{base: strings.TrimRight(f.URL, "/"), key: key, http: &http.Client{
		Timeout:       clientTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key goes nowhere else
	}}, nil
}

func (f *clientFlags) key(env *Env) (string, error) {
	if key := env.Getenv("EINMAL_KEY"); key != "" {
		return key, nil
	}
	raw, err := os.ReadFile(f.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &failure{code: exitRefused, text: "no API key: " + f.KeyFile + " does not exist",
			next: "einmal serve makes it; or give --key-file FILE, or set EINMAL_KEY"}
	}
	if err != nil {
		return "", &failure{code: exitRefused, text: "the API key cannot be read: " + err.Error(), next: "give --key-file FILE, or set EINMAL_KEY"}
	}
	return strings.TrimSpace(string(raw)), nil
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
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.GetBody = nil // else the transport may repeat a request that has an Idempotency-Key, unseen
	if header != nil {
		r.Header = header.Clone()
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, c.networkError(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
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

// networkError tells a gateway that was never reached from an answer that was lost.
func (c *client) networkError(err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return &failure{code: exitUnreachable, text: "no gateway answers at " + c.base, next: "einmal serve   (or give --url)"}
	}
	return fmt.Errorf("%w: %w", errLost, err)
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
	"unauthenticated": exitRefused, "scope": exitRefused,
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
	f := &failure{code: exitFailed, text: p.Title, next: nextSteps[p.Code]}
	if p.Detail != "" {
		f.text += ": " + clean(p.Detail)
	}
	for _, field := range p.Errors {
		f.text += "\n  " + clean(strings.TrimPrefix(field.Pointer, "#/")+field.Parameter+": "+field.Detail)
	}
	if code, ok := exitCodes[p.Code]; ok {
		f.code = code
	}
	return f
}
