package smpp_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// TestTLS: a bind and a submission over TLS with a certificate that is checked.
func TestTLS(t *testing.T) {
	https := httptest.NewUnstartedServer(nil)
	https.StartTLS()
	defer https.Close()
	c := newCentre(t)
	c.listener = tls.NewListener(c.listener, &tls.Config{Certificates: https.TLS.Certificates, MinVersion: tls.VersionTLS12})
	roots := x509.NewCertPool()
	roots.AddCert(https.Certificate())

	cfg := config(c.address())
	cfg.TLS, cfg.TLSConfig = true, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	p := started(t, cfg, newGate())
	c.bound()
	ready(t, p)
	outcomes := make(chan provider.Outcome, 1)
	p.Submit(message, func(o provider.Outcome) { outcomes <- o })
	c.answer(c.read(wire.CmdSubmitSM), wire.StatusOK, &wire.MessageID{ID: "a"})
	if o := <-outcomes; o.Kind != provider.Accepted {
		t.Errorf("%+v", o)
	}
}

// TestTLSUntrusted: a certificate that is not trusted gets no password.
func TestTLSUntrusted(t *testing.T) {
	https := httptest.NewUnstartedServer(nil)
	https.StartTLS()
	defer https.Close()
	c := newCentre(t)
	c.listener = tls.NewListener(c.listener, &tls.Config{Certificates: https.TLS.Certificates, MinVersion: tls.VersionTLS12})
	cfg := config(c.address())
	cfg.TLS, cfg.BackoffMin, cfg.BackoffMax = true, time.Hour, time.Hour
	p := started(t, cfg, newGate())
	conn, err := c.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 100)); err == nil || n > 0 {
		t.Errorf("%d octets were sent", n)
	}
	if p.Free() != 0 || strings.Contains(p.Status(), "bound") {
		t.Error(p.Status())
	}
}
