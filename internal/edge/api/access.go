package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// keyLife is how long a key that was looked up is believed: a revoked key, a suspended user's and the end of a tenant's
// suspension are seen so late at most. It spares the hot path one read of the store. A key that expires sooner is
// believed until then.
const keyLife = time.Second

// maxCachedKeys bounds the cache; a full one is emptied, which costs a read for each key.
const maxCachedKeys = 4096

// principal is who asks. The tenant comes from the key alone.
type principal struct {
	Tenant    ident.Partition
	Key       string // public id
	Name      string // the key's
	Person    string // whom the audit names: the user whose key it is, else the key's name
	Kind      tenant.KeyKind
	Ends      clock.Micros // the key does; 0: it does not
	Scopes    Scopes
	Suspended bool // the tenant is
}

// sign says whose a submission is, and what its key is for.
func (p *principal) sign(s *outbound.Submission) {
	s.Tenant, s.Caller, s.CallerName = p.Tenant, p.Key, p.Name
	s.Simulate, s.Team = p.Kind == tenant.TestKey, p.Kind == tenant.TeamKey
}

type principalKey struct{}

func principalOf(ctx context.Context) principal {
	p, _ := ctx.Value(principalKey{}).(principal)
	return p
}

// keyring finds out who asks.
type keyring struct {
	keys         store.Keys
	identity     *secret.Identity
	clock        clock.Clock
	certificates Certificates

	mu     sync.Mutex
	cached map[string]cachedKey
	forgot int // how often all was forgotten
}

type cachedKey struct {
	key   store.KeyHolder
	there bool
	until time.Time
}

func newKeyring(c Config) *keyring {
	return &keyring{keys: c.Store, identity: c.Identity, clock: c.Clock, certificates: c.Certificates, cached: map[string]cachedKey{}}
}

// errNoKey answers unknown, wrong, expired and revoked keys alike, so that nobody learns which ids exist.
var errNoKey = fault.New(fault.Unauthenticated, "send an API key that works, as \"Authorization: Bearer em_…\"")

// identify returns who sent the request. A store that does not answer is an error and lets nobody in.
func (r *keyring) identify(req *http.Request) (principal, error) {
	if key := r.certified(req); key != "" {
		return r.identifyCertified(req.Context(), key)
	}
	scheme, text, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(req.Header.Values("Authorization")) != 1 {
		return principal{}, errNoKey
	}
	given, err := secret.ParseAPIKey(strings.TrimSpace(text))
	if err != nil {
		return principal{}, errNoKey
	}
	if !r.mayCome(req, given.ID) {
		return principal{}, errNoKey
	}
	k, there, err := r.lookUp(req.Context(), given.ID)
	if err != nil {
		return principal{}, err
	}
	if !there || !r.identity.MatchAPIKey(given, k.Hash) || !k.Works {
		return principal{}, errNoKey
	}
	return holderOf(&k)
}

// errSuspended refuses what a suspended tenant would begin.
var errSuspended = fault.New(fault.Suspended, "this tenant is suspended: nothing new is taken until the operator lifts that; what was taken goes on and can be read")

// holderOf is who has a key that works. A user's does no more than the user may, and nothing while the user is suspended.
func holderOf(k *store.KeyHolder) (principal, error) {
	p := principal{
		Tenant: k.Tenant, Key: k.ID, Name: k.Name, Person: k.Name, Kind: k.Kind, Ends: k.ExpiresAt, Scopes: ParseScopes(k.Scopes),
		Suspended: k.TenantState != tenant.Active,
	}
	if k.User.IsZero() {
		return p, nil
	}
	if k.UserState != tenant.Active {
		return principal{}, errNoKey
	}
	p.Person, p.Scopes = k.UserName, p.Scopes.within(ParseScopes(k.Role))
	return p, nil
}

// lookUp reads the key, and remembers for keyLife what it found, an absence too.
func (r *keyring) lookUp(ctx context.Context, id string) (store.KeyHolder, bool, error) {
	now := r.clock.Now()
	r.mu.Lock()
	c, ok := r.cached[id]
	forgot := r.forgot
	r.mu.Unlock()
	if ok && now.Before(c.until) {
		return c.key, c.there, nil
	}
	k, err := r.keys.Key(ctx, id)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return store.KeyHolder{}, false, err
	}
	life := keyLife
	if k.Works && k.Left > 0 {
		life = min(life, k.Left)
	}
	r.remember(id, cachedKey{key: k, there: err == nil, until: now.Add(life)}, forgot)
	return k, err == nil, nil
}

// remember keeps what was found, unless something was changed through this node since it began to look: it may have
// found what was there before.
func (r *keyring) remember(id string, c cachedKey, forgot int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if forgot != r.forgot {
		return
	}
	if len(r.cached) >= maxCachedKeys {
		clear(r.cached)
	}
	r.cached[id] = c
}

// forget drops every key: what was changed through this node is seen by it at once.
func (r *keyring) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.cached)
	r.forgot++
}

// admit returns who asks if the key has the scope, and its tenant may do that now.
func (r *keyring) admit(req *http.Request, scope Scope, suspended bool) (principal, error) {
	p, err := r.identify(req)
	if err != nil {
		return p, err
	}
	if !p.Scopes.Allow(scope) {
		return p, fault.New(fault.Scope, "this needs a key with the scope %s; this key has: %s", scope, p.Scopes)
	}
	if p.Suspended && !suspended {
		return p, errSuspended
	}
	return p, nil
}
