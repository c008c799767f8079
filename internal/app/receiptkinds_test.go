package app_test

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
	wire "github.com/einmal/einmal/internal/smpp"
)

// feed reads all events of the tenant's feed.
func (g *gateway) feed() string {
	g.t.Helper()
	return g.call(http.MethodGet, "/v1/events?after=0&limit=1000", nil).Raw
}

// texts sends a receipt with this text about a submission.
func (m *centre) texts(about wire.PDU, esm uint8, text string) {
	sent := about.Body.(*wire.Message)
	m.deliver(&wire.Message{Source: sent.Dest, Dest: sent.Source, ESMClass: esm, ShortMessage: []byte(text)})
}

// A receipt with a status that nobody documents stays a receipt, moves nothing and is shown to a person. Once the
// status is declared, its receipts are read again and have their effect: first for show, then once.
//
// covers: C18, R2, R6, R7, R9
func TestStatusesThatNobodyDocuments(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{}))
		impatient(&c)
		g := start(t, c)
		const failed = "id:1216080510463401720 sub:001 dlvrd:001 submit date:1608051046 done date:0000000000 stat:FAILED err:002 Text:"
		messages := map[string]string{}
		for i, stat := range []string{"FAILED", "ACKED  ", "", "delivrd", "DELIVERED", "UNDELIVERABLE"} {
			id := fmt.Sprint("S", i)
			text := says(id, stat)
			if stat == "FAILED" {
				id, text = "1216080510463401720", failed
			}
			var submit wire.PDU
			messages[stat], submit = g.sent(m, fmt.Sprintf("+1202555014%d", i), id)
			m.texts(submit, 0x04, text)
		}
		g.await(messages["delivrd"], "delivered")
		g.await(messages["DELIVERED"], "delivered")
		g.await(messages["UNDELIVERABLE"], "undelivered")
		x := g.open("unreadable", 3)
		for _, stat := range []string{"FAILED", "ACKED  ", ""} {
			if v := g.message(messages[stat]); v.at("state") != "accepted" {
				t.Errorf("%q moved its message: %s", stat, v.Raw)
			}
		}
		for _, r := range g.rows("/v1/receipts") {
			if want := map[bool]string{true: "unreadable", false: "receipt"}[r["status"] == nil]; r["kind"] != want {
				t.Errorf("the log has %v", r)
			}
			if r["external_id"] == "1216080510463401720" && (r["status"] != "FAILED" || r["state"] != nil || r["done_at"] != nil || r["done_date"] != "0000000000") {
				t.Errorf("the receipt was read as %v", r)
			}
		}
		g.stop()
		k := c.Connections["carrier"]
		k.Receipts.States = map[string]string{"failed": "undelivered"}
		c.Connections["carrier"] = k
		start(t, c).rereadFailed(messages["FAILED"], x)
	})
}

func (g *gateway) rereadFailed(id string, open []map[string]any) {
	g.t.Helper()
	if r := g.replay(map[string]any{"dry_run": true}); r.at("changed") != "1" || r.at("effects.rebuilt") != "1" || g.message(id).at("state") != "accepted" {
		g.t.Errorf("a dry run: %s, the message is %s", r.Raw, g.message(id).Raw)
	}
	if r := g.replay(map[string]any{}); r.at("changed") != "1" || r.at("effects.rebuilt") != "1" || r.at("effects.nothing") != "5" || r.at("looked_at") != "6" {
		g.t.Errorf("reading them again: %s", r.Raw)
	}
	if v := g.await(id, "undelivered"); v.at("final") != "true" {
		g.t.Errorf("the message is %s", v.Raw)
	}
	if line := g.timeline(id); strings.Count(line, `"rebuilt"`) != 1 || !strings.Contains(line, "ann (key admin)") || !strings.Contains(line, "the manual says so") {
		g.t.Errorf("its timeline is %s", line)
	}
	still := 0
	for _, x := range open {
		switch v := g.call(http.MethodGet, "/v1/exceptions/"+x["id"].(string), nil); {
		case v.at("message") == id && (v.at("state") != "reread" || !strings.Contains(v.at("resolution.by"), "ann")):
			g.t.Errorf("its exception is %s", v.Raw)
		case v.at("message") != id && v.at("state") == "open":
			still++
		}
	}
	if before := g.timeline(id); still != 2 || g.replay(map[string]any{}).at("changed") != "0" || g.timeline(id) != before {
		g.t.Errorf("%d others are open, and a second time wrote %s", still, g.timeline(id))
	}
}

