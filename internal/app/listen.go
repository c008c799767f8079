package app

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/ground/certs"
	"github.com/einmal/einmal/internal/ground/fault"
)

// Listen says where the gateway listens, and who may come.
type Listen struct {
	HTTP string    `yaml:"http" doc:"host:port"`
	TLS  ListenTLS `yaml:"tls,omitempty"`
	// Clients are the certificates that stand for an API key, by a name for people.
	Clients map[string]Client `yaml:"clients,omitempty" doc:"client certificates that stand for an API key"`
}

// ListenTLS makes of HTTP HTTPS. Its values are file:PATH.
type ListenTLS struct {
	Cert       string `yaml:"cert,omitempty" doc:"file:PATH of the certificate with its chain, in PEM: HTTPS"`
	Key        string `yaml:"key,omitempty" doc:"file:PATH of its key"`
	ClientCA   string `yaml:"client_ca,omitempty" doc:"file:PATH of the certificates that sign clients' certificates"`
	ClientCert string `yaml:"client_cert,omitempty" one:"required optional" doc:"whether who comes without a certificate is let in; with client_ca, required by default"`
}

// Client is a certificate and the API key that it stands for. With the certificate no key has to be sent; without it the
// key does not work any more, wherever it turns up.
type Client struct {
	Fingerprint string `yaml:"fingerprint,omitempty" doc:"SHA-256 of the certificate, 64 hexadecimal digits"`
	Name        string `yaml:"name,omitempty" doc:"a name in the certificate: DNS, URI or e-mail of its alternative names, else the common name of its subject"`
	Key         string `yaml:"key" doc:"the API key's id, as einmal key list shows it"`
}

func (t ListenTLS) on() bool { return t.Cert != "" }

// Files are where the certificate is.
func (t ListenTLS) Files() certs.Files {
	return certs.Files{Cert: afterFile(t.Cert), Key: afterFile(t.Key), ClientCA: afterFile(t.ClientCA), Optional: t.ClientCert == "optional"}
}

func afterFile(reference string) string { return strings.TrimPrefix(reference, "file:") }

func (l Listen) check() error {
	if _, _, err := net.SplitHostPort(l.HTTP); err != nil {
		return fmt.Errorf("http: %q is not host:port, such as 127.0.0.1:8080", l.HTTP)
	}
	for _, m := range []struct{ name, value string }{{"cert", l.TLS.Cert}, {"key", l.TLS.Key}, {"client_ca", l.TLS.ClientCA}} {
		if m.value != "" && (!strings.HasPrefix(m.value, "file:") || m.value == "file:") {
			return fmt.Errorf("tls.%s: write file:PATH", m.name)
		}
	}
	switch t := l.TLS; {
	case (t.Cert == "") != (t.Key == ""):
		return fmt.Errorf("tls.key: a certificate and its key belong together: give cert and key")
	case t.ClientCA != "" && !t.on():
		return fmt.Errorf("tls.client_ca: clients show certificates over TLS alone: give cert and key, too")
	case t.ClientCert != "" && t.ClientCA == "":
		return fmt.Errorf("tls.client_cert: give client_ca, by which certificates are checked")
	case len(l.Clients) > 0 && t.ClientCA == "":
		return fmt.Errorf("clients: give tls.client_ca, by which their certificates are checked")
	}
	return l.checkClients()
}

var (
	fingerprintForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	keyIDForm       = regexp.MustCompile(`^[a-z2-7]{10}$`)
)

func (l Listen) checkClients() error {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(l.Clients)) {
		c := l.Clients[name]
		mark := c.Name
		if c.Fingerprint != "" {
			mark = plainFingerprint(c.Fingerprint)
		}
		switch before, twice := seen[mark]; {
		case (c.Fingerprint == "") == (c.Name == ""):
			return fmt.Errorf("clients.%s: give either fingerprint or name", name)
		case c.Fingerprint != "" && !fingerprintForm.MatchString(mark):
			return fmt.Errorf("clients.%s.fingerprint: write SHA-256 in 64 hexadecimal digits, as openssl x509 -noout -fingerprint -sha256 shows it", name)
		case !keyIDForm.MatchString(c.Key):
			return fmt.Errorf("clients.%s.key: write the id of an API key, ten characters, as einmal key list shows it; never the key itself", name)
		case twice:
			return fmt.Errorf("clients.%s: the same certificate as %s", name, before)
		}
		seen[mark] = name
	}
	return nil
}

