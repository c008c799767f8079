package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// resolve resolves an exception through the API.
func (g *gateway) resolve(id string, body map[string]any) reply {
	g.t.Helper()
	body["by"], body["reason"] = "ann", "the carrier confirmed it"
	return g.call(http.MethodPost, "/v1/exceptions/"+id+"/resolve", body)
}

func (g *gateway) timeline(id string) string {
	g.t.Helper()
	return g.call(http.MethodGet, "/v1/messages/"+id+"/timeline", nil).Raw
}

// A lost answer is settled by one call, and so is a conflict; whoever comes later is told.
//
// covers: D9, R4, R6, R9
func TestExceptionsAreResolved(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		k := c.Connections["simulator"]
		k.NoEcho, k.Lookup = true, app.Lookup{}
		k.ResponseTimeout = app.Duration(200 * time.Millisecond)
		c.Connections["simulator"] = k
		c.Receipts.Grace = app.Duration(time.Second)
		g := start(t, c)
		lost := g.post(alert("lost", "+12025550104")).at("message.id")
		conflict := g.post(alert("conflict", "+12025550108")).at("message.id")
		odd := g.post(alert("odd", "+12025550111")).at("message.id")
		g.await(lost, "unknown")
		x := g.exceptionsOf(lost, 1)[0]
		if x["kind"] != "lost_answer" || x["open"] != true || len(x["candidates"].([]any)) != 1 {
			t.Fatalf("the exception is %v", x)
		}
		r := g.resolve(x["id"].(string), map[string]any{"action": "attach"})
		if r.Status != 200 || r.at("state") != "attached" || r.at("resolution.to.message") != lost || !strings.Contains(r.at("resolution.by"), "ann (key admin)") {
			t.Errorf("attaching: %d %s", r.Status, r.Raw)
		}
		m := g.await(lost, "delivered")
		if m.at("final") != "true" || !strings.Contains(g.timeline(lost), "was looked at by ann") {
			t.Errorf("after attaching: %s %s", m.Raw, g.timeline(lost))
		}
		if again := g.resolve(x["id"].(string), map[string]any{"action": "attach"}); again.Status != 200 {
			t.Errorf("attaching again: %d %s", again.Status, again.Raw)
		}
		if late := g.resolve(x["id"].(string), map[string]any{"action": "dismiss"}); late.Status != http.StatusConflict || !strings.Contains(late.Raw, "attached by ann") {
			t.Errorf("dismissing later: %d %s", late.Status, late.Raw)
		}
		y := g.exceptionsOf(conflict, 1)[0]
		g.refusesFalsehoods(y["id"].(string), conflict, lost)
		g.resolve(y["id"].(string), map[string]any{"action": "attach"})
		g.await(conflict, "undelivered")
		g.attachUnreadable(odd)
	})
}

// refusesFalsehoods asks for what is not so: that a message's evidence is another's, and that it says something else.
func (g *gateway) refusesFalsehoods(exception, own, other string) {
	g.t.Helper()
	for words, c := range map[string]struct {
		want int
		body map[string]any
	}{
		"belongs to attempt 1, part 1 of " + own: {http.StatusConflict, map[string]any{"action": "attach", "message": other}},
		"leave the state out":                    {http.StatusBadRequest, map[string]any{"action": "attach", "state": "en_route"}},
	} {
		if r := g.resolve(exception, c.body); r.Status != c.want || !strings.Contains(r.Raw, words) {
			g.t.Errorf("%v: %d %s, want %d", c.body, r.Status, r.Raw, c.want)
		}
	}
	g.exceptionsOf(own, 1)
	if m := g.call(http.MethodGet, "/v1/messages/"+other, nil); m.at("state") != "delivered" {
		g.t.Errorf("the other message became %s", m.Raw)
	}
}

// attachUnreadable gives a receipt that nobody could read to a message: the person says what it stands for.
func (g *gateway) attachUnreadable(message string) {
	g.t.Helper()
	var id string
	g.until("the unreadable receipt", func() bool {
		data, _ := g.call(http.MethodGet, "/v1/exceptions?kind=unreadable&state=open", nil).Body["data"].([]any)
		if len(data) == 1 {
			id = data[0].(map[string]any)["id"].(string)
		}
		return len(data) == 1
	})
	for want, body := range map[int]map[string]any{
		http.StatusBadRequest: {"action": "attach"},
		http.StatusConflict:   {"action": "attach", "message": message},
	} {
		if r := g.resolve(id, body); r.Status != want {
			g.t.Errorf("%v: %d %s, want %d", body, r.Status, r.Raw, want)
		}
	}
	if r := g.resolve(id, map[string]any{"action": "attach", "message": message, "state": "delivered"}); r.Status != 200 {
		g.t.Errorf("attaching what nobody can read: %d %s", r.Status, r.Raw)
	}
	g.await(message, "delivered")
	for state, want := range map[string]int{"delivered": http.StatusOK, "undelivered": http.StatusConflict} {
		r := g.resolve(id, map[string]any{"action": "attach", "message": message, "state": state})
		if r.Status != want || want == http.StatusOK && r.at("resolution.state") != "delivered" {
			g.t.Errorf("attached as delivered, and again as %s: %d %s", state, r.Status, r.Raw)
		}
	}
	left := g.call(http.MethodGet, "/v1/exception-groups?open=true", nil)
	if len(left.Body["data"].([]any)) != 0 {
		g.t.Errorf("groups are open: %s", left.Raw)
	}
}
