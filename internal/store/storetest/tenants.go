package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// administrationTests are those of what is administered while nodes run.
var administrationTests = map[string]func(*testing.T, Harness){
	"RoutedRemoval":    testRoutedRemoval,
	"Keys":             testKeys,
	"KeysExpire":       testKeysExpire,
	"KeysRotate":       testKeysRotate,
	"KeysOfUsers":      testKeysOfUsers,
	"Tenants":          testTenants,
	"TenantRacers":     testTenantRacers,
	"TenantSuspended":  testTenantIsSuspended,
	"Users":            testUsers,
	"Guests":           testGuests,
	"Senders":          testSenders,
	"SenderRacers":     testSenderRacers,
	"Leases":           testLeases,
	"LeaseRacers":      testLeaseRacers,
	"ChangesAreRaised": testChangesAreRaised,
	"AdministeredLost": testAdministeredLostCommit,
	"KeysLost":         testKeysLostCommit,
	"ConnectionsLost":  testConnectionsLostCommit,
}

// house is a store with two tenants.
type house struct {
	store.Store
	t    *testing.T
	h    Harness
	a, b store.Tenant
	own  ident.Partition
}

func newHouse(t *testing.T, h Harness) *house {
	t.Helper()
	ctx, s := context.Background(), h.Open(t)
	first, err := s.EnsureTenant(ctx, "default")
	must(t, err)
	made := &house{Store: s, t: t, h: h, own: first}
	made.a, err = s.CreateTenant(ctx, store.Tenant{Name: "a", Label: "A & Co", Prepaid: true, CreatedBy: "ann"})
	must(t, err)
	made.b, err = s.CreateTenant(ctx, store.Tenant{Name: "b"})
	must(t, err)
	return made
}

