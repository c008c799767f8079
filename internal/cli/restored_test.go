package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
)

const heldStore = `{"held":true,"held_since":"2026-12-31T10:00:00Z","why":"it knows less","incarnation":{"id":"inc_1","n":1,"begun_at":null},"release":null,
	"unfinished":{"pending":3,"sending":1,"more":false},"in_doubt":2,"in_doubt_more":false,
	"messages":[{"id":"msg_1","state":"pending","purpose":"alert","created_at":"2026-12-31T09:00:00Z","valid_until":"2026-12-31T11:00:00Z"}]}`

const freeStore = `{"held":false,"held_since":null,"incarnation":{"id":"inc_2","n":2,"begun_at":"2026-12-31T10:05:00Z"},"release":null,
	"unfinished":{"pending":0,"sending":0,"more":false},"in_doubt":0,"in_doubt_more":false,"messages":[]}`

// covers: D20
func TestRestoredShows(t *testing.T) {
	asked := ""
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		if asked = r.Method + " " + r.URL.String(); r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		reply(w, 200, heldStore)
	})
	code, out, errs := m.run("restored", "--as-of", "2026-12-31T11:00:00+01:00", "--dry-run", "--reason", "disk")
	for _, want := range []string{
		"Traffic waits since 2026-12-31 10:00:00.000 UTC, because the store went back in time: it knows less.",
		"pending           3", "of them in doubt  2", "2026-12-31 09:00:00.000  msg_1  alert    pending",
		"next: einmal restored --as-of 2026-12-31T11:00:00+01:00 --reason TEXT",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if code != exitDone || asked != "GET /v1/restored?as_of=2026-12-31T10%3A00%3A00Z" {
		t.Errorf("%d %s %s", code, asked, errs)
	}
	if code, out, _ = m.run("restored", "--json"); code != exitDone || !strings.Contains(out, `"in_doubt":2`) || strings.Count(out, "\n") != 1 {
		t.Errorf("%d %s", code, out)
	}
	m = newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, freeStore) })
	if code, out, _ = m.run("restored"); code != exitDone || !strings.Contains(out, "Traffic does not wait.") || !strings.Contains(out, "--declare --reason TEXT") {
		t.Errorf("%d %s", code, out)
	}
}

// restoring is a gateway whose store is held until it was asked to release it and then asked twice how far it is.
func restoring(t *testing.T, body *api.ReleaseBody) http.HandlerFunc {
	var left atomic.Int32
	left.Store(-1)
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			if err := json.NewDecoder(r.Body).Decode(body); err != nil {
				t.Error(err)
			}
			left.Store(2)
			reply(w, 202, heldStore)
		case left.Load() == -1 || left.Add(-1) > 0:
			reply(w, 200, heldStore)
		default:
			reply(w, 200, freeStore)
		}
	}
}

// covers: D20
func TestRestoredReleases(t *testing.T) {
	var got api.ReleaseBody
	m := newMachine(t, restoring(t, &got))
	code, out, errs := m.run("restored", "--as-of", "2026-12-31T10:00:00Z", "--reason", "disk", "--by", "ann")
	if code != exitDone || !strings.Contains(out, "Traffic goes on. 2 messages that may have been sent since the copy was taken are unknown") || !strings.Contains(out, "einmal requeue") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if want := (api.ReleaseBody{Reason: "disk", By: "ann", AsOf: "2026-12-31T10:00:00Z"}); got != want {
		t.Errorf("asked for %+v", got)
	}
	m = newMachine(t, restoring(t, &got))
	if code, out, _ = m.run("restored", "--keep-pending", "--declare", "--reason", "disk"); code != exitDone || !strings.Contains(out, "3 messages that wait are sent.") || !got.KeepPending || !got.Declare {
		t.Errorf("%d %s, asked for %+v", code, out, got)
	}
	m = newMachine(t, restoring(t, &got))
	if code, out, _ = m.run("restored", "--reason", "disk", "--json"); code != exitDone || !strings.HasPrefix(out, `{"held":false`) {
		t.Errorf("%d %s", code, out)
	}
}

