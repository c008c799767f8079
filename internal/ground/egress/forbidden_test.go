package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forms are ways to write an address that is not to be reached. PORT is the listener's. What is no address in Go's eyes
// is a name, and every name leads to loopback here, as a tenant's own name server may have it.
var forms = []string{
	// Loopback, as other systems read it: decimal, octal, hexadecimal, short.
	"http://127.0.0.1:PORT/", "http://127.0.0.1:PORT", "http://127.1:PORT/", "http://127.0.1:PORT/", "http://127.127.127.127:PORT/",
	"http://127.255.255.254:PORT/", "http://2130706433:PORT/", "http://017700000001:PORT/", "http://0177.0.0.1:PORT/", "http://0177.0.0.01:PORT/",
	"http://0x7f000001:PORT/", "http://0x7f.0x0.0x0.0x1:PORT/", "http://0x7f.1:PORT/", "http://0X7F.0.0.1:PORT/", "http://127.0.0.1.:PORT/",
	"http://00000177.0.0.1:PORT/", "http://127.00.00.01:PORT/", "http://4294967295:PORT/", "http://127.0.0.1%2f:PORT/", "http://①②⑦.⓪.⓪.①:PORT/",
	"http://127。0。0。1:PORT/", "http://0:PORT/", "http://0.0.0.0:PORT/", "http://0.1.2.3:PORT/",
	// Private, shared, link-local, metadata.
	"http://10.0.0.1:PORT/", "http://10.255.255.255:PORT/", "http://172.16.0.1:PORT/", "http://172.31.255.254:PORT/", "http://192.168.0.1:PORT/",
	"http://192.168.255.254:PORT/", "http://100.64.0.1:PORT/", "http://100.127.255.254:PORT/", "http://169.254.169.254:PORT/latest/meta-data/",
	"http://169.254.170.2:PORT/v2/credentials", "http://100.100.100.200:PORT/latest/meta-data/", "http://192.0.0.192:PORT/", "http://168430090:PORT/",
	"http://0xa9fea9fe:PORT/", "http://2852039166:PORT/", "http://0251.0376.0251.0376:PORT/",
	// Documentation, benchmarks, relays, multicast, reserved, broadcast.
	"http://192.0.2.1:PORT/", "http://198.51.100.7:PORT/", "http://203.0.113.9:PORT/", "http://198.18.0.1:PORT/", "http://198.19.255.254:PORT/",
	"http://192.88.99.1:PORT/", "http://224.0.0.1:PORT/", "http://239.255.255.250:PORT/", "http://240.0.0.1:PORT/", "http://255.255.255.255:PORT/",
	// IPv6 and its spellings.
	"http://[::1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT/", "http://[::]:PORT/",
	"http://[0::0]:PORT/", "http://[::0001]:PORT/", "http://[::1%25lo]:PORT/", "http://[fe80::1]:PORT/", "http://[fe80::1%25lo]:PORT/",
	"http://[febf::1]:PORT/", "http://[fec0::1]:PORT/", "http://[fc00::1]:PORT/", "http://[fd00:ec2::254]:PORT/latest/meta-data/",
	"http://[fdff:ffff::1]:PORT/", "http://[ff02::1]:PORT/", "http://[ff0e::1]:PORT/", "http://[2001:db8::1]:PORT/", "http://[3fff::1]:PORT/",
	"http://[100::1]:PORT/", "http://[2001:2::1]:PORT/", "http://[2001:10::1]:PORT/", "http://[2001:20::1]:PORT/", "http://[5f00::1]:PORT/", "http://[4000::1]:PORT/",
	// IPv6 that carries IPv4: mapped, compatible, translated, NAT64, 6to4, Teredo.
	"http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:7f00:1]:PORT/", "http://[0:0:0:0:0:ffff:7f00:0001]:PORT/", "http://[::FFFF:169.254.169.254]:PORT/",
	"http://[::ffff:8.8.8.8]:PORT/", "http://[::127.0.0.1]:PORT/", "http://[::7f00:1]:PORT/", "http://[::ffff:0:127.0.0.1]:PORT/",
	"http://[64:ff9b::127.0.0.1]:PORT/", "http://[64:ff9b::7f00:1]:PORT/", "http://[64:ff9b::8.8.8.8]:PORT/", "http://[64:ff9b:1::7f00:1]:PORT/",
	"http://[2002:7f00:1::1]:PORT/", "http://[2002:a9fe:a9fe::]:PORT/", "http://[2001::7f00:1]:PORT/", "http://[2001:0:7f00:1::1]:PORT/",
	// Names.
	"http://localhost:PORT/", "http://LOCALHOST:PORT/", "http://localhost.:PORT/", "http://localhost.localdomain:PORT/", "http://api.localhost:PORT/",
	"http://ip6-localhost:PORT/", "http://metadata.google.internal:PORT/", "http://hooks.example.com:PORT/", "http://127.0.0.1.nip.io:PORT/",
	"http://xn--example-9ua.com:PORT/", "http://user@hooks.example.com:PORT/", "http://8.8.8.8@hooks.example.com:PORT/",
	"http://hooks.example.com:PORT#@8.8.8.8/", "http://internal:PORT/", "http://a.b.c.d.e.f.example.org:PORT/",
}

