package api

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// KeyView is an API key without its secret.
type KeyView struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Kind      string   `json:"kind" doc:"live; team: it reaches the phones of the tenant's users and guests alone; test: what it sends is simulated. Accept unknown values."`
	Scopes    []string `json:"scopes" nullable:"false"`
	User      *string  `json:"user" doc:"Whose key it is: then it does no more than the user's role allows; null: no person's."`
	CreatedAt string   `json:"created_at" format:"date-time"`
	CreatedBy string   `json:"created_by,omitempty"`
	ExpiresAt *string  `json:"expires_at" format:"date-time" doc:"From then on it does not work; null: it has no end."`
	RevokedAt *string  `json:"revoked_at" format:"date-time" doc:"null: it was not revoked."`
}

// NewKeyView is a key that was just made.
type NewKeyView struct {
	KeyView
	Key string `json:"key" doc:"The key itself. It is shown here and never again."`
}

// RotatedView is a key with the one that replaces it.
type RotatedView struct {
	New NewKeyView `json:"new"`
	Old KeyView    `json:"old" doc:"It works until expires_at."`
}

func keyView(k *store.APIKey) KeyView {
	return KeyView{
		ID: k.ID, Name: k.Name, Kind: k.Kind.String(), Scopes: ParseScopes(k.Scopes).words(), User: orNull(k.User.String()),
		CreatedAt: at(k.CreatedAt), CreatedBy: k.CreatedBy, ExpiresAt: stamp(k.ExpiresAt), RevokedAt: stamp(k.RevokedAt),
	}
}

func (a *API) registerKeys() {
	both(a, op("GET", "/v1/keys", "list-keys", "Keys", "API keys, without their secrets"), ScopeAdmin, a.listKeys)
	both(a, made(withBody(op("POST", "/v1/keys", "create-key", "Keys", "Make an API key; the answer is the only place where it is shown"), a.schema(keyBody{}))), ScopeAdmin, a.createKey)
	both(a, made(withBody(op("POST", "/v1/keys/{id}/rotate", "rotate-key", "Keys", "Make a key in another one's place, which ends some time later"), a.schema(rotateBody{}))), ScopeAdmin, a.rotateKey)
	both(a, op("DELETE", "/v1/keys/{id}", "revoke-key", "Keys", "End a key; it stops to work within a second"), ScopeAdmin, a.revokeKey)
}

// Keys is all of a tenant's keys.
type Keys struct {
	Data []KeyView `json:"data" nullable:"false"`
	Next *string   `json:"next" doc:"Always null: all keys are on the page."`
}

func (a *API) listKeys(ctx context.Context, _ *struct{}) (Keys, error) {
	found, err := a.cfg.Store.ListKeys(ctx, subjectOf(ctx))
	keys := Keys{Data: make([]KeyView, 0, len(found))}
	for i := range found {
		keys.Data = append(keys.Data, keyView(&found[i]))
	}
	return keys, err
}

type keyBody struct {
	Name      string   `json:"name" doc:"Who or what uses it; shown as the person of what is done with it, unless it is a user's. Two keys of a name may work at once."`
	Kind      string   `json:"kind,omitempty" default:"live" doc:"live, team or test."`
	Scopes    []string `json:"scopes" nullable:"false" doc:"Of send, read, review and admin."`
	User      string   `json:"user,omitempty" doc:"The user whose key it is, usr_…; the scopes are within the user's role."`
	ExpiresAt string   `json:"expires_at,omitempty" format:"date-time" doc:"From then on it does not work."`
}

// maxKeyName is the longest name of a key, in bytes.
const maxKeyName = longestName

func (a *API) createKey(ctx context.Context, in *smallIn) (NewKeyView, error) {
	k := store.APIKey{Tenant: subjectOf(ctx), CreatedBy: by(ctx), Kind: tenant.LiveKey}
	if err := a.decodeKey(ctx, in, &k); err != nil {
		return NewKeyView{}, err
	}
	if err := coversKind(ctx, k.Kind); err != nil {
		return NewKeyView{}, err
	}
	if err := coversEnd(ctx, k.ExpiresAt); err != nil {
		return NewKeyView{}, err
	}
	given := a.secretOf(&k)
	stored, err := a.cfg.Store.PutKey(ctx, k, tenant.RoomForKey)
	if err != nil {
		return NewKeyView{}, err
	}
	a.changed(ctx)
	return NewKeyView{KeyView: keyView(&stored), Key: given}, nil
}

// secretOf gives a key its secret, of which the store gets a hash alone, and returns its text.
func (a *API) secretOf(k *store.APIKey) string {
	fresh := secret.NewAPIKey()
	k.ID, k.Hash = fresh.ID, a.cfg.Identity.HashAPIKey(fresh)
	return fresh.Text()
}

