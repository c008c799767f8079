package certs_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/certs"
	"github.com/einmal/einmal/internal/ground/certs/certstest"
)

// listen answers handshakes with what the server has, and nothing else.
func listen(t *testing.T, s *certs.Server) string {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := tls.NewListener(plain, s.Config())
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = c.(*tls.Conn).Handshake() // the client says whether it worked
				_, _ = c.Write([]byte("."))
				_ = c.Close()
			}()
		}
	}()
	return plain.Addr().String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shake makes a connection, reads a byte, so that the server's view of the client's certificate is known too, and
// returns the name in the server's certificate.
func shake(t *testing.T, address string, roots *certstest.Authority, mine *certstest.Leaf, version uint16) (string, error) {
	t.Helper()
	pool, err := certs.Pool(roots.File)
	must(t, err)
	c := &tls.Config{RootCAs: pool, MaxVersion: version}
	if mine != nil {
		pair, err := certs.Pair(mine.Cert, mine.Key)
		must(t, err)
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	conn, err := tls.Dial("tcp", address, c)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil { // the byte may come together with the end
		return "", err
	}
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func served(t *testing.T, f certs.Files) (*certs.Server, string, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	s, err := certs.Open(f, slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	return s, listen(t, s), &log
}

// later makes sure that a file looks otherwise than before, on file systems with coarse times too.
func later(t *testing.T, files ...string) {
	t.Helper()
	for _, f := range files {
		must(t, os.Chtimes(f, time.Time{}, time.Now().Add(time.Hour)))
	}
}

// A new certificate is used from the next connection on. A broken one, and one without its key, leave the one before.
//
// covers: X7
func TestReload(t *testing.T) {
	ca := certstest.NewAuthority(t)
	leaf := ca.Sign("first.example", time.Hour)
	s, address, log := served(t, certs.Files{Cert: leaf.Cert, Key: leaf.Key})
	expect := func(name string) {
		t.Helper()
		s.Check()
		if got, err := shake(t, address, ca, nil, 0); err != nil || got != name {
			t.Errorf("the server is %q (%v), want %q", got, err, name)
		}
	}
	expect("first.example")
	ca.SignInto(leaf, "second.example", time.Hour)
	later(t, leaf.Cert, leaf.Key)
	expect("second.example")
	other := ca.Sign("third.example", time.Hour)
	third, err := os.ReadFile(other.Cert)
	must(t, err)
	must(t, os.WriteFile(leaf.Cert, third, 0o600)) // its key is not there yet
	expect("second.example")
	expect("second.example")
	if n := strings.Count(log.String(), "is not used"); n != 1 {
		t.Errorf("a broken pair is told of %d times: %s", n, log)
	}
	key, err := os.ReadFile(other.Key)
	must(t, err)
	must(t, os.WriteFile(leaf.Key, key, 0o600))
	later(t, leaf.Key)
	expect("third.example")
	must(t, os.Remove(leaf.Cert))
	expect("third.example")
	if strings.Contains(log.String(), "PRIVATE") {
		t.Error("a key is logged")
	}
}

// The files are looked at without anybody asking.
func TestStartLooksAtTheFiles(t *testing.T) {
	ca := certstest.NewAuthority(t)
	leaf := ca.Sign("first.example", time.Hour)
	s, address, _ := served(t, certs.Files{Cert: leaf.Cert, Key: leaf.Key})
	s.Start(t.Context())
	defer s.Stop()
	ca.SignInto(leaf, "second.example", time.Hour)
	later(t, leaf.Cert)
	for end := time.Now().Add(20 * time.Second); ; <-time.After(50 * time.Millisecond) {
		if got, err := shake(t, address, ca, nil, 0); err == nil && got == "second.example" {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the new certificate is not used")
		}
	}
}

// Who shows no certificate, one of another authority, or one that is over, is not let in.
//
// covers: X7
func TestClientCertificates(t *testing.T) {
	ca, clients, others := certstest.NewAuthority(t), certstest.NewAuthority(t), certstest.NewAuthority(t)
	leaf := ca.Sign("server.example", time.Hour)
	good, expired, foreign := clients.Sign("app", time.Hour), clients.Sign("app", -time.Minute), others.Sign("app", time.Hour)
	for _, c := range []struct {
		name     string
		mine     *certstest.Leaf
		optional bool
		version  uint16
		in       bool
	}{
		{"good", &good, false, 0, true}, {"none", nil, false, 0, false}, {"none where it may be left out", nil, true, 0, true},
		{"expired", &expired, false, 0, false}, {"expired where it may be left out", &expired, true, 0, false},
		{"another authority", &foreign, false, 0, false}, {"TLS 1.2", &good, false, tls.VersionTLS12, true}, {"TLS 1.1", &good, false, tls.VersionTLS11, false},
	} {
		_, address, _ := served(t, certs.Files{Cert: leaf.Cert, Key: leaf.Key, ClientCA: clients.File, Optional: c.optional})
		if _, err := shake(t, address, ca, c.mine, c.version); (err == nil) != c.in {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An authority that is taken out of the file is not believed by the next connection, also of a client that comes again.
func TestClientAuthorityIsReplaced(t *testing.T) {
	ca, first, second := certstest.NewAuthority(t), certstest.NewAuthority(t), certstest.NewAuthority(t)
	leaf, mine := ca.Sign("server.example", time.Hour), first.Sign("app", time.Hour)
	s, address, _ := served(t, certs.Files{Cert: leaf.Cert, Key: leaf.Key, ClientCA: first.File})
	pool, err := certs.Pool(ca.File)
	must(t, err)
	pair, err := certs.Pair(mine.Cert, mine.Key)
	must(t, err)
	again := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	dial := func() error {
		conn, err := tls.Dial("tcp", address, again)
		if err == nil {
			_, err = io.ReadFull(conn, make([]byte, 1))
			_ = conn.Close()
		}
		return err
	}
	must(t, dial())
	b, err := os.ReadFile(second.File)
	must(t, err)
	must(t, os.WriteFile(first.File, b, 0o600))
	later(t, first.File)
	s.Check()
	if dial() == nil {
		t.Error("a client of an authority that is not there any more was let in")
	}
}

func TestOpenRefusesWhatIsBroken(t *testing.T) {
	ca := certstest.NewAuthority(t)
	leaf, other := ca.Sign("a.example", time.Hour), ca.Sign("b.example", time.Hour)
	for name, f := range map[string]certs.Files{
		"no file": {Cert: "/no/such", Key: leaf.Key}, "another's key": {Cert: leaf.Cert, Key: other.Key}, "no authority": {Cert: leaf.Cert, Key: leaf.Key, ClientCA: leaf.Key},
	} {
		if _, err := certs.Open(f, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
