package api

import (
	"context"
	"fmt"
	"strings"
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
	Scopes    []string `json:"scopes" nullable:"false"`
	CreatedAt string   `json:"created_at" format:"date-time"`
	RevokedAt *string  `json:"revoked_at" format:"date-time" doc:"null: it is live."`
}

// NewKeyView is a key that was just made.
type NewKeyView struct {
	KeyView
	Key string `json:"key" doc:"The key itself. It is shown here and never again."`
}

func keyView(k *store.APIKey) KeyView {
	v := KeyView{ID: k.ID, Name: k.Name, Scopes: []string{}, CreatedAt: at(k.CreatedAt), RevokedAt: stamp(k.RevokedAt)}
	for _, s := range ParseScopes(k.Scopes) {
		v.Scopes = append(v.Scopes, string(s))
	}
	return v
}

// Keys is all of a tenant's keys.
type Keys struct {
	Data []KeyView `json:"data" nullable:"false"`
	Next *string   `json:"next" doc:"Always null: all keys are on the page."`
}

func (a *API) listKeys(ctx context.Context, _ *struct{}) (Keys, error) {
	found, err := a.cfg.Store.ListKeys(ctx, principalOf(ctx).Tenant)
	keys := Keys{Data: make([]KeyView, 0, len(found))}
	for i := range found {
		keys.Data = append(keys.Data, keyView(&found[i]))
	}
	return keys, err
}

type keyBody struct {
	Name   string   `json:"name" doc:"Who or what uses it; shown as the person of what is done with it."`
	Scopes []string `json:"scopes" nullable:"false" doc:"Of send, read, review and admin."`
}

type createKeyIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

// maxKeyName is the longest name of a key, in bytes.
const maxKeyName = 100

func (a *API) createKey(ctx context.Context, in *createKeyIn) (NewKeyView, error) {
	name, scopes, err := decodeKey(in)
	if err != nil {
		return NewKeyView{}, err
	}
	made := secret.NewAPIKey()
	k, err := a.cfg.Store.PutKey(ctx, store.APIKey{
		ID: made.ID, Tenant: principalOf(ctx).Tenant, Name: name, Hash: a.cfg.Identity.HashAPIKey(made), Scopes: scopes.String(),
	}, tenant.RoomForKey)
	return NewKeyView{KeyView: keyView(&k), Key: made.Text()}, err
}

const rightName = "write who or what uses the key"

// unshown reports whether a character steers what shows it, or cannot be seen: a key's name stands in timelines
// and lists for the person who did something.
func unshown(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

func decodeKey(in *createKeyIn) (name string, scopes Scopes, err error) {
	var names []string
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"name", d.required(&name, rightName)}, {"scopes", d.list(&names)}}
	}, needed{"name", rightName}, needed{"scopes", fmt.Sprintf("give at least one of %s", fault.List(AllScopes()))})
	if err != nil {
		return "", nil, err
	}
	d := &decoder{}
	if strings.ContainsFunc(name, unshown) {
		d.wrong("#/name", "leave out control characters and invisible ones")
	}
	if len(name) > maxKeyName {
		d.wrong("#/name", "too long: at most %d bytes", maxKeyName)
	}
	scopes, scopeErr := CheckScopes(names)
	if scopeErr != nil {
		d.wrong("#/scopes", "%s", scopeErr)
	}
	return name, scopes, d.fault()
}

// revokeKey ends a key. A key cannot end itself, so that nobody locks everybody out by a typing error.
func (a *API) revokeKey(ctx context.Context, in *oneIn) (KeyView, error) {
	who := principalOf(ctx)
	if in.ID == who.Key {
		return KeyView{}, fault.New(fault.State, "a key does not revoke itself: use another one")
	}
	k, err := a.cfg.Store.RevokeKey(ctx, who.Tenant, in.ID)
	a.keyring.forget()
	return keyView(&k), err
}
