package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/provider/simulator"
)

// longText has three parts, and an emoji that would not fit whole into the first.
var longText = strings.Repeat("я", 66) + "😀" + strings.Repeat("Ж", 70) + "😀 end"

// long is a request whose text has three parts.
func long(event, to string) map[string]any {
	r := alert(event, to)
	r["text"] = longText
	return r
}

// longEnding is how a message of three parts ends. The simulator's ending is that of each part.
type longEnding struct {
	state, reported string
	accepts         []int // how many parts it took, one of these
	shown           bool  // the handset shows the text
	marks           string
	exceptions      []string // that name the message
}

var longEndings = map[string]longEnding{
	"00": {"delivered", "delivered", []int{3}, true, "[]", nil},
	"01": {"undelivered", "undelivered", []int{1, 2, 3}, false, "[]", nil}, // the others stay if the receipt of the first is quicker
	"02": {"rejected", "", []int{0}, false, "[]", nil},
	"03": {"delivered", "delivered", []int{3}, true, "[]", nil},
	"04": {"delivered", "delivered", []int{3}, true, "[]", nil},
	"05": {"unknown", "", []int{0}, false, "[]", nil},
	"06": {"delivered", "delivered", []int{3}, true, "[repeated]", nil},
	"07": {"delivered", "delivered", []int{3}, true, "[late]", nil},
	"08": {"delivered", "delivered", []int{3}, true, "[conflicting]", []string{"conflicting", "conflicting", "conflicting"}},
	"09": {"delivered", "delivered", []int{3}, true, "[]", nil},
	"10": {"delivered", "delivered", []int{3}, true, "[]", nil},
	"11": {"accepted", "", []int{3}, true, "[]", nil}, // the exceptions of its receipts name no message
	"12": {"delivered", "delivered", []int{3}, true, "[]", nil},
	"13": {"unknown", "", []int{0}, false, "[]", nil}, // the first part is in doubt, and the others stay
	"14": {"accepted", "", []int{3}, true, "[]", nil},
}

// lostFirstPart is how 04 and 12 end without an echo: the answer to the first part is lost, and the rest stays.
var lostFirstPart = longEnding{"unknown", "", []int{1}, false, "[]", []string{"lost_answer"}}

// covers: D5, D9, D16, R4, R5, R6, R10, I3, I7
func TestLongEndings(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) { runLongEndings(t, c, longEndings) })
}

// covers: D9, R4, I5
func TestLongEndingsWithoutAnEcho(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		table := map[string]longEnding{}
		for digits, e := range longEndings {
			table[digits] = e
		}
		table["04"], table["12"] = lostFirstPart, lostFirstPart
		k := c.Connections["simulator"]
		k.NoEcho, k.Lookup = true, app.Lookup{}
		c.Connections["simulator"] = k
		runLongEndings(t, c, table)
	})
}

