package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// ending is a row of the simulator's table: what a message to a number with these last digits ends as, for a
// purpose that does not retry.
type ending struct {
	state, reported string
	final           bool
	accepts         int    // in the ledger
	attempts        int    // that the gateway made
	marks           string // what receipts did beside moving the state
	exception       string // that names the message
	timeline        string // a word that says why
}

// endings are the table's rows where the reference is echoed.
var endings = map[string]ending{
	"00": {"delivered", "delivered", true, 1, 1, "[]", "", "delivered"},
	"01": {"undelivered", "undelivered", true, 1, 1, "[]", "", "undelivered"},
	"02": {"rejected", "", true, 0, 1, "[]", "", "rejected"},
	"03": {"delivered", "delivered", true, 1, 2, "[]", "", "throttled"},
	"04": {"delivered", "delivered", true, 1, 1, "[]", "", "own_reference"},
	"05": {"unknown", "", false, 0, 1, "[]", "", "unknown"},
	"06": {"delivered", "delivered", true, 1, 1, "[repeated]", "", "again"},
	"07": {"delivered", "delivered", true, 1, 1, "[late]", "", "after a final one"},
	"08": {"delivered", "delivered", true, 1, 1, "[conflicting]", "conflicting", "contradicts"},
	"09": {"delivered", "delivered", true, 1, 1, "[]", "", "delivered"},
	"10": {"delivered", "delivered", true, 1, 1, "[]", "", "delivered"},
	"11": {"accepted", "", false, 1, 1, "[]", "", "accepted"}, // its exception names no message: the receipt has no readable id
	"12": {"delivered", "delivered", true, 1, 1, "[]", "", "own_reference"},
	"13": {"unknown", "", false, 0, 1, "[]", "", "unknown"},
	"14": {"accepted", "", false, 1, 1, "[]", "", "accepted"},
}

// lostAnswer is how 04 and 12 end without an echo.
var lostAnswer = ending{"unknown", "", false, 1, 1, "[]", "lost_answer", "unknown"}

// covers: D5, D9, D16, R4, R5, R6, R10, R11, I3, I7
func TestEndings(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		t.Run("echoed", func(t *testing.T) { runEndings(t, c, endings) })
	})
}

// Without an echo a lost answer stays lost, and one exception pairs the receipt with the attempt.
//
// covers: D9, R4
func TestEndingsWithoutAnEcho(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		table := map[string]ending{}
		for digits, e := range endings {
			table[digits] = e
		}
		table["04"], table["12"] = lostAnswer, lostAnswer
		k := c.Connections["simulator"]
		k.NoEcho, k.Lookup = true, app.Lookup{}
		c.Connections["simulator"] = k
		runEndings(t, c, table)
	})
}

const slowReceipt = time.Second

// runEndings sends a message for each row and compares. The two that cut the connection come by themselves.
func runEndings(t *testing.T, c app.Config, table map[string]ending) {
	k := c.Connections["simulator"]
	k.SlowReceipt = app.Duration(slowReceipt)
	c.Connections["simulator"] = k
	c.Receipts.Grace = app.Duration(3 * time.Second) // longer than the answer is waited for
	g := start(t, c)
	ids := map[string]string{}
	send := func(digits string) {
		r := g.post(alert("E-"+digits, "+120255501"+digits))
		if r.Status != http.StatusCreated {
			t.Fatalf("ending %s: %d %s", digits, r.Status, r.Raw)
		}
		ids[digits] = r.at("message.id")
	}
	for _, digits := range []string{"00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "14"} {
		send(digits)
	}
	for digits, id := range ids {
		g.await(id, table[digits].state)
	}
	for _, digits := range []string{"12", "13"} {
		send(digits)
		g.await(ids[digits], table[digits].state)
	}
	want := []string{"unreadable"}
	for digits, e := range table {
		g.checkEnding(digits, ids[digits], e)
		if e.exception != "" {
			want = append(want, e.exception)
		}
	}
	g.checkSlowReceipt(ids["10"])
	g.checkExceptions(want)
}

func (g *gateway) checkEnding(digits, id string, want ending) {
	g.t.Helper()
	if want.marks != "[]" { // they come after the state
		g.until("the marks of "+digits, func() bool { return g.message(id).at("receipt_marks") == want.marks })
	}
	m := g.message(id)
	got := ending{m.at("state"), m.at("reported_delivery"), m.at("final") == "true", g.acceptsOf("120255501" + digits),
		len(m.Body["attempts"].([]any)), m.at("receipt_marks"), "", want.timeline}
	if want.exception != "" {
		got.exception = g.onlyException(id)
	}
	if got != want {
		g.t.Errorf("ending %s is %+v, want %+v", digits, got, want)
	}
	if m.at("simulated") != "true" || m.at("parts") != "1" {
		g.t.Errorf("ending %s: %s", digits, m.Raw)
	}
	if tl := g.call(http.MethodGet, "/v1/messages/"+id+"/timeline", nil); !strings.Contains(tl.Raw, want.timeline) {
		g.t.Errorf("ending %s: the timeline does not say %q: %s", digits, want.timeline, tl.Raw)
	}
	again := g.post(alert("E-"+digits, "+120255501"+digits))
	if again.Status != 200 || again.at("message.id") != id {
		g.t.Errorf("ending %s: a repeat got %d %s", digits, again.Status, again.Raw)
	}
}

// onlyException waits for a message's exception. One of a receipt names it, the attempt and the message.
func (g *gateway) onlyException(id string) string {
	g.t.Helper()
	all := g.exceptionsOf(id, 1)
	if len(all) != 1 {
		return fmt.Sprint(len(all), " exceptions")
	}
	if x := all[0]; x["receipt"] == nil || x["attempt"] != 1.0 || x["message"] != id || x["open"] != true {
		g.t.Errorf("the exception pairs %v with attempt %v of %v", x["receipt"], x["attempt"], x["message"])
	}
	return all[0]["kind"].(string)
}

// checkSlowReceipt: the message was accepted first, and delivered only later. The time counts from the submission.
func (g *gateway) checkSlowReceipt(id string) {
	g.t.Helper()
	moments := map[string]time.Time{}
	for _, line := range g.call(http.MethodGet, "/v1/messages/"+id+"/timeline", nil).Body["data"].([]any) {
		line := line.(map[string]any)
		at, err := time.Parse(time.RFC3339Nano, line["at"].(string))
		must(g.t, err)
		moments[fmt.Sprintf("%v %v %v", line["kind"], line["outcome"], line["effect"])] = at
	}
	submitted, accepted, delivered := moments["attempt <nil> <nil>"], moments["outcome accepted <nil>"], moments["receipt <nil> applied"]
	if late := delivered.Sub(submitted); submitted.IsZero() || accepted.IsZero() || late < slowReceipt || !accepted.Before(delivered) {
		g.t.Errorf("the slow receipt came %s after the submission: %v", late, moments)
	}
}

// checkExceptions wants exactly these, by kind, whichever message they name.
func (g *gateway) checkExceptions(want []string) {
	g.t.Helper()
	slices.Sort(want)
	var got []string
	g.until("the exceptions", func() bool {
		got = nil
		for _, x := range g.call(http.MethodGet, "/v1/exceptions", nil).Body["data"].([]any) {
			got = append(got, x.(map[string]any)["kind"].(string))
		}
		slices.Sort(got)
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		g.t.Errorf("the exceptions are %v, want %v", got, want)
	}
}
