package egress

import (
	"bufio"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

func TestPublicAddressesArePermitted(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.3.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
		"2606:4700:4700::1111", "2001:4860:4860::8888", "2003::1", "2a00:1450::1"} {
		if !(Rules{}).Permits(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
	inside := Rules{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for a, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.2.3": false, "127.0.0.1": false, "8.8.8.8": true} {
		if got := inside.Permits(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s with 10.1.0.0/16 allowed: %v", a, got)
		}
	}
	if (Rules{}).Permits(netip.Addr{}) {
		t.Error("no address is permitted")
	}
}

func TestURLs(t *testing.T) {
	for text, right := range map[string]string{
		"https://example.com/hooks": "", "https://example.com:8443/": "", "https://example.com:80/": "", "https://8.8.8.8/": "", "https://[2606:4700::1]/": "",
		"http://example.com/":            "https://",
		"ftp://example.com/":             "https://",
		"example.com/hooks":              "write it like",
		"https:///hooks":                 "write it like",
		"https:example.com":              "write it like",
		"https://user:pass@example.com/": "name and password",
		"https://example.com/#part":      "never sent",
		"https://example.com:25/":        "port 443",
		"https://example.com:22/":        "port 443",
		"https://example.com:0/":         "port 443",
		"https://localhost/":             "has to be public",
		"https://a.localhost/":           "has to be public",
		"https://127.0.0.1/":             "has to be public",
		"https://0x7f000001/":            "has to be public",
		"https://127.1/":                 "has to be public",
		"https://[::1]/":                 "has to be public",
		"https://[::ffff:8.8.8.8]/":      "has to be public",
		"https://169.254.169.254/":       "has to be public",
	} {
		_, err := Rules{}.URL(text)
		if right == "" && err != nil || right != "" && (err == nil || !strings.Contains(err.Error(), right)) {
			t.Errorf("%s: %v, want %q", text, err, right)
		}
	}
	open := Rules{HTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for _, text := range []string{"http://127.0.0.1:9000/", "http://localhost:9000/", "http://example.com/", "https://example.com/"} {
		if _, err := open.URL(text); err != nil {
			t.Errorf("%s where it is allowed: %v", text, err)
		}
	}
}

// A connection that breaks after the request was read may have told the endpoint everything: the request is not sent
// again by itself, also on a connection that had served before.
//
// covers: M6
func TestABrokenConnectionSendsOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serveThenBreak(c, &requests)
		}
	}()
	defer func() {
		_ = l.Close()
		<-done
	}()
	c := client(t, Rules{HTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, newNames(t, addrs("127.0.0.1")))
	to := "http://" + l.Addr().String() + "/"
	if status, err := post(t, c, to); err != nil || status != 200 {
		t.Fatalf("%d, %v", status, err)
	}
	if _, err := post(t, c, to); err == nil {
		t.Error("the broken connection gave an answer")
	}
	if got := requests.Load(); got != 2 {
		t.Errorf("the endpoint read %d requests of two that were sent", got)
	}
}

// serveThenBreak answers the first request of a connection, and reads the second one and resets.
func serveThenBreak(c net.Conn, requests *atomic.Int64) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for n := 0; ; n++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := in.Discard(int(r.ContentLength)); err != nil {
			return
		}
		requests.Add(1)
		if n > 0 {
			_ = c.(*net.TCPConn).SetLinger(0) // a reset, not an end
			return
		}
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	}
}
