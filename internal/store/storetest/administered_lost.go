package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// losing runs something whose commit is lost: with committed, after the server has made it.
func losing(t *testing.T, f Fragile, committed bool, what string, do func() error) {
	t.Helper()
	cut := f.Cut()
	f.Arm(committed)
	if err := do(); err != nil {
		t.Errorf("%s, whose commit was lost (made: %v): %v", what, committed, err)
	}
	if f.Cut() != cut+1 {
		t.Fatalf("%s: no commit was broken: the test proves nothing", what)
	}
}

// fragileHouse is a store with a tenant whose commits can be lost.
func fragileHouse(t *testing.T, h Harness) (f Fragile, of ident.Partition) {
	t.Helper()
	f = h.Fragile(t)
	_, err := f.EnsureTenant(context.Background(), "default")
	must(t, err)
	of, err = f.EnsureTenant(context.Background(), "a")
	must(t, err)
	return f, of
}

// testAdministeredLostCommit loses commits of what is administered: whoever made something is told that it is made, as it
// is stored, and it is made once. A commit that the server had not heard of is made again.
//
// covers: I1, X5
func testAdministeredLostCommit(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return // the embedded engine has no connection that could be lost
	}
	ctx := context.Background()
	f, of := fragileHouse(t, h)
	for _, committed := range []bool{true, false} {
		name := map[bool]string{true: "made", false: "lost"}[committed]
		var made store.Tenant
		losing(t, f, committed, "a tenant", func() (err error) {
			made, err = f.CreateTenant(ctx, store.Tenant{Name: name, Label: "L", Prepaid: true, CreatedBy: "ann"})
			return err
		})
		stored, err := f.TenantByName(ctx, name)
		if err != nil || stored != made || made.Name != name {
			t.Errorf("told %+v, stored %+v, %v", made, stored, err)
		}
		_, err = f.Wallet(ctx, made.ID)
		must(t, err)

		user := store.User{ID: ident.NewUser(of), Tenant: of, Login: name, Name: "Ann", Role: "read", CreatedBy: "ann"}
		losing(t, f, committed, "a user", func() (err error) { user, err = f.CreateUser(ctx, user); return err })
		if stored, err := f.User(ctx, of, user.ID); err != nil || stored != user {
			t.Errorf("told %+v, stored %+v, %v", user, stored, err)
		}
		guest, _, err := f.CreateGuest(ctx, store.Guest{ID: ident.NewGuest(of), Tenant: of, Name: name, Phone: "+12025550100"})
		must(t, err)
		losing(t, f, committed, "a guest's end", func() error {
			gone, err := f.DeleteGuest(ctx, of, guest.ID)
			if gone != guest {
				t.Errorf("told %+v, gone is %+v", gone, guest)
			}
			return err
		})
		losing(t, f, committed, "a sender", func() error { _, _, err := f.PutSender(ctx, store.Sender{Tenant: of, Sender: "SHOP"}); return err })
		losing(t, f, committed, "a sender's end", func() error {
			gone, err := f.DeleteSender(ctx, of, "SHOP")
			if gone.Sender != "SHOP" {
				t.Errorf("told %+v", gone)
			}
			return err
		})
	}
	_, err := f.CreateTenant(ctx, store.Tenant{Name: "made", CreatedBy: "ann"})
	refused(t, "a name that is taken", err, fault.State)
}

// testKeysLostCommit loses the commits of keys: the secret that was made is shown, though there is room for no other key.
//
// covers: I1, X5
func testKeysLostCommit(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	ctx := context.Background()
	f, of := fragileHouse(t, h)
	for _, committed := range []bool{true, false} {
		name := map[bool]string{true: "made", false: "lost"}[committed]
		is := func(told store.APIKey) {
			t.Helper()
			if stored, err := f.Key(ctx, told.ID); err != nil || stored.APIKey != told {
				t.Errorf("told %+v, stored %+v, %v", told, stored.APIKey, err)
			}
		}
		for _, id := range []string{"1" + name, "2" + name} {
			losing(t, f, committed, "a key", func() error {
				told, err := f.PutKey(ctx, store.APIKey{ID: id, Tenant: of, Name: name, Scopes: "send"}, tenant.RoomForKey)
				is(told)
				return err
			})
		}
		losing(t, f, committed, "a key's end", func() error {
			told, err := f.RevokeKey(ctx, of, "1"+name)
			is(told)
			return err
		})
		losing(t, f, committed, "a key's replacement at once", func() error {
			told, err := f.RotateKey(ctx, store.Rotation{Tenant: of, Old: "2" + name, New: store.APIKey{ID: "3" + name, Hash: [16]byte{3}}, Limit: tenant.RoomForKey})
			is(told.Old)
			is(told.New)
			if told.Old.ID != "2"+name || told.Old.ExpiresAt == 0 || told.New.Name != name {
				t.Errorf("told %+v", told)
			}
			return err
		})
		if all, err := f.ListKeys(ctx, of); err != nil || len(all) != 3*map[bool]int{true: 1, false: 2}[committed] {
			t.Errorf("%d keys, %v", len(all), err)
		}
	}
}

// testConnectionsLostCommit loses the commits of changes to a version that was seen.
//
// covers: I1, X5
func testConnectionsLostCommit(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	ctx := context.Background()
	f, _ := fragileHouse(t, h)
	id, _, err := f.EnsureConnection(ctx, "carrier", "")
	must(t, err)
	c := store.ConnectionSetting{ID: id, Name: "carrier", Changed: store.Changed{By: "ann"}}
	l := store.RouteList{Changed: store.Changed{By: "ann"}, Rules: []route.Rule{{Use: []string{"carrier"}}}}
	for i, committed := range []bool{true, false, true, false} {
		c.Settings = []string{`{"window":1}`, `{"window":2}`}[i%2]
		before := c
		losing(t, f, committed, "a connection", func() error { c, err = f.PutConnection(ctx, c); return err })
		if stored, err := f.ConnectionSettings(ctx); err != nil || len(stored) != 1 || stored[0] != c || c.Version != int64(i+1) {
			t.Errorf("told %+v, stored %+v, %v", c, stored, err)
		}
		losing(t, f, committed, "routes", func() error { l, err = f.PutRoutes(ctx, l); return err })
		if stored, err := f.Routes(ctx); err != nil || !reflect.DeepEqual(stored, l) || l.Version != int64(i+1) {
			t.Errorf("told %+v, stored %+v, %v", l, stored, err)
		}
		if _, err := f.PutConnection(ctx, before); !errors.Is(err, store.ErrOtherVersion) {
			t.Errorf("the same change a second time: %v", err)
		}
	}
	// Whoever was faster while the connection was away is not taken for oneself, though it wrote the same.
	f.Arm(false)
	release, cut := f.Hold(), f.Cut()
	told := make(chan error, 1)
	go func() {
		_, err := f.PutConnection(ctx, c)
		told <- err
	}()
	for f.Cut() == cut { // the other one comes after our try was lost
		<-time.After(time.Millisecond)
	}
	_, err = f.Direct.PutConnection(ctx, c)
	must(t, err)
	release()
	if err := <-told; !errors.Is(err, store.ErrOtherVersion) {
		t.Errorf("somebody else's change was taken for one's own: %v", err)
	}
}
