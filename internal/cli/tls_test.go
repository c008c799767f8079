package cli

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/certs"
	"github.com/einmal/einmal/internal/ground/certs/certstest"
)

// Commands check a gateway's certificate by an authority of one's own, and come with a certificate in place of a key.
//
// covers: X7
func TestCommandsOverTLS(t *testing.T) {
	ca, clients := certstest.NewAuthority(t), certstest.NewAuthority(t)
	leaf, mine := ca.Sign("gateway.example", time.Hour), clients.Sign("me", time.Hour)
	pair, err := certs.Pair(leaf.Cert, leaf.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := certs.Pool(clients.File)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if len(r.Header.Values("Authorization")) != 0 || r.TLS.PeerCertificates[0].Subject.CommonName != "me" {
			t.Errorf("%v", r.Header)
		}
		reply(w, 200, `{"data":[],"next":null}`)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	defer server.Close()
	m := newMachine(t, nil)
	m.url, m.env = server.URL, nil
	right := []string{"key", "list", "--key-file", filepath.Join(t.TempDir(), "none"), "--client-cert", mine.Cert, "--client-key", mine.Key}
	if code, _, errs := m.run(append(right, "--ca", ca.File)...); code != exitDone || asked != 1 {
		t.Errorf("%d %s", code, errs)
	}
	for name, args := range map[string][]string{
		"the system's authorities": right, "another authority": append(right[:len(right):len(right)], "--ca", clients.File),
		"no such file": append(right[:len(right):len(right)], "--ca", "/no/such"),
	} {
		if code, _, errs := m.run(args...); code == exitDone || asked != 1 || strings.Contains(errs, "panic") {
			t.Errorf("%s: %d %s", name, code, errs)
		}
	}
	if _, _, errs := m.run(right...); !strings.Contains(errs, "--ca FILE") || !strings.Contains(errs, "does not trust") {
		t.Errorf("an authority that is not known: %s", errs)
	}
}
