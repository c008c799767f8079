package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// fakeStops is the part of a store that keeps stops.
type fakeStops struct {
	stops []store.Stop
	flows int
}

func (f *fakeStops) PutStop(_ context.Context, s store.Stop) (store.Stop, bool, error) {
	for _, have := range f.stops {
		if have.Scope == s.Scope && have.Owner == s.Owner && have.LiftedAt == 0 {
			return have, false, nil
		}
	}
	s.At = clock.FromTime(epoch)
	f.stops = append(f.stops, s)
	return s, true, nil
}

func (f *fakeStops) LiftStop(_ context.Context, l store.Lift) (store.Stop, error) {
	i := slices.IndexFunc(f.stops, func(s store.Stop) bool { return s.ID == l.Stop && s.Owner == l.Owner })
	if i < 0 {
		return store.Stop{}, fault.New(fault.NotFound, "there is no such stop")
	}
	s := &f.stops[i]
	if s.LiftedAt != 0 {
		return store.Stop{}, fault.New(fault.State, "lifted before")
	}
	s.LiftedAt, s.LiftedBy, s.LiftedReason, s.LiftedCall = clock.FromTime(epoch.Add(time.Minute)), l.Person, l.Reason, l.Caller
	return *s, nil
}

func (f *fakeStops) ListStops(_ context.Context, tenant ident.Partition, onlyInForce bool, _ store.Page) (own []store.Stop, err error) {
	for _, s := range f.stops {
		if (s.Owner == tenant || s.LiftedAt == 0 && (s.Scope.Tenant == 0 || s.Scope.Tenant == tenant)) && (s.LiftedAt == 0 || !onlyInForce) {
			own = append(own, s)
		}
	}
	return own, nil
}

func (f *fakeStops) HoldingStops(_ context.Context, tenant ident.Partition) (holding []store.Stop, err error) {
	return f.ListStops(context.Background(), tenant, true, store.Page{})
}

func (f *fakeStops) CountFlows(context.Context, flow.Scope) (int, error) { return f.flows, nil }

func (f *fakeStops) TenantNames(context.Context) (map[ident.Partition]string, error) {
	return map[ident.Partition]string{store.Installation: "default", tenantA: "shop", tenantB: "bank"}, nil
}

const (
	byAnn = `"by":"ann","reason":"wrong text"`
	byBob = `{"by":"bob","reason":"it is right again"}`
)

// stop sets a stop with a key.
func (w *world) stop(key, scope string) NewStopView {
	w.t.Helper()
	var v NewStopView
	w.decode(w.call("POST", "/v1/stops", key, "{"+scope+","+byAnn+"}"), 200, &v)
	return v
}

// covers: D19
func TestAStopIsSetShownAndLifted(t *testing.T) {
	w := newWorld(t)
	w.store.flows = 3
	chief := w.key(store.Installation, "admin")
	made := w.stop(chief, `"tenant":"shop","purpose":"sale","connection":"simulator"`)
	if !made.Made || !made.InForce || made.Flows != 3 || *made.Tenant != "shop" || *made.Purpose != "sale" || *made.Connection != "simulator" ||
		made.By != "ann" || made.Reason != "wrong text" || !strings.HasPrefix(made.ID, "stop_") {
		t.Errorf("the stop is %+v", made)
	}
	if s := w.store.stops[0]; s.Scope != (flow.Scope{Connection: 1, Tenant: tenantA, Purpose: "sale"}) || s.Owner != store.Installation || s.Caller == "" {
		t.Errorf("stored is %+v", s)
	}
	if again := w.stop(chief, `"tenant":"shop","purpose":"sale","connection":"simulator"`); again.Made || again.ID != made.ID {
		t.Errorf("the same stop twice is %+v", again)
	}
	if all := w.stop(chief, `"all":true`); all.Tenant != nil || all.Purpose != nil || all.Connection != nil || !all.Made {
		t.Errorf("a stop of everything is %+v", all)
	}
	var lifted StopView
	w.decode(w.call("DELETE", "/v1/stops/"+made.ID, chief, byBob), 200, &lifted)
	if lifted.InForce || lifted.LiftedAt == nil || lifted.LiftedBy != "bob" || lifted.LiftedReason != "it is right again" || lifted.By != "ann" {
		t.Errorf("lifted it is %+v", lifted)
	}
	w.problem(w.call("DELETE", "/v1/stops/"+made.ID, chief, byBob), 409, fault.State)
	w.problem(w.call("DELETE", "/v1/stops/stop_1", chief, byBob), 404, fault.NotFound)
	for query, want := range map[string]int{"": 2, "?in_force=true": 1} {
		var l List[StopView]
		if w.decode(w.call("GET", "/v1/stops"+query, chief, ""), 200, &l); len(l.Data) != want {
			t.Errorf("%q lists %d stops, want %d", query, len(l.Data), want)
		}
	}
}

