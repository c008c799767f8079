package app_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/ground/secret"
)

// copiers take a copy of a gateway's store while that runs. What they return puts it back while nothing runs.
var copiers = map[string]func(t *testing.T, c app.Config) (putBack func()){"sqlite": copySQLite}

// copySQLite takes an online copy, as backups do.
func copySQLite(t *testing.T, c app.Config) func() {
	t.Helper()
	store, backup := filepath.Join(c.Data, app.StoreFile), filepath.Join(t.TempDir(), "backup.db")
	db, err := sql.Open("sqlite", store)
	must(t, err)
	_, err = db.Exec("vacuum into ?", backup)
	must(t, errors.Join(err, db.Close()))
	return func() {
		removeStore(t, c)
		b, err := os.ReadFile(backup)
		must(t, err)
		must(t, os.WriteFile(store, b, 0o600))
	}
}

// removeStore deletes the embedded store and leaves the rest of the data folder.
func removeStore(t *testing.T, c app.Config) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(c.Data, app.StoreFile+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// runs starts a gateway that the test stops itself.
func runs(t *testing.T, c app.Config) *gateway {
	t.Helper()
	a := app.New(c, slog.New(slog.DiscardHandler))
	must(t, a.Start(context.Background()))
	b, err := os.ReadFile(a.AdminKeyFile())
	must(t, err)
	return &gateway{App: a, t: t, cfg: c, key: strings.TrimSpace(string(b)), client: &http.Client{Timeout: 30 * time.Second}}
}

// past is a gateway's store that was put back to what it was before a message that waited, and others, were sent.
type past struct {
	cfg             app.Config
	waited, missing reply // sent in the gap: the copy holds one as waiting, and nothing of the other
	body            map[string]any
}

func newPast(t *testing.T, c app.Config) *past {
	t.Helper()
	p := &past{cfg: c, body: alert("gap", "+12025550104")} // its answer is lost, and a receipt tells
	g := runs(t, c)
	g.await(g.post(order("before", "1", "+12025550100")).at("message.id"), "delivered")
	stop := g.call(http.MethodPost, "/v1/stops", map[string]any{"purpose": "order_confirmation", "by": "ann", "reason": "a copy"})
	p.waited = g.post(order("waited", "1", "+12025550100"))
	putBack := copiers[c.StoreName()](t, c)
	lift := g.call(http.MethodDelete, "/v1/stops/"+stop.at("id"), map[string]any{"by": "ann", "reason": "it is taken"})
	if stop.Status != http.StatusOK || lift.Status != http.StatusOK {
		t.Fatalf("%s\n%s", stop.Raw, lift.Raw)
	}
	p.missing = g.post(p.body)
	g.await(p.waited.at("message.id"), "delivered")
	g.await(p.missing.at("message.id"), "delivered")
	g.stop()
	putBack()
	return p
}

// A gateway whose store was put back notices it at its start: it takes nothing, sends nothing and says so, until an
// operator releases it. Then what had waited in the copy, and was sent, is unknown and not sent again.
//
// covers: D20, I19
func TestStoreThatWasPutBack(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		p := newPast(t, c)
		g := runs(t, c)
		sent := g.accepts()
		if g.Held() == "" {
			t.Fatal("the copy was not noticed")
		}
		for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/v1/messages": 200, "/metrics": 200} {
			r := g.call(http.MethodGet, path, nil)
			if r.Status != want || want == 503 && (r.Header.Get("Retry-After") == "" || !strings.Contains(r.Raw, "einmal restored")) || path == "/metrics" && !strings.Contains(r.Raw, "\neinmal_traffic_held 1\n") {
				t.Errorf("%s: %d %s", path, r.Status, r.Raw)
			}
		}
		refused := g.post(order("new", "1", "+12025550100"))
		if refused.Status != 503 || refused.Header.Get("Retry-After") == "" || !strings.Contains(refused.Raw, "einmal restored") {
			t.Errorf("a request: %d %s", refused.Status, refused.Raw)
		}
		id := p.waited.at("message.id")
		if m := g.call(http.MethodGet, "/v1/messages/"+id, nil); m.at("state") != "unknown" {
			t.Errorf("what waited in the copy is told as %s", m.at("state"))
		}
		if r := g.call(http.MethodPost, "/v1/messages/"+id+"/cancel", map[string]any{"reason": "quick"}); r.Status != 503 {
			t.Errorf("it was taken back: %d %s", r.Status, r.Raw)
		}
		if r := g.call(http.MethodGet, "/v1/restored", nil); r.at("in_doubt") != "1" || r.at("unfinished.pending") != "1" || r.at("held") != "true" {
			t.Errorf("in doubt are %s", r.Raw)
		}
		g.release(t)
		g.await(g.post(alert("new", "+12025550100")).at("message.id"), "delivered")
		g.checkPast(p, sent+1)
		g.stop()
		again := start(t, c)
		if again.Held() != "" {
			t.Errorf("the next start waits, too: %s", again.Held())
		}
		again.checkPast(p, sent+1)
	})
}

