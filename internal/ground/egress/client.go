package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrForbidden says that an address is none that the gateway goes to. It does not say which: who asks may be fishing.
var ErrForbidden = errors.New("the address is none that the gateway goes to")

// Config is what a client is made of.
type Config struct {
	Rules
	Resolver *net.Resolver // nil: the system's
	KeepHost int           // idle connections to one host that are kept; there may be more in use
	Timeout  time.Duration // from the dialling to the end of the answer's head
	TLS      *tls.Config   // nil: the system's roots
}

const (
	keepIdle   = 10 * time.Second // shorter than most servers keep one: a request on a connection that just ends fails
	maxIdle    = 256
	maxHeaders = 16 << 10
)

// NewClient returns a client that obeys the rules. It opens as many connections as there are requests: with a limit for a
// host, whoever shares it with an endpoint that hangs would wait for that one, and the wait would count as its own failure.
// Callers bound the requests of each.
func NewClient(c Config) *http.Client {
	dialer := &net.Dialer{Timeout: c.Timeout, Resolver: c.Resolver, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return c.check(address)
	}}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil, DialContext: c.dial(dialer), ForceAttemptHTTP2: true, TLSClientConfig: c.TLS,
			MaxIdleConnsPerHost: c.KeepHost, MaxIdleConns: maxIdle, IdleConnTimeout: keepIdle,
			TLSHandshakeTimeout: c.Timeout, ResponseHeaderTimeout: c.Timeout, MaxResponseHeaderBytes: maxHeaders,
			DisableCompression: true,
		},
	}
}

// dial looks at an address that was written as one before the dialler takes it apart: an IPv4 address in the form of IPv6
// would be dialled as if it had been written as itself.
func (r Rules) dial(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if _, err := netip.ParseAddrPort(address); err == nil {
			if err := r.check(address); err != nil {
				return nil, err
			}
		}
		return d.DialContext(ctx, network, address)
	}
}

// check is called with each address after it was resolved and before anything is sent to it.
func (r Rules) check(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !permitsPort(at.Port()) || !r.Permits(at.Addr()) {
		return ErrForbidden
	}
	return nil
}

// URL reads an address that somebody wants to be told at, and says what would be right. It is a courtesy: what counts is
// checked when it is dialled.
func (r Rules) URL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("not an address: write it like https://example.com/hooks")
	case u.Scheme != "https" && (u.Scheme != "http" || !r.HTTP):
		return nil, errors.New("write an address that begins with https://")
	case u.User != nil:
		return nil, errors.New("leave out the name and password before the host: requests are signed")
	case u.Fragment != "":
		return nil, errors.New("leave out what follows the sign #: it is never sent")
	}
	port, err := portOf(u)
	if err != nil || !permitsPort(port) {
		return nil, errors.New("choose the port 443, 80, or one above 1023")
	}
	if err := r.host(u.Hostname()); err != nil {
		return nil, err
	}
	return u, nil
}

func portOf(u *url.URL) (uint16, error) {
	switch {
	case u.Port() != "":
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		return uint16(n), err
	case u.Scheme == "http":
		return 80, nil
	}
	return 443, nil
}

var errHost = errors.New("the host has to be public: the gateway does not go to addresses of its own network")

// host refuses what can only be an inside address. A last label of digits is no name: some systems read it as a number.
func (r Rules) host(name string) error {
	if a, err := netip.ParseAddr(name); err == nil {
		if !r.Permits(a) {
			return errHost
		}
		return nil
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(name), "."), ".")
	last := labels[len(labels)-1]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return errHost
	}
	if last == "localhost" && len(r.Allow) == 0 {
		return errHost
	}
	return nil
}
