package app

import (
	"context"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// contents opens what is sealed of a stored message, with its own key where it has one.
type contents struct {
	store  store.Registry
	sealed *outbound.Contents
}

// ownKey returns the key of a message that has one of its own. That of a code is destroyed with the code: gone.
func (c contents) ownKey(ctx context.Context, m *store.Message) (own []byte, gone bool, err error) {
	if m.Kind != string(policy.KindAuthentication) {
		return nil, false, nil
	}
	own, err = c.store.OwnKey(ctx, m.ID)
	return own, err != nil && unlessDestroyed(err) == nil, unlessDestroyed(err)
}

// Metadata returns what the application gave along. That of a code is gone with the code's key.
func (c contents) Metadata(ctx context.Context, m *store.Message) (map[string]string, error) {
	if m.Metadata == nil {
		return nil, nil
	}
	own, gone, err := c.ownKey(ctx, m)
	if gone || err != nil {
		return nil, err
	}
	all, err := c.sealed.Metadata(ctx, m.ID, m.Metadata, own)
	return all, unlessDestroyed(err)
}

// ToRaw returns the destination as it was asked for. It is sealed with the text and destroyed with it.
func (c contents) ToRaw(ctx context.Context, m *store.Message) (string, error) {
	own, gone, err := c.ownKey(ctx, m)
	if gone || err != nil {
		return "", err
	}
	got, err := c.sealed.Content(ctx, m.ID, m.Content, own)
	return got.ToRaw, unlessDestroyed(err)
}

// unlessDestroyed is an error that is about more than a key that was destroyed: what that sealed is left out.
func unlessDestroyed(err error) error {
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}