// refused wants a fault of a code.
func refused(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code || err == nil {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func testTenants(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	if w.own != store.Installation || w.a.ID == w.b.ID || w.a.ID == w.own {
		t.Errorf("the tenants %d, %d and %d", w.own, w.a.ID, w.b.ID)
	}
	if w.a.State != tenant.Active || w.a.CreatedAt == 0 || w.a.CreatedBy != "ann" || !w.a.Prepaid || w.b.Prepaid || w.a.Label != "A & Co" {
		t.Errorf("made as %+v and %+v", w.a, w.b)
	}
	_, err := w.CreateTenant(ctx, store.Tenant{Name: "a"})
	refused(t, "the same name", err, fault.State)
	got, err := w.TenantByName(ctx, "a")
	must(t, err)
	if got != w.a {
		t.Errorf("%+v was stored as %+v", w.a, got)
	}
	_, err = w.TenantByName(ctx, "c")
	refused(t, "no such tenant", err, fault.NotFound)
	if own, err := w.TenantByName(ctx, "default"); err != nil || own.Prepaid || own.State != tenant.Active {
		t.Errorf("the installation's own: %+v, %v", own, err)
	}
	for after, want := range map[string]string{"": "[a b]", "a": "[b default]", "b": "[default]", "default": "[]"} {
		page, err := w.ListTenants(ctx, after, 2)
		must(t, err)
		names := []string{}
		for _, one := range page {
			names = append(names, one.Name)
		}
		if fmt.Sprint(names) != want {
			t.Errorf("after %q: %v, want %s", after, names, want)
		}
	}
}

// testTenantRacers makes tenants at the same moment: each gets a number of its own, and a name is given once.
func testTenantRacers(t *testing.T, h Harness) {
	const racers = 12
	ctx, w := context.Background(), newHouse(t, h)
	var (
		wg    sync.WaitGroup
		taken atomic.Int32
	)
	for i := range racers {
		wg.Go(func() {
			_, err := w.CreateTenant(ctx, store.Tenant{Name: fmt.Sprintf("racer-%d", i/2)})
			if fault.CodeOf(err) == fault.State && err != nil {
				taken.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if taken.Load() != racers/2 {
		t.Errorf("%d of %d names were taken", taken.Load(), racers/2)
	}
	names, err := w.TenantNames(ctx)
	must(t, err)
	if len(names) != 3+racers/2 {
		t.Errorf("%d tenants: %v", len(names), names)
	}
}

func testTenantIsSuspended(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	_, err := w.PutKey(ctx, store.APIKey{ID: "k", Tenant: w.a.ID, Name: "shop"}, nil)
	must(t, err)
	change := store.TenantChange{State: tenant.Suspended, By: "ann", Reason: "unpaid"}
	got, err := w.ChangeTenant(ctx, w.a.ID, change)
	must(t, err)
	if got.State != tenant.Suspended || got.StateBy != "ann" || got.StateReason != "unpaid" || got.StateAt == 0 {
		t.Errorf("suspended as %+v", got)
	}
	k, err := w.Key(ctx, "k")
	must(t, err)
	if k.TenantState != tenant.Suspended || !k.Works {
		t.Errorf("its key: %+v", k)
	}
	if again, err := w.ChangeTenant(ctx, w.a.ID, change); err != nil || again != got {
		t.Errorf("suspended again: %+v, %v", again, err)
	}
	change.By = "bob"
	_, err = w.ChangeTenant(ctx, w.a.ID, change)
	refused(t, "suspended by somebody else", err, fault.State)
	if err == nil || !strings.Contains(err.Error(), "by ann: unpaid") {
		t.Errorf("it is not said by whom, and why: %v", err)
	}
	label := "A"
	got, err = w.ChangeTenant(ctx, w.a.ID, store.TenantChange{Label: &label})
	must(t, err)
	if got.Label != "A" || got.State != tenant.Suspended {
		t.Errorf("with another label: %+v", got)
	}
	got, err = w.ChangeTenant(ctx, w.a.ID, store.TenantChange{State: tenant.Active, By: "bob"})
	must(t, err)
	if stored, err := w.TenantByName(ctx, "a"); err != nil || stored != got || got.State != tenant.Active || got.StateBy != "bob" || got.StateReason != "" {
		t.Errorf("lifted: %+v, %v", stored, err)
	}
	_, err = w.ChangeTenant(ctx, w.own, change)
	refused(t, "the installation's own tenant", err, fault.State)
	_, err = w.ChangeTenant(ctx, 99, change)
	refused(t, "no such tenant", err, fault.NotFound)
}

// testChangesAreRaised makes each change once: other nodes are told of each, and of none that was refused.
func testChangesAreRaised(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	count := func() int64 {
		n, err := w.ControlVersion(ctx)
		must(t, err)
		return n
	}
	u := store.User{ID: ident.NewUser(w.a.ID), Tenant: w.a.ID, Login: "ann"}
	g := store.Guest{ID: ident.NewGuest(w.a.ID), Tenant: w.a.ID, Phone: "+12025550143"}
	l := store.Lease{ID: ident.NewLease(w.a.ID), Tenant: w.a.ID, Number: "+12025550100"}
	label := "x"
	for i, change := range []func() error{
		func() error { _, err := w.CreateTenant(ctx, store.Tenant{Name: "c"}); return err },
		func() error { _, err := w.ChangeTenant(ctx, w.a.ID, store.TenantChange{Label: &label}); return err },
		func() error { _, err := w.PutKey(ctx, store.APIKey{ID: "k", Tenant: w.a.ID}, nil); return err },
		func() error {
			_, err := w.RotateKey(ctx, store.Rotation{Tenant: w.a.ID, Old: "k", New: store.APIKey{ID: "k2"}, OldEnds: time.Hour})
			return err
		},
		func() error { _, err := w.RevokeKey(ctx, w.a.ID, "k"); return err },
		func() error { _, err := w.CreateUser(ctx, u); return err },
		func() error { _, err := w.ChangeUser(ctx, w.a.ID, u.ID, store.UserChange{Name: &label}); return err },
		func() error { _, _, err := w.CreateGuest(ctx, g); return err },
		func() error { _, err := w.DeleteGuest(ctx, w.a.ID, g.ID); return err },
		func() error { _, _, err := w.PutSender(ctx, store.Sender{Tenant: w.a.ID, Sender: "SHOP"}); return err },
		func() error { _, err := w.DeleteSender(ctx, w.a.ID, "SHOP"); return err },
		func() error { _, err := w.LeaseNumber(ctx, l, tenant.Lease); return err },
		func() error { _, err := w.EndLease(ctx, w.a.ID, l.ID, 1, tenant.Lease); return err },
	} {
		before := count()
		must(t, change())
		if got := count() - before; got != 1 {
			t.Errorf("change %d raised the count by %d", i, got)
		}
	}
	before := count()
	_, err := w.CreateTenant(ctx, store.Tenant{Name: "c"})
	refused(t, "the same name", err, fault.State)
	_, err = w.RevokeKey(ctx, w.b.ID, "k2")
	refused(t, "another's key", err, fault.NotFound)
	if got := count(); got != before {
		t.Errorf("what was refused raised the count by %d", got-before)
	}
}
