package doctor

import (
	"context"
	"crypto/x509"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/ground/certs"
)

// soon is when a certificate that is renewed by itself should have been.
const soon = 21 * 24 * time.Hour

// certificates looks at the gateway's own, its clients' authorities, and what it shows carriers.
func (e *examination) certificates(context.Context) {
	if t := e.cfg.Listen.TLS; t.Cert != "" {
		files := t.Files()
		if leaf := e.pair("certificate", files.Cert, files.Key); leaf != nil {
			e.chain(leaf, files.Cert)
			e.publicName(leaf)
		}
		if files.ClientCA != "" {
			if _, err := certs.Pool(files.ClientCA); err != nil {
				e.say("certificate", Fail, "put the authorities of your clients there, in PEM", "listen.tls.client_ca: %s", oneLine(err))
			}
		}
	} else if u, err := url.Parse(e.cfg.PublicURL); err == nil && u.Scheme == "https" && e.cfg.Listen.InClear() {
		e.say("certificate", Warn, "set listen.tls, or listen on loopback behind what speaks TLS", "public_url is https, and the gateway speaks plain HTTP on more than loopback")
	}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Connections)) {
		if t := e.cfg.Connections[name].TLS; t.Cert != "" {
			e.pair("certificate of connection "+name, strings.TrimPrefix(t.Cert, "file:"), strings.TrimPrefix(t.Key, "file:"))
		}
	}
}

// pair looks at a certificate and its time; nil: there is none to look at.
func (e *examination) pair(check, cert, key string) *x509.Certificate {
	pair, err := certs.Pair(cert, key)
	if err != nil {
		e.say(check, Fail, "put a certificate with its key there", "%s", oneLine(err))
		return nil
	}
	leaf, left := pair.Leaf, pair.Leaf.NotAfter.Sub(e.Now())
	ends := leaf.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case left <= 0:
		e.say(check, Fail, "renew it: the gateway reads it again by itself", "%s has expired on %s", cert, ends)
	case leaf.NotBefore.After(e.Now()):
		e.say(check, Fail, "see this machine's clock", "%s counts from %s on, and not yet", cert, leaf.NotBefore.UTC().Format(time.RFC3339))
	case left < soon:
		e.say(check, Warn, "renew it: the gateway reads it again by itself", "%s expires on %s", cert, ends)
	default:
		e.ok(check, "%s is in force until %s", cert, ends)
	}
	if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o007 != 0 {
		e.say(check, Warn, "chmod 600 "+key, "everybody on this machine may read the key %s", key)
	}
	return leaf
}

// chain finds a certificate without those that lead to an authority, by which many clients fail and browsers do not.
func (e *examination) chain(leaf *x509.Certificate, file string) {
	b, err := os.ReadFile(file) // it was read as a pair before
	if err != nil {
		return
	}
	between := x509.NewCertPool()
	between.AppendCertsFromPEM(b)
	_, err = leaf.Verify(x509.VerifyOptions{Intermediates: between, CurrentTime: e.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil && leaf.NotAfter.After(e.Now()) {
		e.say("certificate", Warn, "put the certificates between it and its authority into the file, or give clients that authority (--ca)", "this machine's authorities do not lead to %s: %s", file, oneLine(err))
	}
}

func (e *examination) publicName(leaf *x509.Certificate) {
	u, err := url.Parse(e.cfg.PublicURL)
	if err != nil || u.Hostname() == "" {
		return
	}
	if err := leaf.VerifyHostname(u.Hostname()); err != nil {
		e.say("certificate", Fail, "get one for that name, or mend public_url", "the certificate is not for %s, the name in public_url", u.Hostname())
		return
	}
	e.ok("certificate", "it is for %s, the name in public_url", u.Hostname())
}
