package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// everything is the first page of a list.
var everything = store.Page{Limit: 10}

func (w *house) user(of store.Tenant, login string) store.User {
	w.t.Helper()
	u, err := w.CreateUser(context.Background(), store.User{
		ID: ident.NewUser(of.ID), Tenant: of.ID, Login: login, Name: "Ann of " + of.Name, Phone: "+12025550143", Role: "send read", CreatedBy: "bob",
	})
	must(w.t, err)
	return u
}

func testUsers(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	u, other := w.user(w.a, "ann"), w.user(w.b, "ann")
	if u.State != tenant.Active || u.CreatedAt == 0 {
		t.Errorf("made as %+v", u)
	}
	_, err := w.CreateUser(ctx, store.User{ID: ident.NewUser(w.a.ID), Tenant: w.a.ID, Login: "ann"})
	refused(t, "the same login", err, fault.State)
	_, err = w.User(ctx, w.a.ID, other.ID)
	refused(t, "another tenant's user", err, fault.NotFound)
	_, err = w.ChangeUser(ctx, w.a.ID, other.ID, store.UserChange{State: tenant.Suspended})
	refused(t, "another tenant's user is changed", err, fault.NotFound)
	name, phone, role := "Anna", "", "read"
	changed, err := w.ChangeUser(ctx, w.a.ID, u.ID, store.UserChange{Name: &name, Phone: &phone, Role: &role, State: tenant.Suspended})
	must(t, err)
	u.Name, u.Phone, u.Role, u.State = name, phone, role, tenant.Suspended
	if stored, err := w.User(ctx, w.a.ID, u.ID); err != nil || stored != u || changed != u {
		t.Errorf("changed to %+v, %v", stored, err)
	}
	second := w.user(w.a, "bea")
	all, err := w.ListUsers(ctx, w.a.ID, everything)
	must(t, err)
	if len(all) != 2 || !slices.Contains(all, u) || !slices.Contains(all, second) {
		t.Errorf("the tenant's users are %+v", all)
	}
	rest, err := w.ListUsers(ctx, w.a.ID, store.Page{Limit: 10, At: all[0].CreatedAt, ID: all[0].ID})
	must(t, err)
	if len(rest) != 1 || rest[0] != all[1] {
		t.Errorf("after the first: %+v", rest)
	}
}

func testGuests(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	guest := func(of store.Tenant, phone string) (store.Guest, bool) {
		g, made, err := w.CreateGuest(ctx, store.Guest{ID: ident.NewGuest(of.ID), Tenant: of.ID, Name: "tester", Phone: phone, CreatedBy: "ann"})
		must(t, err)
		return g, made
	}
	const phone = "+12025550199"
	g, made := guest(w.a, phone)
	again, madeAgain := guest(w.a, phone)
	if !made || madeAgain || again != g || g.CreatedAt == 0 {
		t.Errorf("made %t %+v, then %t %+v", made, g, madeAgain, again)
	}
	guest(w.b, phone)
	w.user(w.a, "ann")
	silent := w.user(w.b, "ann")
	_, err := w.ChangeUser(ctx, w.b.ID, silent.ID, store.UserChange{State: tenant.Suspended})
	must(t, err)
	_, err = w.DeleteGuest(ctx, w.b.ID, g.ID)
	refused(t, "another tenant's guest", err, fault.NotFound)
	team, err := w.TeamPhones(ctx)
	must(t, err)
	slices.Sort(team[w.a.ID])
	if fmt.Sprint(team[w.a.ID]) != "[+12025550143 "+phone+"]" || fmt.Sprint(team[w.b.ID]) != "["+phone+"]" {
		t.Errorf("%v", team)
	}
	gone, err := w.DeleteGuest(ctx, w.a.ID, g.ID)
	must(t, err)
	if all, err := w.ListGuests(ctx, w.a.ID, everything); err != nil || len(all) != 0 || gone != g {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := w.ListGuests(ctx, w.b.ID, everything); err != nil || len(all) != 1 || all[0].Phone != phone {
		t.Errorf("%+v, %v", all, err)
	}
}

func (w *house) sender(of store.Tenant, text string, byDefault bool) (store.Sender, bool) {
	w.t.Helper()
	s, made, err := w.PutSender(context.Background(), store.Sender{Tenant: of.ID, Sender: text, Default: byDefault, CreatedBy: "ann"})
	must(w.t, err)
	return s, made
}

// senders writes the tenant's senders, the default one with a star.
func (w *house) senders(of store.Tenant) (text string) {
	w.t.Helper()
	all, err := w.ListSenders(context.Background(), of.ID)
	must(w.t, err)
	for _, s := range all {
		text += " " + s.Sender
		if s.Default {
			text += "*"
		}
	}
	return text
}

func testSenders(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	first, made := w.sender(w.a, "SHOP", false)
	if !first.Default || !made || first.CreatedAt == 0 || first.CreatedBy != "ann" {
		t.Errorf("a first sender is %+v", first)
	}
	w.sender(w.a, "12345", false)
	w.sender(w.b, "SHOP", false)
	if got := w.senders(w.a); got != " 12345 SHOP*" {
		t.Error(got)
	}
	if s, made := w.sender(w.a, "12345", true); made || !s.Default {
		t.Errorf("%t %+v", made, s)
	}
	if s, made := w.sender(w.a, "SHOP", false); made || s.Default {
		t.Errorf("registered again: %t %+v", made, s)
	}
	if got := w.senders(w.a); got != " 12345* SHOP" {
		t.Error(got)
	}
	_, err := w.DeleteSender(ctx, w.a.ID, "12345")
	refused(t, "the default sender", err, fault.State)
	_, err = w.DeleteSender(ctx, w.a.ID, "OTHER")
	refused(t, "no such sender", err, fault.NotFound)
	for _, text := range []string{"SHOP", "12345"} {
		_, err = w.DeleteSender(ctx, w.a.ID, text)
		must(t, err)
	}
	all, err := w.AllSenders(ctx)
	must(t, err)
	if len(all) != 1 || all[0].Tenant != w.b.ID || all[0].Sender != "SHOP" || !all[0].Default {
		t.Errorf("%+v", all)
	}
}

// testSenderRacers makes several senders the default at once: one of them is.
func testSenderRacers(t *testing.T, h Harness) {
	w := newHouse(t, h)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { w.sender(w.a, fmt.Sprint("S", i), true) })
	}
	wg.Wait()
	all, err := w.ListSenders(context.Background(), w.a.ID)
	must(t, err)
	others := slices.DeleteFunc(slices.Clone(all), func(s store.Sender) bool { return s.Default })
	if len(all) != 8 || len(others) != 7 {
		t.Errorf("%d senders, %d of them not the default: %+v", len(all), len(others), all)
	}
}

