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

// Metadata returns what the application gave along. That of a code is gone with the code's key.
func (c contents) Metadata(ctx context.Context, m *store.Message) (map[string]string, error) {
	var own []byte
	if m.Kind == string(policy.KindAuthentication) && m.Metadata != nil {
		var err error
		if own, err = c.store.OwnKey(ctx, m.ID); fault.CodeOf(err) == fault.NotFound && err != nil {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return c.sealed.Metadata(ctx, m.ID, m.Metadata, own)
}