const rightName = "write who or what uses the key"

// unshown reports whether a character steers what shows it, or cannot be seen: a key's name stands in timelines
// and lists for the person who did something.
func unshown(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

func (a *API) decodeKey(ctx context.Context, in *smallIn, k *store.APIKey) error {
	var (
		names []string
		user  string
	)
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"name", d.required(&k.Name, rightName)}, {"scopes", d.list(&names)}, {"user", d.text(&user)},
			{"kind", oneOf(d, &k.Kind, tenant.ParseKeyKind, tenant.KeyKinds())}, {"expires_at", d.time(&k.ExpiresAt)},
		}
	}, needed{"name", rightName}, needed{"scopes", fmt.Sprintf("give at least one of %s", fault.List(AllScopes()))})
	if err != nil {
		return err
	}
	d := &decoder{}
	if strings.ContainsFunc(k.Name, unshown) {
		d.wrong("#/name", "leave out control characters and invisible ones")
	}
	if len(k.Name) > maxKeyName {
		d.wrong("#/name", "too long: at most %d bytes", maxKeyName)
	}
	scopes := d.scopes("#/scopes", names)
	k.Scopes = scopes.String()
	if err := a.userOf(ctx, d, k, user, scopes); err != nil {
		return err
	}
	return d.fault()
}

// userOf finds the user whose key it is to be. A key that could do more than the user would lie about what it can do.
func (a *API) userOf(ctx context.Context, d *decoder, k *store.APIKey, id string, scopes Scopes) error {
	if id == "" {
		return nil
	}
	const none = "there is no such active user: GET /v1/users lists them"
	if k.User.UnmarshalText([]byte(id)) != nil {
		d.wrong("#/user", none)
		return nil
	}
	u, err := a.cfg.Store.User(ctx, k.Tenant, k.User)
	switch {
	case fault.CodeOf(err) == fault.NotFound && err != nil, err == nil && u.State != tenant.Active:
		d.wrong("#/user", none)
	case err != nil:
		return err
	case len(scopes.within(ParseScopes(u.Role))) != len(scopes.within(AllScopes())):
		d.wrong("#/scopes", "more than the user's role has: %s", u.Role)
	}
	return nil
}

type rotateBody struct {
	OldEndsIn string `json:"old_ends_in,omitempty" default:"24h" doc:"How much longer the old key works, unless it ends sooner by itself: from 0s to 720h."`
	ExpiresAt string `json:"expires_at,omitempty" format:"date-time" doc:"From then on the new key does not work."`
}

const (
	oldEndsIn  = 24 * time.Hour
	longestOld = 30 * 24 * time.Hour
)

func (a *API) rotateKey(ctx context.Context, in *smallOneIn) (RotatedView, error) {
	r := store.Rotation{Tenant: subjectOf(ctx), Old: in.ID, OldEnds: oldEndsIn, Limit: tenant.RoomForKey}
	r.New.CreatedBy = by(ctx)
	given := ""
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"old_ends_in", d.text(&given)}, {"expires_at", d.time(&r.New.ExpiresAt)}}
	})
	if err != nil {
		return RotatedView{}, err
	}
	if given != "" {
		if r.OldEnds, err = time.ParseDuration(given); err != nil || r.OldEnds < 0 || r.OldEnds > longestOld {
			d := &decoder{}
			d.wrong("#/old_ends_in", "write a duration from 0s to 720h, such as 24h")
			return RotatedView{}, d.fault()
		}
	}
	if err := a.coversOld(ctx, r.Old); err != nil {
		return RotatedView{}, err
	}
	if err := coversEnd(ctx, r.New.ExpiresAt); err != nil {
		return RotatedView{}, err
	}
	text := a.secretOf(&r.New)
	done, err := a.cfg.Store.RotateKey(ctx, r)
	if err != nil {
		return RotatedView{}, err
	}
	a.changed(ctx)
	return RotatedView{New: NewKeyView{KeyView: keyView(&done.New), Key: text}, Old: keyView(&done.Old)}, nil
}

// revokeKey ends a key. A key cannot end itself, so that nobody locks everybody out by a typing error.
func (a *API) revokeKey(ctx context.Context, in *oneIn) (KeyView, error) {
	if in.ID == principalOf(ctx).Key {
		return KeyView{}, fault.New(fault.State, "a key does not revoke itself: use another one")
	}
	if err := a.coversOld(ctx, in.ID); err != nil {
		return KeyView{}, err
	}
	k, err := a.cfg.Store.RevokeKey(ctx, subjectOf(ctx), in.ID)
	if err != nil {
		return KeyView{}, err
	}
	a.changed(ctx)
	return keyView(&k), nil
}