// Fields that are missing, glued together or longer than they should be.
//
// covers: C19, R7, R8
func TestReceiptsWithOddFields(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{Zone: "UTC"}))
		g := start(t, c)
		for i, want := range []struct{ id, text, state, code, done string }{
			{"1526758174", "id:1526758174 submit date:2601020304 done date:2601020304 stat:DELIVRD err:000 text:hellow", "delivered", "000", "2026-01-02T03:04:00Z"},
			{"0654354026", "id:0654354026 submit date:2601020304 done date:2601020304 stat:DELIVRD err:000", "delivered", "000", "2026-01-02T03:04:00Z"},
			{"7", "id:7 sub:1 dlvrd:1 submit date:2601020304 done date:2601020304 stat:UNDELIV err:21b text:", "undelivered", "21b", "2026-01-02T03:04:00Z"},
			{"8", "id:8 sub:001 dlvrd:001 submit date:2601020304 done date:2601020304 stat:UNDELIV err:0032 text:H\x1bello", "undelivered", "0032", "2026-01-02T03:04:00Z"},
			{"0118Z-0122I-2309U-57DGB", "id:0118Z-0122I-2309U-57DGB sub:000 dlvrd:000 submitdate:180122230957 donedate:000000000000 stat:REJECTD err:4375 text:", "undelivered", "4375", ""},
			{"9", "id:9 sub:001 dlvrd:001 submit date:2601020304 done date:2601020304 stat:DELIVRD err: 002 text: ", "delivered", "002", "2026-01-02T03:04:00Z"},
		} {
			id, submit := g.sent(m, fmt.Sprintf("+1202555014%d", i), want.id)
			m.texts(submit, 0x04, want.text)
			a := g.await(id, want.state).Body["attempts"].([]any)[0].(map[string]any)
			r := g.rows("/v1/receipts?limit=1")[0]
			if a["error_code"] != want.code || r["error_code"] != want.code || fmt.Sprint(orEmpty(r["done_at"])) != want.done {
				t.Errorf("%s: the attempt is %v and the receipt %v", want.id, a, r)
			}
		}
		m.acks(6)
	})
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// What is a receipt is told by its class, and by the TLVs that only a centre sets. What a handset can write is a
// message from a handset, whatever it looks like.
//
// covers: C24, R6, R7, I13
func TestWhatAHandsetCanForge(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{}))
		g := start(t, c)
		id, submit := g.sent(m, "+12025550143", "9001")
		other, _ := g.sent(m, "+12025550144", "1618Z-0102G-2333M-25FJF")
		kinds := []struct {
			esm  uint8
			kind string
		}{{0x00, "inbound"}, {0x20, "intermediate"}, {0x08, "other"}, {0x10, "other"}}
		for _, k := range kinds {
			m.texts(submit, k.esm, says("9001", "UNDELIV"))
		}
		m.hex("0000005700000005000000000000000100010131323032353535303134330001013132303235353530313030000000000000000000000448656c70001e0018313631385a2d30313032472d323333334d2d3235464a4600")
		m.acks(5)
		g.until("all five in the log", func() bool { return len(g.rows("/v1/receipts")) == 5 })
		for i, r := range g.rows("/v1/receipts") {
			want := "inbound"
			if i > 0 {
				want = kinds[4-i].kind
			}
			if r["kind"] != want {
				t.Errorf("%v, want %s", r, want)
			}
		}
		// The receipt that the log has last is settled after all of them, of the same message too.
		m.hex("00000045000000050000000000000001000101313230323535353031343300010131323032353535303130300000000000000000000000001e000539303031000427000102")
		g.await(id, "delivered")
		if v := g.message(other); v.at("state") != "accepted" {
			t.Errorf("a text of a handset moved a message: %s", v.Raw)
		}
		if x := g.rows("/v1/exceptions"); len(x) != 0 {
			t.Errorf("people are told of %v", x)
		}
	})
}

// A header of user data stands before the text of a receipt.
//
// covers: C24, R6
func TestReceiptsWithAHeader(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{}))
		g := start(t, c)
		id, _ := g.sent(m, "+12025550143", "9001")
		m.hex("0000009d00000005000000000000000100010131323032353535303134330001013132303235353530313030004400000000000000006605000384010169643a39303031207375623a30303120646c7672643a303031207375626d697420646174653a3236303130323033303420646f6e6520646174653a3236303130323033303520737461743a44454c49565244206572723a30303020746578743a")
		m.acks(1)
		g.await(id, "delivered")
	})
}

// A message from a handset whose header of user data is broken goes to a person, once however often it is delivered. The
// whole headers of its kind go to nobody.
//
// covers: C54, R11
func TestBrokenHeadersOfHandsets(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, declares(app.Declared{}))
		g := start(t, c)
		g.sent(m, "+12025550143", "9001")
		from := func(header, text string) {
			udh, err := hex.DecodeString(header)
			must(t, err)
			m.deliver(&wire.Message{
				Source: wire.Address{TON: 1, NPI: 1, Addr: "12025550143"}, Dest: wire.Address{Addr: "2020"}, ESMClass: wire.ESMUDHI, ShortMessage: append(udh, text...),
			})
		}
		from("06080401020201", "Hel")
		from("09000311020105041581", "p1")
		from("09000311020105041581", "p1")
		from("050003070000", "solo")
		m.acks(4)
		x := g.open("unreadable", 1)[0]
		g.until("all four in the log", func() bool { return len(g.rows("/v1/receipts")) == 4 })
		if x["detail"] != "user data header is malformed, the text is kept" || x["message"] != nil {
			t.Errorf("the exception is %v", x)
		}
		for i, want := range []string{"inbound", "unreadable", "unreadable", "inbound"} {
			if r := g.rows("/v1/receipts")[i]; r["kind"] != want {
				t.Errorf("the log has %v, want %s", r, want)
			}
		}
		if all := g.rows("/v1/exceptions"); len(all) != 1 {
			t.Errorf("people are told of %v", all)
		}
	})
}

// hex sends a PDU that is written in hexadecimal.
func (m *centre) hex(pdu string) {
	m.t.Helper()
	raw, err := hex.DecodeString(pdu)
	must(m.t, err)
	m.raw(raw)
}