const leased = "+12025550100"

func (w *house) lease(of store.Tenant, begins, ends clock.Micros) (store.Lease, error) {
	return w.LeaseNumber(context.Background(), store.Lease{
		ID: ident.NewLease(of.ID), Number: leased, Tenant: of.ID, Term: tenant.Term{Begins: begins, Ends: ends}, CreatedBy: "ann",
	}, tenant.Lease)
}

// covers: M7
func testLeases(t *testing.T, h Harness) {
	ctx, w := context.Background(), newHouse(t, h)
	now, err := w.Now(ctx)
	must(t, err)
	hour := func(n int) clock.Micros { return now.Add(time.Duration(n) * time.Hour) }
	next, err := w.lease(w.b, hour(1), hour(2))
	must(t, err)
	_, err = w.lease(w.a, 0, 0)
	refused(t, "a lease without an end, before another one", err, fault.State)
	first, err := w.lease(w.a, 0, hour(1))
	must(t, err)
	if first.Begins < now || first.Ends != hour(1) || first.CreatedAt == 0 {
		t.Errorf("leased as %+v", first)
	}
	_, err = w.EndLease(ctx, w.a.ID, next.ID, 0, tenant.Lease)
	refused(t, "another tenant's lease", err, fault.NotFound)
	_, err = w.EndLease(ctx, w.a.ID, first.ID, hour(2), tenant.Lease)
	refused(t, "an end in another's lease", err, fault.State)
	if l, err := w.EndLease(ctx, w.b.ID, next.ID, 1, tenant.Lease); err != nil || l.Ends != l.Begins {
		t.Errorf("a lease that had not begun ends as %+v: %v", l, err)
	}
	if first, err = w.EndLease(ctx, w.a.ID, first.ID, 0, tenant.Lease); err != nil || first.Ends != 0 {
		t.Errorf("without an end it is %+v: %v", first, err)
	}
	all, err := w.ListLeases(ctx, w.a.ID, everything)
	must(t, err)
	if len(all) != 1 || all[0] != first {
		t.Errorf("the tenant's leases are %+v", all)
	}
	if l, err := w.EndLease(ctx, w.a.ID, first.ID, 1, tenant.Lease); err != nil || l.Ends < now || l.Ends > hour(1) {
		t.Errorf("ended now it is %+v: %v", l, err)
	}
	_, err = w.lease(w.b, 0, 0)
	must(t, err)
}

// testLeaseRacers lets tenants lease one number at the same moment: one gets it.
func testLeaseRacers(t *testing.T, h Harness) {
	w := newHouse(t, h)
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = w.lease([]store.Tenant{w.a, w.b}[i%2], 0, 0) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		refused(t, "a number that is leased", err, fault.State)
	}
	if won != 1 {
		t.Errorf("%d leases of one number", won)
	}
}
