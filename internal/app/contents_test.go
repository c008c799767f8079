package app

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// lostKeys is a store whose keys cannot be had.
type lostKeys struct {
	store.Registry
	err error
}

func (k lostKeys) EnsureSealingKey(_ context.Context, _ ident.Partition, _ int32, wrapped []byte) (int64, []byte, error) {
	return 1, wrapped, nil
}

func (k lostKeys) SealingKey(context.Context, int64) ([]byte, error) { return nil, k.err }

func (k lostKeys) OwnKey(context.Context, ident.Message) ([]byte, error) { return nil, k.err }

// A message whose text is destroyed is shown all the same, without what was sealed with it. A key that cannot be read
// just now is none that is destroyed.
//
// covers: D15
func TestDestroyedTextIsLeftOut(t *testing.T) {
	ctx, master := context.Background(), [secret.KeySize]byte{1}
	sealed, err := secret.NewSealer(master, lostKeys{}).Seal(ctx, 1, time.Now(), nil, outbound.Content{ToRaw: "(202) 555-0143"}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []policy.Kind{policy.KindAuthentication, policy.KindConfirmation} {
		for code, gone := range map[fault.Code]bool{fault.NotFound: true, fault.Unavailable: false} {
			keys := lostKeys{err: fault.New(code, "no key")}
			c := contents{keys, outbound.NewContents(secret.NewSealer(master, keys))}
			m := &store.Message{ID: ident.NewMessage(1), Kind: string(kind), Content: sealed, Metadata: sealed}
			if raw, err := c.ToRaw(ctx, m); raw != "" || (err == nil) != gone {
				t.Errorf("%s, %s: %q, %v", kind, code, raw, err)
			}
			if all, err := c.Metadata(ctx, m); all != nil || (err == nil) != gone {
				t.Errorf("%s, %s: metadata %v, %v", kind, code, all, err)
			}
		}
	}
}
