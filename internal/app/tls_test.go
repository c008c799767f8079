package app_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/ground/certs"
	"github.com/einmal/einmal/internal/ground/certs/certstest"
	"github.com/einmal/einmal/internal/provider/simulator"
)

// httpsClient speaks to a gateway with a certificate, or without one.
func httpsClient(t *testing.T, roots *certstest.Authority, mine *certstest.Leaf) *http.Client {
	t.Helper()
	pool, err := certs.Pool(roots.File)
	must(t, err)
	c := &tls.Config{RootCAs: pool}
	if mine != nil {
		pair, err := certs.Pair(mine.Cert, mine.Key)
		must(t, err)
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}, Timeout: 20 * time.Second}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// ask returns the status of a request, with a key or none ("").
func (g *gateway) ask(client *http.Client, path, key string) (int, error) {
	req, err := http.NewRequest(http.MethodGet, "https://"+g.Addr()+path, nil)
	must(g.t, err)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// A certificate that is replaced under load costs no request, on connections that are open and on new ones.
//
// covers: X7
func TestCertificateIsReplacedUnderLoad(t *testing.T) {
	ca := certstest.NewAuthority(t)
	leaf := ca.Sign("first.example", time.Hour)
	c := testConfig(t, "sqlite")
	c.Listen.TLS = app.ListenTLS{Cert: "file:" + leaf.Cert, Key: "file:" + leaf.Key}
	g := start(t, c)
	var stop atomic.Bool
	var asked, failed atomic.Int64
	var workers sync.WaitGroup
	for i := range 4 {
		client := httpsClient(t, ca, nil)
		workers.Go(func() {
			for !stop.Load() {
				if status, err := g.ask(client, "/v1/keys", g.key); err != nil || status != http.StatusOK {
					failed.Add(1)
					t.Errorf("%d %v", status, err)
				}
				if asked.Add(1); i%2 == 0 {
					client.CloseIdleConnections() // the next request shakes hands again
				}
			}
		})
	}
	seen := map[string]bool{}
	for _, name := range []string{"second.example", "third.example", "fourth.example"} {
		ca.SignInto(leaf, name, time.Hour)
		must(t, os.Chtimes(leaf.Cert, time.Time{}, time.Now().Add(time.Duration(len(seen)+1)*time.Hour)))
		g.Reload(t.Context())
		conn, err := tls.Dial("tcp", g.Addr(), &tls.Config{RootCAs: pool(t, ca)})
		must(t, err)
		seen[conn.ConnectionState().PeerCertificates[0].Subject.CommonName] = true
		must(t, conn.Close())
		for n := asked.Load(); asked.Load() < n+20; <-time.After(time.Millisecond) {
			if failed.Load() > 0 {
				break
			}
		}
	}
	stop.Store(true)
	workers.Wait()
	if !seen["second.example"] || !seen["third.example"] || !seen["fourth.example"] || failed.Load() > 0 {
		t.Errorf("the certificates seen are %v; %d of %d requests failed", seen, failed.Load(), asked.Load())
	}
}

func pool(t *testing.T, ca *certstest.Authority) *x509.CertPool {
	t.Helper()
	p, err := certs.Pool(ca.File)
	must(t, err)
	return p
}

func fingerprint(t *testing.T, l certstest.Leaf) string {
	t.Helper()
	b, err := os.ReadFile(l.Cert)
	must(t, err)
	block, _ := pem.Decode(b)
	sum := sha256.Sum256(block.Bytes)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// A certificate stands for its key, with the key's scopes; the key without the certificate is worth nothing, and other
// keys stay as they are.
//
// covers: X7
func TestClientCertificateIsAnIdentity(t *testing.T) {
	ca, clients := certstest.NewAuthority(t), certstest.NewAuthority(t)
	server, mine, other := ca.Sign("gateway.example", time.Hour), clients.Sign("app.example", time.Hour), clients.Sign("other.example", time.Hour)
	c := testConfig(t, "sqlite")
	first := start(t, c)
	reader, named := makeKey(first, "read"), makeKey(first, "read")
	first.stop()

	c.Listen.TLS = app.ListenTLS{Cert: "file:" + server.Cert, Key: "file:" + server.Key, ClientCA: "file:" + clients.File, ClientCert: "optional"}
	c.Listen.Clients = map[string]app.Client{
		"app":   {Fingerprint: fingerprint(t, mine), Key: reader.ID},
		"other": {Name: "other.example", Key: named.ID},
	}
	g := start(t, c)
	withMine, withOther, without := httpsClient(t, ca, &mine), httpsClient(t, ca, &other), httpsClient(t, ca, nil)
	for _, one := range []struct {
		name   string
		client *http.Client
		path   string
		key    string
		want   int
	}{
		{"the certificate alone", withMine, "/v1/messages", "", 200},
		{"a certificate by its name", withOther, "/v1/messages", "", 200},
		{"a scope that its key has not", withMine, "/v1/keys", "", 403},
		{"the certificate with its key", withMine, "/v1/messages", reader.Key, 200},
		{"the key without its certificate", without, "/v1/messages", reader.Key, 401},
		{"the key with another's certificate", withOther, "/v1/messages", reader.Key, 401},
		{"another key with a certificate", withMine, "/v1/keys", g.key, 200},
		{"another key without a certificate", without, "/v1/keys", g.key, 200},
		{"nothing", without, "/v1/messages", "", 401},
		{"no certificate where none is needed", without, "/readyz", "", 200},
	} {
		if got, err := g.ask(one.client, one.path, one.key); err != nil || got != one.want {
			t.Errorf("%s: %d %v, want %d", one.name, got, err, one.want)
		}
	}
	req, err := http.NewRequest(http.MethodDelete, "https://"+g.Addr()+"/v1/keys/"+reader.ID, nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+g.key)
	res, err := without.Do(req)
	must(t, err)
	must(t, res.Body.Close())
	if got, err := g.ask(withMine, "/v1/messages", ""); err != nil || got != 401 {
		t.Errorf("the certificate of a key that was revoked: %d %v", got, err)
	}
}

// madeKey is a new key as it is shown once.
type madeKey struct{ ID, Key string }

func makeKey(g *gateway, scope string) (k madeKey) {
	g.t.Helper()
	r := g.call(http.MethodPost, "/v1/keys", map[string]any{"name": "one", "scopes": []string{scope}})
	must(g.t, json.Unmarshal([]byte(r.Raw), &k))
	return k
}

// Clients have to show a certificate unless it is said that they need not.
//
// covers: X7
func TestCertificateIsRequired(t *testing.T) {
	ca, clients := certstest.NewAuthority(t), certstest.NewAuthority(t)
	server, mine, foreign := ca.Sign("gateway.example", time.Hour), clients.Sign("app.example", time.Hour), ca.Sign("app.example", time.Hour)
	c := testConfig(t, "sqlite")
	c.Listen.TLS = app.ListenTLS{Cert: "file:" + server.Cert, Key: "file:" + server.Key, ClientCA: "file:" + clients.File}
	g := start(t, c)
	if got, err := g.ask(httpsClient(t, ca, &mine), "/v1/keys", g.key); err != nil || got != 200 {
		t.Errorf("with a certificate: %d %v", got, err)
	}
	for name, client := range map[string]*http.Client{"none": httpsClient(t, ca, nil), "another authority's": httpsClient(t, ca, &foreign)} {
		if got, err := g.ask(client, "/v1/keys", g.key); err == nil {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// Keys that go in clear text over more than loopback are warned about at the start, and only those.
//
// covers: X7
func TestClearTextIsWarnedAbout(t *testing.T) {
	ca := certstest.NewAuthority(t)
	leaf := ca.Sign("gateway.example", time.Hour)
	for _, c := range []struct {
		listen string
		tls    bool
		warned bool
	}{{"127.0.0.1:0", false, false}, {"localhost:0", false, false}, {"[::1]:0", false, false}, {"0.0.0.0:0", false, true}, {":0", false, true}, {"0.0.0.0:0", true, false}} {
		cfg := testConfig(t, "sqlite")
		if cfg.Listen.HTTP = c.listen; c.tls {
			cfg.Listen.TLS = app.ListenTLS{Cert: "file:" + leaf.Cert, Key: "file:" + leaf.Key}
		}
		if got := cfg.Listen.InClear(); got != c.warned {
			t.Errorf("%s, TLS %t: in clear text %t", c.listen, c.tls, got)
		}
		if c.listen == "[::1]:0" {
			continue // not every machine has it
		}
		warned := make(warnings, 100)
		startLogged(t, cfg, slog.New(warned)).stop()
		if got := warned.about("clear text"); got != c.warned {
			t.Errorf("%s, TLS %t: warned %t", c.listen, c.tls, got)
		}
	}
}

// warnings are those of a log.
type warnings chan string

func (w warnings) Enabled(_ context.Context, l slog.Level) bool { return l == slog.LevelWarn }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	w <- r.Message
	return nil
}

func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warnings) WithGroup(string) slog.Handler      { return w }

// about reports whether one has these words.
func (w warnings) about(words string) bool {
	for range len(w) {
		if strings.Contains(<-w, words) {
			return true
		}
	}
	return false
}

// A carrier that wants our certificate gets it, and one whose own is not trusted gets no password.
//
// covers: X7
func TestCarrierOverTLS(t *testing.T) {
	ca, ours := certstest.NewAuthority(t), certstest.NewAuthority(t)
	server, mine := ca.Sign("smsc.example", time.Hour), ours.Sign("einmal", time.Hour)
	centre := simulator.New(simulator.Config{Echo: true})
	must(t, centre.Start())
	defer func() { _ = centre.Close() }()
	address := tlsFront(t, certs.Files{Cert: server.Cert, Key: server.Key, ClientCA: ours.File}, centre.Addr())
	for name, one := range map[string]struct {
		tls   app.TLS
		bound bool
	}{
		"right":             {app.TLS{CA: "file:" + ca.File, Cert: "file:" + mine.Cert, Key: "file:" + mine.Key, ServerName: "smsc.example"}, true},
		"another authority": {app.TLS{CA: "file:" + ours.File, Cert: "file:" + mine.Cert, Key: "file:" + mine.Key, ServerName: "smsc.example"}, false},
		"another name":      {app.TLS{CA: "file:" + ca.File, Cert: "file:" + mine.Cert, Key: "file:" + mine.Key, ServerName: "else.example"}, false},
		"no certificate":    {app.TLS{CA: "file:" + ca.File, ServerName: "smsc.example"}, false},
	} {
		c := testConfig(t, "sqlite")
		k := c.Connections["simulator"]
		k.Kind, k.Ledger, k.Address, k.SystemID, k.TLS = "smpp", "", address, "einmal", one.tls
		c.Connections = map[string]app.Connection{"carrier": k}
		said := make(binding, 1)
		g := startLogged(t, c, slog.New(said))
		if got := <-said; (got == "bound") != one.bound {
			t.Errorf("%s: the connection is %s", name, got)
		}
		g.stop()
	}
}

// binding is a log that tells whether the first bind came about.
type binding chan string

func (b binding) Enabled(context.Context, slog.Level) bool { return true }

func (b binding) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "bound" || r.Message == "not bound" {
		select {
		case b <- r.Message:
		default:
		}
	}
	return nil
}

func (b binding) WithAttrs([]slog.Attr) slog.Handler { return b }
func (b binding) WithGroup(string) slog.Handler      { return b }

// tlsFront is a listener that takes TLS off and hands on to an address.
func tlsFront(t *testing.T, f certs.Files, to string) string {
	t.Helper()
	s, err := certs.Open(f, slog.New(slog.DiscardHandler))
	must(t, err)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := tls.NewListener(plain, s.Config())
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = in.Close() }()
				if in.(*tls.Conn).Handshake() != nil {
					return
				}
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer func() { _ = out.Close() }()
				go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return plain.Addr().String()
}