// release asks for traffic and waits until the gateway is ready.
func (g *gateway) release(t *testing.T) {
	t.Helper()
	if r := g.call(http.MethodPost, "/v1/restored", map[string]any{"reason": "a test of restores", "by": "ann"}); r.Status != 202 {
		t.Fatalf("the release: %d %s", r.Status, r.Raw)
	}
	for end := time.Now().Add(30 * time.Second); g.call(http.MethodGet, "/readyz", nil).Status != 200; <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the gateway is not ready after the release")
		}
	}
}

// checkPast: the message that waited is unknown, the one of the gap does not exist, and nothing was sent again.
func (g *gateway) checkPast(p *past, sent int) {
	g.t.Helper()
	if m := g.call(http.MethodGet, "/v1/messages/"+p.waited.at("message.id"), nil); m.at("state") != "unknown" {
		g.t.Errorf("what waited in the copy is %s", m.at("state"))
	}
	if r := g.call(http.MethodGet, "/v1/messages/"+p.missing.at("message.id"), nil); r.Status != 404 {
		g.t.Errorf("a message that the copy does not hold: %d", r.Status)
	}
	if n := g.accepts(); n != sent {
		g.t.Errorf("the carrier has %d messages, want %d", n, sent)
	}
}

// Without a gateway the same is done on the store itself. The data folder must be free.
//
// covers: D20
func TestReleaseWithoutAGateway(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		p := newPast(t, c)
		discard, ctx := slog.New(slog.DiscardHandler), t.Context()
		r, err := app.OpenRestored(ctx, c, discard)
		must(t, err)
		if _, err := app.OpenRestored(ctx, c, discard); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("two at once: %v", err)
		}
		if v, err := r.Survey(ctx, time.Time{}); err != nil || !v.Held || v.InDoubt != 1 {
			t.Errorf("in doubt are %+v: %v", v, err)
		}
		if err := r.Release(ctx, api.ReleaseBody{Reason: "disk", By: "ann", AsOf: "noon"}); err == nil || !strings.Contains(err.Error(), "2026-12-31T10:00:00Z") {
			t.Errorf("a time that is none: %v", err)
		}
		must(t, r.Release(ctx, api.ReleaseBody{Reason: "disk", By: "ann", AsOf: time.Now().UTC().Format(time.RFC3339)}))
		if v, err := r.Survey(ctx, time.Time{}); err != nil || !v.Held || v.Release == nil || v.InDoubt != 1 {
			t.Errorf("asked for, the release is %+v: %v", v, err)
		}
		must(t, r.Await(ctx, func(*api.RestoredView) {}))
		if v, err := r.Survey(ctx, time.Time{}); err != nil || v.Held || v.Incarnation.N != 2 {
			t.Errorf("after the release: %+v: %v", v, err)
		}
		must(t, r.Close())
		g := start(t, c)
		g.checkPast(p, g.accepts())
		g.await(g.post(alert("new", "+12025550100")).at("message.id"), "delivered")
	})
}

// A store that is missing beside its keys is noticed, whether its mark is there or not. A data folder that is gone
// as a whole is another installation's beginning, and so is a first start that was killed.
//
// covers: D20
func TestStoreThatIsMissing(t *testing.T) {
	c := testConfig(t, "sqlite")
	runs(t, c).stop()
	for _, lost := range []string{"store", "store and mark"} {
		removeStore(t, c)
		g := runs(t, c)
		if lost == "store and mark" {
			g.stop()
			removeStore(t, c)
			must(t, os.Remove(g.Mark()))
			g = runs(t, c)
		}
		if g.Held() == "" || g.post(alert("a", "+12025550100")).Status != 503 {
			t.Errorf("%s: nobody has noticed", lost)
		}
		g.release(t)
		if r := g.post(alert("b", "+12025550100")); r.Status != 201 {
			t.Errorf("%s: after the release %d %s", lost, r.Status, r.Raw)
		}
		g.stop()
	}
	must(t, os.RemoveAll(c.Data))
	g := runs(t, c)
	if g.Held() != "" {
		t.Errorf("a new installation waits: %s", g.Held())
	}
	g.stop()

	killed := testConfig(t, "sqlite")
	must(t, os.MkdirAll(killed.Data, 0o700))
	s, err := app.OpenStore(t.Context(), killed, slog.New(slog.DiscardHandler), nil)
	must(t, err)
	_, err = s.EnsureMeta(t.Context(), "first_keys", "made")
	must(t, errors.Join(err, s.Close()))
	_, err = secret.OpenFolder(filepath.Join(killed.Data, "keys"))
	must(t, err)
	if g := start(t, killed); g.Held() != "" {
		t.Errorf("after a first start that was killed: %s", g.Held())
	}
}
