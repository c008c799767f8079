package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func testKeys(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	k := store.APIKey{ID: "abc", Tenant: w.a.ID, Name: "shop", Hash: [16]byte{1, 2}, Kind: tenant.TeamKey, Scopes: "send read", CreatedBy: "ann"}
	stored, err := w.PutKey(ctx, k, tenant.RoomForKey)
	must(t, err)
	got, err := w.Key(ctx, "abc")
	must(t, err)
	k.CreatedAt = got.CreatedAt
	if got.APIKey != k || stored != k || k.CreatedAt == 0 || !got.Works || got.Left != 0 || got.TenantState != tenant.Active {
		t.Errorf("the key came back as %+v", got)
	}
	_, err = w.RevokeKey(ctx, w.b.ID, "abc")
	refused(t, "another tenant revoked it", err, fault.NotFound)
	if all, err := w.ListKeys(ctx, w.b.ID); err != nil || len(all) != 0 {
		t.Errorf("another tenant has the keys %+v: %v", all, err)
	}
	if all, err := w.ListKeys(ctx, w.a.ID); err != nil || len(all) != 1 || all[0] != k {
		t.Errorf("the tenant has the keys %+v: %v", all, err)
	}
	gone, err := w.RevokeKey(ctx, w.a.ID, "abc")
	must(t, err)
	if got, err = w.Key(ctx, "abc"); err != nil || got.Works || got.RevokedAt == 0 || gone != got.APIKey {
		t.Errorf("the revoked key is %+v: %v", got, err)
	}
	_, err = w.RevokeKey(ctx, w.a.ID, "abc")
	refused(t, "revoked again", err, fault.NotFound)
	_, err = w.Key(ctx, "none")
	refused(t, "an unknown key", err, fault.NotFound)
	_, err = w.PutKey(ctx, store.APIKey{ID: "lost", Tenant: 99, Name: "x"}, nil)
	refused(t, "a key of no tenant", err, fault.NotFound)
	plain, err := w.PutKey(ctx, store.APIKey{ID: "plain", Tenant: w.a.ID, Name: "shop"}, nil)
	if err != nil || plain.Kind != tenant.LiveKey {
		t.Errorf("a key of no kind is %+v: %v", plain, err)
	}
}

// testKeysExpire lets a key's time pass: it works to its last moment and not beyond, by the store's clock.
func testKeysExpire(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	now, err := w.Now(ctx)
	must(t, err)
	k := store.APIKey{ID: "k", Tenant: w.a.ID, Name: "n", ExpiresAt: now.Add(3 * time.Second)}
	_, err = w.PutKey(ctx, k, nil)
	must(t, err)
	got, err := w.Key(ctx, "k")
	must(t, err)
	if !got.Works || got.Left <= 0 || got.Left > 3*time.Second {
		t.Errorf("before its end: %+v", got)
	}
	h.Advance(t, w.Store, got.Left)
	if got, err = w.Key(ctx, "k"); err != nil || got.Works || got.Left != 0 {
		t.Errorf("after its end: %+v, %v", got, err)
	}
	_, err = w.RotateKey(ctx, store.Rotation{Tenant: w.a.ID, Old: "k", New: store.APIKey{ID: "k2"}})
	refused(t, "a key that is over was replaced", err, fault.NotFound)
	k.ID = "late"
	_, err = w.PutKey(ctx, k, nil)
	refused(t, "a key that is over from the beginning", err, fault.State)
}

// testKeysRotate replaces a key: both work for a time, no third does, and of many that try at once one succeeds.
func testKeysRotate(t *testing.T, h Harness) {
	const racers = 8
	ctx, w := context.Background(), newHouse(t, h)
	user := w.user(w.a, "ann")
	old := store.APIKey{ID: "old", Tenant: w.a.ID, Name: "shop", Kind: tenant.TestKey, Scopes: "send", User: user.ID}
	_, err := w.PutKey(ctx, old, tenant.RoomForKey)
	must(t, err)
	rotation := func(from, to string) store.Rotation {
		return store.Rotation{Tenant: w.a.ID, Old: from, New: store.APIKey{ID: to, Hash: [16]byte{9}}, OldEnds: 2 * time.Second, Limit: tenant.RoomForKey}
	}
	other := rotation("old", "x")
	other.Tenant = w.b.ID
	_, err = w.RotateKey(ctx, other)
	refused(t, "another tenant's key", err, fault.NotFound)
	var (
		wg   sync.WaitGroup
		done [racers]store.Rotated
		won  atomic.Int32
	)
	for i := range racers {
		wg.Go(func() {
			var err error
			if done[i], err = w.RotateKey(ctx, rotation("old", fmt.Sprint("new", i))); err == nil {
				won.Store(int32(i))
				return
			}
			refused(t, "a third key", err, fault.State)
		})
	}
	wg.Wait()
	r := done[won.Load()]
	k, err := w.Key(ctx, r.New.ID)
	must(t, err)
	if !k.Works || k.Name != "shop" || k.Kind != tenant.TestKey || k.Scopes != "send" || k.User != user.ID || k.Hash != [16]byte{9} || k.ExpiresAt != 0 {
		t.Errorf("the new key is %+v", k)
	}
	all, err := w.ListKeys(ctx, w.a.ID)
	must(t, err)
	before, err := w.Key(ctx, "old")
	must(t, err)
	if len(all) != 2 || !before.Works || before.ExpiresAt != r.Old.ExpiresAt || before.Left > 2*time.Second {
		t.Errorf("%d keys, the old one %+v", len(all), before)
	}
	h.Advance(t, w.Store, 2*time.Second)
	if before, err = w.Key(ctx, "old"); err != nil || before.Works {
		t.Errorf("the old key after its end: %+v, %v", before, err)
	}
	_, err = w.RotateKey(ctx, rotation(r.New.ID, "next"))
	must(t, err)
}

// testKeysOfUsers reads a user's key with what the user may do.
func testKeysOfUsers(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	u := w.user(w.a, "ann")
	for id, user := range map[string]ident.User{"hers": u.ID, "nobody": ident.NewUser(w.a.ID)} {
		_, err := w.PutKey(ctx, store.APIKey{ID: id, Tenant: w.a.ID, Name: id, User: user}, nil)
		must(t, err)
	}
	k, err := w.Key(ctx, "hers")
	must(t, err)
	if k.UserName != u.Name || k.Role != u.Role || k.UserState != tenant.Active {
		t.Errorf("%+v", k)
	}
	_, err = w.ChangeUser(ctx, w.a.ID, u.ID, store.UserChange{State: tenant.Suspended})
	must(t, err)
	if k, err = w.Key(ctx, "hers"); err != nil || k.UserState != tenant.Suspended {
		t.Errorf("%+v, %v", k, err)
	}
	if k, err = w.Key(ctx, "nobody"); err != nil || k.UserState == tenant.Active {
		t.Errorf("a key of a user who does not exist: %+v, %v", k, err)
	}
}
