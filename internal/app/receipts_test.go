package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	wire "github.com/einmal/einmal/internal/smpp"
)

// says is the text of a delivery receipt.
func says(id, stat string) string {
	return "id:" + id + " sub:001 dlvrd:001 submit date:2601020304 done date:2601020305 stat:" + stat + " err:000 text:"
}

// declares is a carrier of whose receipts this is known, and which answers soon or never.
func declares(d app.Declared) func(*app.Connection) {
	return func(k *app.Connection) { k.Receipts, k.ResponseTimeout = d, app.Duration(300*time.Millisecond) }
}

// impatient lets receipts wait for a second.
func impatient(c *app.Config) { c.Receipts.Grace = app.Duration(time.Second) }

// sent sends an alert to a number, which the carrier accepts under this id. It returns the message and what was
// submitted.
func (g *gateway) sent(m *centre, to, id string) (string, wire.PDU) {
	g.t.Helper()
	r := g.post(alert("to "+to, to))
	if r.Status != http.StatusCreated {
		g.t.Fatalf("posting: %d %s", r.Status, r.Raw)
	}
	submit := m.next()
	m.accept(submit, id)
	g.await(r.at("message.id"), "accepted")
	return r.at("message.id"), submit
}

// rows reads a list of the API.
func (g *gateway) rows(path string) []map[string]any {
	g.t.Helper()
	r := g.call(http.MethodGet, path, nil)
	data, ok := r.Body["data"].([]any)
	if !ok {
		g.t.Fatalf("%s: %d %s", path, r.Status, r.Raw)
	}
	var all []map[string]any
	for _, one := range data {
		all = append(all, one.(map[string]any))
	}
	return all
}

// open waits until so many exceptions of a kind are open, and returns them, the newest first.
func (g *gateway) open(kind string, n int) []map[string]any {
	g.t.Helper()
	var all []map[string]any
	g.until(fmt.Sprint(n, " exceptions ", kind), func() bool {
		all = g.rows("/v1/exceptions?state=open&kind=" + kind)
		return len(all) >= n
	})
	if len(all) != n {
		g.t.Fatalf("%d exceptions %s, want %d: %v", len(all), kind, n, all)
	}
	return all
}

// Ids of one number, written in hexadecimal by the answer and in decimal by the receipt, beyond 63 bits. The number
// next to it is another one.
//
// covers: C13, R4
func TestIDsInHexadecimalAndDecimal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{IDs: app.IDs{Response: "hex", Receipt: "decimal"}}))
		impatient(&c)
		g := start(t, c)
		id, submit := g.sent(m, "+12025550143", "812FC7470000001B")
		m.receipt(submit, says("9308878062554710044", "DELIVRD"))
		x := g.open("unmatched", 1)[0]
		if x["message"] != nil || x["detail"] != "no attempt has the message id of this receipt" {
			t.Errorf("the nearest id: %v", x)
		}
		if v := g.message(id); v.at("state") != "accepted" {
			t.Errorf("the nearest id moved the message: %s", v.Raw)
		}
		m.receipt(submit, says("9308878062554710043", "DELIVRD"))
		v := g.await(id, "delivered")
		if a := v.Body["attempts"].([]any)[0].(map[string]any); a["external_id"] != "812FC7470000001B" {
			t.Errorf("the id of the answer is kept as %v", a["external_id"])
		}
		if r := g.rows("/v1/receipts?limit=1")[0]; r["external_id"] != "9308878062554710043" {
			t.Errorf("the id of the receipt is kept as %v", r["external_id"])
		}
	})
}

// the ids of case C15
var opaqueIDs = []string{"00B8BE19", "0e99aa21-81ef-4974-a414-3de98174e300", "SAR-12025550143-1eedf843-2-1", "0123", "123"}

// Nothing is taken from an id, and nothing added, unless the connection declares it.
//
// covers: C15, R4
func TestOpaqueIDs(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{}))
		impatient(&c)
		g := start(t, c)
		messages, submits := map[string]string{}, map[string]wire.PDU{}
		for i, id := range opaqueIDs {
			messages[id], submits[id] = g.sent(m, fmt.Sprintf("+1202555014%d", i), id)
		}
		m.receipt(submits["00B8BE19"], says("B8BE19", "UNDELIV"))
		m.receipt(submits[opaqueIDs[1]], says(strings.ToUpper(opaqueIDs[1]), "UNDELIV"))
		details := ""
		for _, x := range g.open("unmatched", 2) {
			details += x["detail"].(string)
		}
		if !strings.Contains(details, "{case: insensitive}") { // what would have to be declared is said, and not assumed
			t.Errorf("nothing is said of the case: %s", details)
		}
		for _, id := range opaqueIDs {
			if v := g.message(messages[id]); v.at("state") != "accepted" {
				t.Errorf("%s is %s", id, v.at("state"))
			}
			m.receipt(submits[id], says(id, "DELIVRD"))
		}
		for _, id := range opaqueIDs {
			g.await(messages[id], "delivered")
		}
	})
}

// covers: C15, R4
func TestIDsWhoseCaseIsDeclared(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{IDs: app.IDs{Case: "insensitive"}}))
		g := start(t, c)
		id, submit := g.sent(m, "+12025550143", opaqueIDs[1])
		m.receipt(submit, says(strings.ToUpper(opaqueIDs[1]), "DELIVRD"))
		g.await(id, "delivered")
	})
}

// A stray octet behind a message and a TLV that runs past the end: both are taken, kept as they came, and read as far
// as they can be. The session stays.
//
// covers: C17, R1, R2
func TestPDUsWithOddEnds(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{}))
		g := start(t, c)
		id, _ := g.sent(m, "+12025550143", "77")
		for _, pdu := range []string{
			"0000003d00000005000000000000000100010131323032353535303134330001013132303235353530313030000000000000000000000548656c6c6f00",
			"0000009b00000005000000000000000100010131323032353535303134330001013132303235353530313030000400000000000000005e69643a3737207375623a30303120646c7672643a303031207375626d697420646174653a3236303130323033303420646f6e6520646174653a3236303130323033303520737461743a44454c49565244206572723a30303020746578743a001e00093737",
		} {
			m.hex(pdu)
		}
		m.acks(2)
		g.await(id, "delivered")
		log := g.rows("/v1/receipts")
		if len(log) != 2 {
			t.Fatalf("the log has %v", log)
		}
		for i, want := range []struct{ kind, warning string }{{"receipt", "001E"}, {"inbound", "trailing bytes"}} {
			if log[i]["kind"] != want.kind || !strings.Contains(fmt.Sprint(log[i]["warnings"]), want.warning) {
				t.Errorf("the log has %v, want a %s with a warning of %s", log[i], want.kind, want.warning)
			}
		}
		if log[0]["external_id"] != "77" || log[0]["status"] != "DELIVRD" {
			t.Errorf("the receipt is %v", log[0])
		}
		// The log has the octets as they came: read again they say the same.
		if r := g.replay(map[string]any{}); r.at("looked_at") != "2" || r.at("changed") != "0" || r.at("gone") != "0" {
			t.Errorf("reading them again: %s", r.Raw)
		}
		g.sent(m, "+12025550144", "78")
		m.acks(0)
	})
}

// replay reads the carrier's receipts again.
func (g *gateway) replay(more map[string]any) reply {
	g.t.Helper()
	more["connection"], more["by"], more["reason"] = "carrier", "ann", "the manual says so"
	r := g.call(http.MethodPost, "/v1/receipts/replay", more)
	if r.Status != http.StatusOK {
		g.t.Fatalf("replay: %d %s", r.Status, r.Raw)
	}
	return r
}