func TestRestoredIsNotWaitedForForEver(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, heldStore) })
	m.signals <- syscall.SIGINT
	if code, _, errs := m.run("restored", "--reason", "disk"); code != exitFailed || !strings.Contains(errs, "the gateway goes on with the release") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestRestoredUsage(t *testing.T) {
	m := newMachine(t, nil)
	for args, want := range map[string]string{
		"restored --as-of yesterday":                                     "write it like 2026-12-31T10:00:00Z",
		"restored --data folder":                                         "belong to --offline",
		"restored --as-of 2026-12-31T10:00:00Z --keep-pending --dry-run": "leave one of them out",
		"restored --offline --reason disk":                               "--by NAME",
		"requeue msg_1":                                                  "--reason",
	} {
		if code, _, errs := m.run(strings.Fields(args)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
}

// offlineStore is a store in this process.
type offlineStore struct {
	held   bool
	stuck  bool
	asOf   time.Time
	asked  api.ReleaseBody
	closed bool
}

func (s *offlineStore) Survey(_ context.Context, asOf time.Time) (v api.RestoredView, err error) {
	s.asOf = asOf
	text := freeStore
	if s.held {
		text = heldStore
	}
	return v, json.Unmarshal([]byte(text), &v)
}

func (s *offlineStore) Release(_ context.Context, b api.ReleaseBody) error {
	s.asked = b
	return nil
}

func (s *offlineStore) Await(ctx context.Context, progress func(*api.RestoredView)) error {
	var v api.RestoredView
	err := json.Unmarshal([]byte(strings.Replace(heldStore, `"pending":3`, `"pending":2`, 1)), &v)
	progress(&v)
	if s.stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	s.held = false
	return err
}

func (s *offlineStore) Close() error {
	s.closed = true
	return nil
}

// covers: D20
func TestRestoredOffline(t *testing.T) {
	s := &offlineStore{held: true}
	var got Options
	m := newMachine(t, nil)
	m.app.Restored = func(_ context.Context, o Options, _ io.Writer) (Restored, error) {
		got = o
		return s, nil
	}
	code, out, errs := m.run("restored", "--offline", "--data", "folder", "--mark", "m", "--store", "postgres://h/d", "--config", "c.yaml", "--reason", "disk", "--by", "ann")
	if code != exitDone || !strings.Contains(out, "Traffic goes on.") || !s.closed || s.asked.By != "ann" {
		t.Errorf("%d %s%s %+v", code, out, errs, s)
	}
	if got.Data != "folder" || got.Mark != "m" || got.Store != "postgres://h/d" || got.Config != "c.yaml" {
		t.Errorf("%+v", got)
	}
}

// Who waits sees on a terminal how far it is. What is interrupted goes on with the next call.
//
// covers: D20
func TestRestoredOfflineTakesItsTime(t *testing.T) {
	s := &offlineStore{held: true}
	m := newMachine(t, nil)
	m.app.Restored = func(context.Context, Options, io.Writer) (Restored, error) { return s, nil }
	m.terminal = true
	args := []string{"restored", "--offline", "--reason", "disk", "--by", "ann"}
	if code, _, errs := m.run(args...); code != exitDone || !strings.Contains(errs, "1 of 2 messages made unknown") {
		t.Errorf("%d %q", code, errs)
	}
	s.held, s.stuck, s.closed = true, true, false
	m.signals <- syscall.SIGINT
	if code, out, errs := m.run(args...); code != exitFailed || !strings.Contains(errs, "traffic still waits") || !s.closed || strings.Contains(out, "goes on") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// A gateway that takes longer than a second is asked how far it is.
//
// covers: D20
func TestRestoredShowsHowFarItIs(t *testing.T) {
	var asked atomic.Int32
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		switch {
		case r.Method == http.MethodPost:
			reply(w, 202, heldStore)
		case n > 8:
			reply(w, 200, freeStore)
		default:
			reply(w, 200, strings.Replace(heldStore, `"pending":3`, `"pending":`+fmt.Sprint(max(2, 5-n)), 1))
		}
	})
	m.terminal = true
	if code, out, errs := m.run("restored", "--reason", "disk"); code != exitDone || !strings.Contains(errs, "2 of 2 messages made unknown") || strings.Count(errs, "made unknown") > 3 {
		t.Errorf("%d %s%q", code, out, errs)
	}
}

// Of very many it is said how many there are at least; a release that is under way needs no other.
//
// covers: D20
func TestRestoredShowsMany(t *testing.T) {
	many := strings.NewReplacer(`"in_doubt":2,"in_doubt_more":false`, `"in_doubt":10000,"in_doubt_more":true`, `"release":null`,
		`"release":{"as_of":null,"keep_pending":false,"by":"ann","reason":"disk","asked_at":"2026-12-31T10:00:00Z"}`).Replace(heldStore)
	m := newMachine(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, many) })
	_, out, errs := m.run("restored")
	for _, want := range []string{"Traffic is being released, as ann asked for", "of them in doubt  10000 or more", "and at least 9980 more", "next: einmal restored   (shows how far it is)"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s%s", want, out, errs)
		}
	}
}

