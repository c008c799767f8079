package api

import (
	"context"
	"crypto/tls"
	"net/http"
	"slices"
)

// Certificates knows which API keys clients' certificates stand for.
type Certificates interface {
	// KeysOf are the ids of the keys that the certificate of a connection stands for. One that was not verified stands
	// for none.
	KeysOf(*tls.ConnectionState) []string
	// Bound reports whether a key works with its certificate alone.
	Bound(key string) bool
}

// certified is the id of the key that the request's certificate stands for, where the request names none itself. A
// certificate that stands for several is no answer to who it is: the request has to name one of them.
func (r *keyring) certified(req *http.Request) string {
	if r.certificates == nil || len(req.Header.Values("Authorization")) > 0 {
		return ""
	}
	if keys := r.certificates.KeysOf(req.TLS); len(keys) == 1 {
		return keys[0]
	}
	return ""
}

// identifyCertified lets the holder of a certificate in as the key that it stands for: with its scopes and its tenant, and
// as long as it works.
func (r *keyring) identifyCertified(ctx context.Context, id string) (principal, error) {
	k, there, err := r.lookUp(ctx, id)
	if err != nil {
		return principal{}, err
	}
	if !there || !k.Works {
		return principal{}, errNoKey
	}
	return holderOf(&k)
}

// mayCome reports whether a key that was sent may come over this connection. One that is bound to a certificate is
// worth nothing to whoever has the key alone.
func (r *keyring) mayCome(req *http.Request, id string) bool {
	return r.certificates == nil || !r.certificates.Bound(id) || slices.Contains(r.certificates.KeysOf(req.TLS), id)
}