// place is a listener on both loopbacks under one port, which counts who comes.
type place struct {
	port  string
	seen  atomic.Int64
	hosts atomic.Value
}

func newPlace(t *testing.T, addresses ...string) *place {
	t.Helper()
	p := &place{port: "0"}
	for _, address := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(address, p.port))
		if err != nil {
			t.Fatal(err)
		}
		_, p.port, _ = net.SplitHostPort(l.Addr().String())
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }))
		_ = s.Listener.Close()
		s.Listener = l
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				p.seen.Add(1)
				p.hosts.Store(address)
			}
		}
		s.Start()
		t.Cleanup(s.Close)
	}
	return p
}

func (p *place) url(form string) string { return strings.Replace(form, "PORT", p.port, 1) }

// post sends one request, as a webhook is sent.
func post(t *testing.T, c *http.Client, to string) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader("{}"))
	if err != nil {
		return 0, err
	}
	r.GetBody = nil
	res, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	_ = res.Body.Close()
	return res.StatusCode, nil
}

func client(t *testing.T, r Rules, n *names) *http.Client {
	t.Helper()
	c := NewClient(Config{Rules: r, Resolver: n.resolver(), KeepHost: 2, Timeout: 5 * time.Second})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// No form of an inside address leads to a connection, whatever a name server says.
//
// covers: M6
func TestForbiddenAddresses(t *testing.T) {
	if len(forms) < 80 {
		t.Fatalf("%d forms", len(forms))
	}
	p := newPlace(t, "127.0.0.1", "::1")
	n := newNames(t, addrs("127.0.0.1", "::1"))
	c := client(t, Rules{HTTP: true}, n)
	for _, form := range forms {
		status, err := post(t, c, p.url(form))
		if err == nil {
			t.Errorf("%s answered %d", form, status)
		}
		var dns *net.DNSError
		if parses := !strings.Contains(errText(err), "parse"); parses && !errors.Is(err, ErrForbidden) && !errors.As(err, &dns) {
			t.Errorf("%s failed otherwise: %v", form, err)
		}
	}
	if got := p.seen.Load(); got != 0 {
		t.Errorf("%d connections reached the listener", got)
	}
	allowed := client(t, Rules{HTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, n)
	if status, err := post(t, allowed, p.url("http://hooks.example.com:PORT/")); err != nil || status != http.StatusNoContent || p.seen.Load() != 1 {
		t.Errorf("what is allowed is not reached, so that nothing was proved: %d, %v", status, err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Names that have inside addresses among others, one after another or both at once: each address is looked at when it is
// dialled.
//
// covers: M6
func TestRebinding(t *testing.T) {
	inside, allowed := newPlace(t, "127.0.0.1"), Rules{HTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}
	l, err := net.Listen("tcp", "127.0.0.2:"+inside.port)
	if err != nil {
		t.Fatal(err)
	}
	public := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	_ = public.Listener.Close()
	public.Listener = l
	public.Start()
	defer public.Close()
	to := inside.url("http://hooks.example.com:PORT/")

	changes := client(t, allowed, newNames(t, addrs("127.0.0.2"), addrs("127.0.0.1")))
	if status, err := post(t, changes, to); err != nil || status != http.StatusOK {
		t.Errorf("the first time: %d, %v", status, err)
	}
	changes.CloseIdleConnections()
	if status, err := post(t, changes, to); !errors.Is(err, ErrForbidden) {
		t.Errorf("once the name has changed: %d, %v", status, err)
	}
	both := client(t, allowed, newNames(t, addrs("127.0.0.1", "127.0.0.2", "::1")))
	if status, err := post(t, both, to); err != nil || status != http.StatusOK {
		t.Errorf("of two addresses the one that is allowed: %d, %v", status, err)
	}
	if inside.seen.Load() != 0 {
		t.Errorf("%d connections reached the inside", inside.seen.Load())
	}
}

// An answer that sends the client elsewhere is the answer: nobody goes there.
//
// covers: M6
func TestRedirectsAreNotFollowed(t *testing.T) {
	inside := newPlace(t, "127.0.0.1")
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{inside.url("http://127.0.0.1:PORT/"), inside.url("//127.0.0.1:PORT/"), inside.url("http://hooks.example.com:PORT/")} {
			outside := httptest.NewServer(http.RedirectHandler(to, status))
			c := client(t, Rules{HTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, newNames(t, addrs("127.0.0.1")))
			if got, err := post(t, c, outside.URL); err != nil || got != status {
				t.Errorf("%d to %s: %d, %v", status, to, got, err)
			}
			outside.Close()
		}
	}
	if inside.seen.Load() != 0 {
		t.Errorf("%d connections were led inside", inside.seen.Load())
	}
}

// covers: M6
func TestProxyOfTheEnvironmentIsNotAsked(t *testing.T) {
	proxy := newPlace(t, "127.0.0.1")
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.url("http://127.0.0.1:PORT"))
	}
	c := client(t, Rules{HTTP: true}, newNames(t, addrs("203.0.113.1")))
	if _, err := post(t, c, "http://hooks.example.com/"); !errors.Is(err, ErrForbidden) || proxy.seen.Load() != 0 {
		t.Errorf("%d connections to the proxy, %v", proxy.seen.Load(), err)
	}
	if tr := c.Transport.(*http.Transport); tr.Proxy != nil {
		t.Error("the transport has a proxy")
	}
}
