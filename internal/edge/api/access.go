package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// keyLife is how long a key that was looked up is believed: a revoked key works so long at most. It spares the
// hot path one read of the store.
const keyLife = time.Second

// maxCachedKeys bounds the cache; a full one is emptied, which costs a read for each key.
const maxCachedKeys = 4096

// principal is who asks. The tenant comes from the key alone.
type principal struct {
	Tenant ident.Partition
	Key    string // public id
	Name   string
	Scopes Scopes
}

type principalKey struct{}

func principalOf(ctx context.Context) principal {
	p, _ := ctx.Value(principalKey{}).(principal)
	return p
}

// keyring finds out who asks.
type keyring struct {
	keys     store.Keys
	identity *secret.Identity
	clock    clock.Clock

	mu     sync.Mutex
	cached map[string]cachedKey
}

type cachedKey struct {
	key   store.APIKey
	there bool
	until time.Time
}

func newKeyring(keys store.Keys, identity *secret.Identity, c clock.Clock) *keyring {
	return &keyring{keys: keys, identity: identity, clock: c, cached: map[string]cachedKey{}}
}

// errNoKey answers unknown, wrong and revoked keys alike, so that nobody learns which ids exist.
var errNoKey = fault.New(fault.Unauthenticated, "send a live API key as \"Authorization: Bearer em_…\"")

// identify returns who sent the request. A store that does not answer is an error and lets nobody in.
func (r *keyring) identify(req *http.Request) (principal, error) {
	scheme, text, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(req.Header.Values("Authorization")) != 1 {
		return principal{}, errNoKey
	}
	given, err := secret.ParseAPIKey(strings.TrimSpace(text))
	if err != nil {
		return principal{}, errNoKey
	}
	k, there, err := r.lookUp(req.Context(), given.ID)
	if err != nil {
		return principal{}, err
	}
	if !there || !r.identity.MatchAPIKey(given, k.Hash) || k.RevokedAt != 0 {
		return principal{}, errNoKey
	}
	return principal{Tenant: k.Tenant, Key: k.ID, Name: k.Name, Scopes: ParseScopes(k.Scopes)}, nil
}

// lookUp reads the key, and remembers for keyLife what it found, an absence too.
func (r *keyring) lookUp(ctx context.Context, id string) (store.APIKey, bool, error) {
	now := r.clock.Now()
	r.mu.Lock()
	c, ok := r.cached[id]
	r.mu.Unlock()
	if ok && now.Before(c.until) {
		return c.key, c.there, nil
	}
	k, err := r.keys.Key(ctx, id)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return store.APIKey{}, false, err
	}
	r.remember(id, cachedKey{key: k, there: err == nil, until: now.Add(keyLife)})
	return k, err == nil, nil
}

func (r *keyring) remember(id string, c cachedKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.cached) >= maxCachedKeys {
		clear(r.cached)
	}
	r.cached[id] = c
}

// forget drops a key that was revoked through this node.
func (r *keyring) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cached, id)
}

// admit returns who asks if the key has the scope.
func (r *keyring) admit(req *http.Request, scope Scope) (principal, error) {
	p, err := r.identify(req)
	if err != nil {
		return p, err
	}
	if !p.Scopes.Allow(scope) {
		return p, fault.New(fault.Scope, "this needs a key with the scope %s; this key has: %s", scope, p.Scopes)
	}
	return p, nil
}
