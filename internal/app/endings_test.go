package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// The simulator's endings of this release, as interface.md has them where the reference is echoed.
var endings = []struct {
	digits, state, reported string
	accepts                 int
	timeline                string // a word that says why
}{
	{"00", "delivered", "delivered", 1, "delivered"},
	{"01", "undelivered", "undelivered", 1, "undelivered"},
	{"02", "rejected", "", 0, "rejected"},
	{"03", "delivered", "delivered", 1, "throttled"},
	{"04", "delivered", "delivered", 1, "own_reference"},
	{"05", "unknown", "", 0, "unknown"},
	{"09", "delivered", "delivered", 1, "delivered"},
	{"12", "delivered", "delivered", 1, "own_reference"},
	{"13", "unknown", "", 0, "unknown"},
	{"14", "accepted", "", 1, "accepted"},
}

// covers: D5, D9, D16, R4, R5, I3, I7
func TestEndings(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		for _, e := range endings { // one by one: a dropped connection makes others unknown, too
			before := g.accepts()
			r := g.post(alert("E-"+e.digits, "+120255501"+e.digits))
			if r.Status != http.StatusCreated {
				t.Fatalf("ending %s: %d %s", e.digits, r.Status, r.Raw)
			}
			id := r.at("message.id")
			m := g.await(id, e.state)
			if m.at("reported_delivery") != e.reported || m.at("simulated") != "true" || m.at("parts") != "1" {
				t.Errorf("ending %s: %s", e.digits, m.Raw)
			}
			if got := g.accepts() - before; got != e.accepts {
				t.Errorf("ending %s: %d accepts, want %d", e.digits, got, e.accepts)
			}
			if tl := g.call(http.MethodGet, "/v1/messages/"+id+"/timeline", nil); !strings.Contains(tl.Raw, e.timeline) {
				t.Errorf("ending %s: the timeline does not say why: %s", e.digits, tl.Raw)
			}
			again := g.post(alert("E-"+e.digits, "+120255501"+e.digits))
			if again.Status != 200 || again.at("message.id") != id {
				t.Errorf("ending %s: a repeat got %d %s", e.digits, again.Status, again.Raw)
			}
		}
		x := g.call(http.MethodGet, "/v1/exceptions", nil)
		if fmt.Sprint(x.Body["data"]) != "[]" {
			t.Errorf("with an echo nothing is left for a person: %s", x.Raw)
		}
	})
}

// Without an echo a lost answer stays lost, and one exception pairs the receipt with the attempt.
//
// covers: D9, R4
func TestLostAnswerWithoutEcho(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		k := c.Connections["simulator"]
		k.NoEcho, k.Lookup = true, app.Lookup{}
		c.Connections["simulator"] = k
		c.Receipts.Grace = app.Duration(3 * time.Second) // longer than the answer is waited for
		g := start(t, c)
		for _, digits := range []string{"04", "12"} {
			id := g.post(alert("N-"+digits, "+120255501"+digits)).at("message.id")
			g.await(id, "unknown")
			var kinds []string
			for _, x := range g.exceptionsOf(id, 1) {
				kinds = append(kinds, x["kind"].(string))
			}
			if fmt.Sprint(kinds) != "[lost_answer]" {
				t.Errorf("ending %s: the exceptions are %v", digits, kinds)
			}
			g.await(id, "unknown")
		}
	})
}
