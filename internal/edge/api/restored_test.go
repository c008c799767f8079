package api

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// covers: D20
func TestRestoredShowsWhatIsInDoubt(t *testing.T) {
	w := newWorld(t)
	at := clock.FromTime(epoch)
	w.restore.survey = restore.Survey{
		Incarnation: store.Incarnation{ID: ident.Incarnation{1}, N: 2, BegunAt: at, HeldAt: at.Add(time.Hour), Why: "it knows less",
			Release: &store.Release{KeepPending: true, Person: "ann", Reason: "disk", At: at.Add(2 * time.Hour)}},
		Waiting: restore.Count{N: 3}, Sending: restore.Count{N: 2, More: true}, InDoubt: restore.Count{N: 4, More: true},
		First: []store.Unfinished{{Message: w.store.message.ID, State: message.Pending, Purpose: "alert", CreatedAt: at, ValidUntil: at}},
	}
	var v RestoredView
	w.decode(w.call("GET", "/v1/restored?as_of=2026-12-31T09:00:00Z", w.admin, ""), 200, &v)
	if w.restore.asOf != at.Add(-time.Hour) {
		t.Errorf("as of %v", w.restore.asOf.Time())
	}
	if !v.Held || *v.HeldSince != "2026-12-31T11:00:00Z" || v.Why != "it knows less" || v.Incarnation.N != 2 || *v.Incarnation.BegunAt != "2026-12-31T10:00:00Z" ||
		v.Unfinished != (UnfinishedView{3, 2, true}) || v.InDoubt != 4 || !v.InDoubtMore || len(v.Messages) != 1 || v.Messages[0].State != "pending" || v.Messages[0].Purpose != "alert" {
		t.Errorf("shown is %+v", v)
	}
	if r := v.Release; r == nil || r.AsOf != nil || !r.KeepPending || r.By != "ann" || r.AskedAt != "2026-12-31T12:00:00Z" {
		t.Errorf("the release is %+v", r)
	}
	w.problem(w.call("GET", "/v1/restored?as_of=yesterday", w.admin, ""), 400, fault.Invalid)
}

// covers: D20
func TestRelease(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]restore.Ask{
		`{"reason":" disk "}`:                           {Reason: "disk", Person: "checkout admin"},
		`{"reason":"disk","by":"ann"}`:                  {Reason: "disk", Person: "ann"},
		`{"reason":"disk","keep_pending":true}`:         {Reason: "disk", Person: "checkout admin", KeepPending: true},
		`{"reason":"disk","declare":true}`:              {Reason: "disk", Person: "checkout admin", Declared: true},
		`{"reason":"d","as_of":"2026-12-31T10:00:00Z"}`: {Reason: "d", Person: "checkout admin", AsOf: clock.FromTime(epoch)},
	} {
		rec := w.call("POST", "/v1/restored", w.admin, body)
		if rec.Code != 202 || w.restore.asked != want {
			t.Errorf("%s: %d, asked for %+v", body, rec.Code, w.restore.asked)
		}
	}
	for _, body := range []string{`{}`, `{"reason":""}`, `{"reason":"disk","by":" "}`, `{"reason":"disk","as_of":"12:00"}`, `{"reason":"disk","asof":"x"}`} {
		w.problem(w.call("POST", "/v1/restored", w.admin, body), 400, fault.Invalid)
	}
	w.restore.err = fault.New(fault.State, "traffic does not wait")
	w.problem(w.call("POST", "/v1/restored", w.admin, `{"reason":"disk"}`), 409, fault.State)
}

// covers: D20
func TestRequeue(t *testing.T) {
	w := newWorld(t)
	path := "/v1/messages/" + w.store.message.ID.String() + "/requeue"
	rec := w.call("POST", path, w.key(tenantA, "review"), `{"reason":"not in their list"}`)
	if rec.Code != 200 || w.restore.person != "checkout review: not in their list" || !strings.Contains(rec.Body.String(), w.store.message.ID.String()) {
		t.Errorf("%d, by %s: %s", rec.Code, w.restore.person, rec.Body)
	}
	w.problem(w.call("POST", path, w.admin, `{}`), 400, fault.Invalid)
	w.problem(w.call("POST", "/v1/messages/msg_1/requeue", w.admin, `{"reason":"x"}`), 404, fault.NotFound)
	w.restore.err = fault.Wrap(errors.New("hidden"), fault.State, "only a message that a restore left unknown")
	w.problem(w.call("POST", path, w.admin, `{"reason":"x"}`), 409, fault.State)
}