// The operator's word on another tenant's message goes to that tenant's place.
//
// covers: R6, I10, D20
func TestAnOperatorsWordOnATenantsMessage(t *testing.T) {
	for command, want := range map[string][2]string{
		"outcome msg_1 --took --by ann --reason list":                                {`POST /v1/messages/msg_1/outcome {"by":"ann","outcome":"accepted","reason":"list"}`, "message msg_1 is accepted\nheld 0.00 USD, settled 0.0075 USD\n"},
		"outcome msg_1 --not-sent --attempt 2 --part 3 --tenant a --by x --reason r": {`POST /v1/tenants/a/messages/msg_1/outcome {"attempt":2,"by":"x","outcome":"not_sent","part":3,"reason":"r"}`, "message msg_1"},
		"requeue msg_1 --tenant a --reason r":                                        {`POST /v1/tenants/a/messages/msg_1/requeue {"reason":"r"}`, "message msg_1"},
		"exceptions resolve exc_1 --tenant a --dismiss --by x --reason r":            {`POST /v1/tenants/a/exceptions/exc_1/resolve {"action":"dismiss","by":"x","reason":"r"}`, ""},
	} {
		asked := ""
		m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked = r.Method + " " + r.URL.Path + " " + string(body)
			reply(w, 200, `{"id":"msg_1","state":"accepted","cost":{"held_micro_usd":0,"settled_micro_usd":7500}}`)
		})
		if code, out, errs := m.run(strings.Fields(command)...); code != exitDone || asked != want[0] || !strings.Contains(out, want[1]) {
			t.Errorf("%s: %d, asked %s, said %s%s", command, code, asked, out, errs)
		}
	}
	m := newMachine(t, nil)
	if code, _, errs := m.run("outcome", "msg_1", "--took", "--not-sent", "--by", "x", "--reason", "r"); code != exitUsage {
		t.Errorf("both: %d %s", code, errs)
	}
}

// covers: D20
func TestRequeueIsAPersonsWord(t *testing.T) {
	m := newMachine(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method+" "+r.URL.Path != "POST /v1/messages/msg_1/requeue" || string(body) != `{"reason":"not in their list"}` {
			t.Errorf("%s %s %s", r.Method, r.URL, body)
		}
		reply(w, 200, `{"id":"msg_1","state":"pending","outlook":"Another attempt follows by itself."}`)
	})
	if code, out, errs := m.run("requeue", "msg_1", "--reason", "not in their list"); code != exitDone || out != "message msg_1 is pending\nAnother attempt follows by itself.\n" {
		t.Errorf("%d %s%s", code, out, errs)
	}
}