// A tenant stops its own messages alone, and of the installation's stops sees what holds it, not who did it and why.
//
// covers: I15
func TestATenantStopsItsOwnAlone(t *testing.T) {
	w := newWorld(t)
	chief := w.key(store.Installation, "admin")
	for _, scope := range []string{`"all":true`, `"tenant":"shop"`} {
		if v := w.stop(w.admin, scope); v.Tenant != nil || w.store.stops[0].Scope != (flow.Scope{Tenant: tenantA}) {
			t.Errorf("%s of a tenant's key stops %+v", scope, v)
		}
	}
	for _, name := range []string{"bank", "default", "nobody"} {
		p := w.problem(w.call("POST", "/v1/stops", w.admin, `{"tenant":"`+name+`",`+byAnn+`}`), 400, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Detail != "there is no tenant of this name" {
			t.Errorf("%s: %+v", name, p.Errors)
		}
	}
	_, all := w.stop(chief, `"tenant":"bank"`), w.stop(chief, `"all":true`)
	rec := w.call("GET", "/v1/stops", w.admin, "")
	var l List[StopView]
	if err := json.Unmarshal(rec.Body.Bytes(), &l); err != nil || len(l.Data) != 2 {
		t.Fatalf("%d stops: %v", len(l.Data), err)
	}
	if v := l.Data[1]; v.ID != all.ID || v.By != "the operator" || v.Reason != "" || strings.Contains(rec.Body.String(), "bank") {
		t.Errorf("the installation's stop is shown as %s", rec.Body)
	}
	w.problem(w.call("DELETE", "/v1/stops/"+all.ID, w.admin, byBob), 404, fault.NotFound)
}

func TestWrongStopsAreTold(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string][]string{
		`{}`:                                 {"#/by", "#/reason"},
		`{"by":"ann","reason":"x"}`:          {"#"},
		`{"by":" ","reason":"x","all":true}`: {"#/by"},
		`{"all":true,"purpose":"sale",` + byAnn + `}`:                                         {"#/all"},
		`{"all":"yes",` + byAnn + `}`:                                                         {"#/all"},
		`{"connection":"carrier_z",` + byAnn + `}`:                                            {"#/connection"},
		`{"all":true,"by":"a\u202eb","reason":"` + strings.Repeat("x", longestShown+1) + `"}`: {"#/by", "#/reason"},
		`{"purposes":["sale"],` + byAnn + `}`:                                                 {"#/purposes"},
	} {
		if got := pointers(w.problem(w.call("POST", "/v1/stops", w.admin, body), 400, fault.Invalid)); !slices.Equal(got, want) {
			t.Errorf("%s: wrong are %v, want %v", body, got, want)
		}
	}
	s := w.stop(w.admin, `"all":true`)
	if got := pointers(w.problem(w.call("DELETE", "/v1/stops/"+s.ID, w.admin, ""), 400, fault.Invalid)); len(got) != 2 {
		t.Errorf("lifted without a person and a reason: %v", got)
	}
	if len(w.store.stops) != 1 || w.store.stops[0].LiftedAt != 0 {
		t.Errorf("stored are %+v", w.store.stops)
	}
}

// A message says that a stop holds it, since when and by whom; one that is not pending, or of another purpose, does
// not.
//
// covers: D19
func TestAMessageSaysThatItIsStopped(t *testing.T) {
	w := newWorld(t)
	w.stop(w.admin, `"purpose":"sale"`)
	s := w.stop(w.admin, `"purpose":"order_confirmation"`)
	show := func() (one OneMessageView, listed MessageView) {
		w.get("/v1/messages/"+w.store.message.ID.String(), 200, &one)
		var l List[MessageView]
		w.get("/v1/messages", 200, &l)
		return one, l.Data[0]
	}
	if one, listed := show(); one.Stopped != nil || listed.Stopped != nil {
		t.Errorf("a delivered message is shown as stopped: %+v", one.Stopped)
	}
	attempts := w.store.message.Attempts
	w.store.message.State, w.store.message.Final, w.store.message.Attempts = message.Pending, false, nil
	one, listed := show()
	if one.Stopped == nil || *one.Stopped != (StoppedView{s.ID, s.Since, "ann", "wrong text"}) || listed.Stopped == nil || *listed.Stopped != *one.Stopped {
		t.Errorf("a message that is held is shown with %+v and %+v", one.Stopped, listed.Stopped)
	}
	if !strings.Contains(one.Outlook, "ann") || !strings.Contains(one.Outlook, "wrong text") || !strings.Contains(one.Outlook, "expires") {
		t.Errorf("the outlook is %q", one.Outlook)
	}
	w.store.message.Text.Parts, w.store.message.Attempts = 2, attempts
	if one, _ := show(); one.Stopped == nil || !strings.Contains(one.Outlook, "The rest is sent once the stop is lifted") {
		t.Errorf("of a message that was sent in part the outlook is %q", one.Outlook)
	}
	w.store.message.Purpose = "alert"
	if one, _ := show(); one.Stopped != nil {
		t.Error("a message of another purpose is shown as stopped")
	}
}