// plainFingerprint is a fingerprint without colons, in small letters.
func plainFingerprint(s string) string { return strings.ToLower(strings.ReplaceAll(s, ":", "")) }

func checkPublicURL(s string) error {
	u, err := url.Parse(s)
	if s != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery+u.Fragment != "") {
		return fmt.Errorf("public_url: write the address under which others reach the gateway, such as https://sms.example.com")
	}
	return nil
}

// InClear reports whether keys are sent in clear text where others may read them: on more than this machine, without TLS.
func (l Listen) InClear() bool {
	host, _, err := net.SplitHostPort(l.HTTP)
	if l.TLS.on() || err != nil || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// listen takes the address before the flows start, so that a port that is in use is told at once.
func (a *App) listen(ctx context.Context) (err error) {
	a.lookForKeys(ctx)
	if a.cfg.Listen.TLS.on() {
		if a.certs, err = certs.Open(a.cfg.Listen.TLS.Files(), a.log); err != nil {
			return fmt.Errorf("listen.tls: %w", err)
		}
	}
	if a.cfg.Listen.InClear() {
		a.log.Warn("requests carry their keys in clear text, and it is not loopback that is listened on: set listen.tls, or put something before it that speaks TLS", "listen", a.cfg.Listen.HTTP)
	}
	if a.listener, err = net.Listen("tcp", a.cfg.Listen.HTTP); err != nil {
		return fmt.Errorf("the address %s cannot be listened on: choose another with --listen (%w)", a.cfg.Listen.HTTP, err)
	}
	a.api = api.New(a.apiConfig())
	a.server = api.NewServer(a.api, a.log)
	return nil
}

// lookForKeys warns of certificates that stand for a key that does not exist: whoever shows one is refused.
func (a *App) lookForKeys(ctx context.Context) {
	for name, c := range a.cfg.Listen.Clients {
		if _, err := a.store.Key(ctx, c.Key); fault.CodeOf(err) == fault.NotFound && err != nil {
			a.log.Warn("a client's certificate stands for no key that there is: write the id of one, as einmal key list shows it", "member", "listen.clients."+name+".key")
		}
	}
}

// serve answers requests until the server is shut down.
func (a *App) serve() error {
	if a.certs == nil {
		return a.server.Serve(a.listener)
	}
	a.server.TLSConfig = a.certs.Config()
	return a.server.ServeTLS(a.listener, "", "")
}

// clients knows which keys a certificate stands for.
type clients struct {
	byFingerprint, byName map[string]string // key ids
	bound                 map[string]bool
}

func newClients(all map[string]Client) *clients {
	c := &clients{map[string]string{}, map[string]string{}, map[string]bool{}}
	for _, one := range all {
		c.bound[one.Key] = true
		if one.Fingerprint != "" {
			c.byFingerprint[plainFingerprint(one.Fingerprint)] = one.Key
		} else {
			c.byName[one.Name] = one.Key
		}
	}
	return c
}

// Bound implements api.Certificates.
func (c *clients) Bound(key string) bool { return c.bound[key] }

// KeysOf implements api.Certificates. A certificate counts once it was verified, for what it says itself.
func (c *clients) KeysOf(conn *tls.ConnectionState) []string {
	if conn == nil || len(conn.VerifiedChains) == 0 {
		return nil
	}
	cert := conn.VerifiedChains[0][0]
	sum := sha256.Sum256(cert.Raw)
	var keys []string
	if key, ok := c.byFingerprint[hex.EncodeToString(sum[:])]; ok {
		keys = append(keys, key)
	}
	for _, name := range namesOf(cert) {
		if key, ok := c.byName[name]; ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// namesOf are a certificate's names. The subject counts where there is no other (RFC 6125, section 6.4.4).
func namesOf(cert *x509.Certificate) []string {
	names := slices.Concat(cert.DNSNames, cert.EmailAddresses)
	for _, u := range cert.URIs {
		names = append(names, u.String())
	}
	if len(names) == 0 && cert.Subject.CommonName != "" {
		names = []string{cert.Subject.CommonName}
	}
	return names
}