// runLongEndings sends a long message for each row and compares. The two that cut the connection come by themselves.
func runLongEndings(t *testing.T, c app.Config, table map[string]longEnding) {
	k := c.Connections["simulator"]
	k.SlowReceipt = app.Duration(slowReceipt)
	c.Connections["simulator"] = k
	c.Receipts.Grace = app.Duration(3 * time.Second) // longer than the answer is waited for
	g := start(t, c)
	ids := map[string]string{}
	send := func(digits string) {
		r := g.post(long("L-"+digits, "+120255501"+digits))
		if r.Status != http.StatusCreated || r.at("parts") != "3" || r.at("encoding") != "ucs2" {
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
	want := []string{"unreadable", "unreadable", "unreadable"}
	for digits, e := range table {
		g.checkLong(digits, ids[digits], e)
		want = append(want, e.exceptions...)
	}
	g.checkSlowReceipt(ids["10"])
	g.checkExceptions(want)
}

func (g *gateway) checkLong(digits, id string, want longEnding) {
	g.t.Helper()
	g.until("the marks of "+digits, func() bool { return g.message(id).at("receipt_marks") == want.marks }) // they come after the state
	m, ledger := g.message(id), g.segments("120255501"+digits)
	if m.at("state") != want.state || m.at("reported_delivery") != want.reported || !slices.Contains(want.accepts, len(ledger)) || m.at("parts") != "3" {
		g.t.Errorf("ending %s: the centre took %d parts, want %v of it %s and reported %q: %s", digits, len(ledger), want.accepts, want.state, want.reported, m.Raw)
	}
	seen := map[uint8]bool{}
	for _, e := range ledger {
		if e.Segment == nil || e.Segment.Total != 3 || e.Segment.Reference != ledger[0].Segment.Reference || seen[e.Segment.Number] {
			g.t.Errorf("ending %s: the ledger has %+v", digits, e.Segment)
			continue
		}
		seen[e.Segment.Number] = true
	}
	if tried := g.count(func(e simulator.Entry) bool { return e.Destination == "120255501"+digits }); len(ledger) == 0 && tried != 1 {
		g.t.Errorf("ending %s: %d parts were sent, want the first one once", digits, tried)
	}
	whole := len(ledger) == 3 // of 01 it may be, if the receipt of the first part is slower than the others
	if shown := g.shown("+120255501" + digits); whole != (len(shown) == 1) || want.shown && !whole || whole && shown[0] != longText {
		g.t.Errorf("ending %s: the handset shows %q", digits, shown)
	}
	g.checkExceptionsOf(digits, id, want.exceptions)
	if again := g.post(long("L-"+digits, "+120255501"+digits)); again.Status != 200 || again.at("message.id") != id {
		g.t.Errorf("ending %s: a repeat got %d %s", digits, again.Status, again.Raw)
	}
}

// checkExceptionsOf wants one exception for each part that has one, in whatever order they came.
func (g *gateway) checkExceptionsOf(digits, id string, want []string) {
	g.t.Helper()
	var kinds []string
	parts := map[any]bool{}
	for _, x := range g.exceptionsOf(id, len(want)) {
		if x["receipt"] == nil || x["attempt"] != 1.0 || x["message"] != id || x["open"] != true || parts[x["part"]] {
			g.t.Errorf("ending %s: an exception is %v", digits, x)
		}
		parts[x["part"]] = true
		kinds = append(kinds, x["kind"].(string))
	}
	if !slices.Equal(kinds, want) {
		g.t.Errorf("ending %s: the exceptions are %v, want %v", digits, kinds, want)
	}
}

// segments are the parts that the simulator took for a number.
func (g *gateway) segments(to string) (taken []simulator.Entry) {
	g.t.Helper()
	entries, err := simulator.ReadLedger(g.cfg.Connections["simulator"].Ledger)
	must(g.t, err)
	for _, e := range entries {
		if e.Destination == to && e.Outcome == simulator.Accepted {
			taken = append(taken, e)
		}
	}
	return taken
}

// shown are the texts on a handset.
func (g *gateway) shown(number string) (texts []string) {
	g.t.Helper()
	for _, m := range g.call(http.MethodGet, "/v1/handset/"+number, nil).Body["data"].([]any) {
		texts = append(texts, m.(map[string]any)["text"].(string))
	}
	return texts
}

// Each way to join parts brings the text to the handset as it was sent, in either alphabet.
//
// covers: D5, R15
func TestPartsComeTogether(t *testing.T) {
	for by, parts := range map[string]int{"udh8": 3, "udh16": 3, "sar": 3, "payload": 1} {
		t.Run(by, func(t *testing.T) {
			onEveryStore(t, func(t *testing.T, c app.Config) { runComeTogether(t, c, by, parts) })
		})
	}
}

func runComeTogether(t *testing.T, c app.Config, by string, parts int) {
	k := c.Connections["simulator"]
	k.Long.JoinedBy = by
	c.Connections["simulator"] = k
	g := start(t, c)
	plain := long("P-1", "+12025550120")
	plain["text"] = strings.Repeat("x", 151) + "€{" + strings.Repeat("y", 160) + "[end]"
	for encoding, r := range map[string]map[string]any{"gsm7": plain, "ucs2": long("P-2", "+12025550121")} {
		m := g.await(g.post(r).at("message.id"), "delivered")
		if m.at("parts") != fmt.Sprint(parts) || m.at("partial") != "false" || m.at("encoding") != encoding {
			t.Errorf("%s", m.Raw)
		}
		if shown := g.shown(r["to"].(string)); len(shown) != 1 || shown[0] != r["text"] {
			t.Errorf("the handset shows %q", shown)
		}
	}
}

// All parts at once, and one receipt for them, where a connection is so.
//
// covers: R14
func TestOneReceiptForAllParts(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		k := c.Connections["simulator"]
		k.Long.Send, k.Receipts.Parts = "together", "first"
		c.Connections["simulator"] = k
		g := start(t, c)
		id := g.post(long("T-1", "+12025550120")).at("message.id")
		m := g.await(id, "delivered")
		if m.at("partial") != "false" || m.at("final") != "true" {
			t.Errorf("%s", m.Raw)
		}
		receipts := g.call(http.MethodGet, "/v1/receipts?message="+id, nil).Body["data"].([]any)
		if len(receipts) != 1 || len(g.segments("12025550120")) != 3 {
			t.Errorf("%d receipts for %d parts", len(receipts), len(g.segments("12025550120")))
		}
	})
}

// The count of parts is asked for without sending, and a text that needs too many is refused with their number.
//
// covers: D4
func TestPartsInADryRun(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		dry := long("D-1", "+12025550120")
		dry["dry_run"] = true
		if r := g.post(dry); r.Status != 200 || r.at("parts") != "3" || r.at("encoding") != "ucs2" || r.at("units_left") != "56" {
			t.Errorf("%d %s", r.Status, r.Raw)
		}
		dry["text"] = strings.Repeat("x", 1531)
		if r := g.post(dry); r.Status != 400 || !strings.Contains(r.Raw, "it needs 11 parts, and at most 10 may be sent: 1530 characters") {
			t.Errorf("%d %s", r.Status, r.Raw)
		}
		if len(g.segments("12025550120")) != 0 {
			t.Error("something was sent")
		}
	})
}
