package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/domain/gsm"
	wire "github.com/einmal/einmal/internal/smpp"
)

// handed returns a case about numbers, as it was handed over.
func handed[In, Expected any](t *testing.T, id string) (in In, want Expected) {
	t.Helper()
	b, err := os.ReadFile("../domain/phone/testdata/cases.jsonl")
	must(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var c struct {
			ID              string
			Input, Expected json.RawMessage
		}
		must(t, json.Unmarshal([]byte(line), &c))
		if c.ID == id {
			must(t, errors.Join(json.Unmarshal(c.Input, &in), json.Unmarshal(c.Expected, &want)))
			return in, want
		}
	}
	t.Fatalf("no case %s", id)
	return in, want
}

// spellings are those of one number, by its E.164 form.
type spellings map[string][]string

// However a number is written, in whatever script and with whatever cannot be seen: it is one number, and so the same
// event to it makes one message, which the carrier takes once.
//
// covers: C47, C50, D2, D7
func TestSpellingsOfOneNumber(t *testing.T) {
	all := spellings{}
	in, want := handed[struct{ In []string }, []string](t, "C50")
	for i, s := range in.In {
		all[want[i]] = append(all[want[i]], s)
	}
	local, _ := handed[map[string][]string, any](t, "C47")
	all["+522221234567"], all["+5491123456789"] = local["MX"], local["AR"]
	if len(all) != 5 || len(all["+12025550143"]) != 7 || len(all["+201001234567"]) != 2 || len(all["+522221234567"]) != 3 || len(all["+5491123456789"]) != 4 {
		t.Fatalf("the cases have %v", all)
	}
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		for number, spelt := range all {
			g.oneOf(number, spelt)
		}
	})
}

// oneOf asks with every spelling at once, several times.
func (g *gateway) oneOf(number string, spelt []string) {
	g.t.Helper()
	n := 4 * len(spelt)
	statuses, messages, _ := g.race(n, func(i int) map[string]any {
		raw, region, local := strings.Cut(spelt[i%len(spelt)], " (")
		body := alert("SPELT", raw)
		if local {
			body["region"] = strings.TrimSuffix(region, ")")
		}
		return body
	}, noHeader)
	if statuses[201] != 1 || statuses[200] != n-1 || len(messages) != 1 {
		g.t.Errorf("%s: statuses %v, messages %v", number, statuses, messages)
		return
	}
	m := g.await(only(messages), "delivered")
	if accepts := g.acceptsOf(number[1:]); accepts != 1 {
		g.t.Errorf("%s: the carrier accepted %d: %s", number, accepts, m.Raw)
	}
	if rows := g.rows("/v1/messages?to=%2B" + number[1:]); len(rows) != 1 || rows[0]["to"] != number {
		g.t.Errorf("%s: the messages to it are %v", number, rows)
	}
}

// cutText is a text of C52, and how many units each of its parts has.
type cutText struct {
	text, encoding string
	units          []int
	left           int // in the last part
}

var cutTexts = map[string]cutText{
	"A": {strings.Repeat("a", 160), "gsm7", []int{160}, 0},
	"B": {strings.Repeat("a", 159) + `\`, "gsm7", []int{153, 8}, 145},
	"C": {strings.Repeat("a", 152) + "€" + strings.Repeat("b", 10), "gsm7", []int{152, 12}, 141},
	"D": {strings.Repeat("a", 153) + "{" + strings.Repeat("b", 7), "gsm7", []int{153, 9}, 144},
	"E": {strings.Repeat("|", 69) + "∞", "ucs2", []int{70}, 0},
	"F": {strings.Repeat("|", 70) + "∞", "ucs2", []int{67, 4}, 63},
	"G": {"¡Gracias!", "gsm7", []int{9}, 151},
}

// A dry run counts what leaves over the wire, unit by unit, and the parts are the text.
//
// covers: C52, D4
func TestTextsAreCutAsTheyAreCounted(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		m := newCentre(t, &c, nil)
		g := start(t, c)
		for name, want := range cutTexts {
			body := alert("C52-"+name, "+12025550143")
			body["text"], body["dry_run"] = want.text, true
			if r := g.post(body); r.Status != 200 || r.at("parts") != fmt.Sprint(len(want.units)) || r.at("encoding") != want.encoding || r.at("units_left") != fmt.Sprint(want.left) {
				t.Errorf("%s as a dry run: %d %s", name, r.Status, r.Raw)
			}
			delete(body, "dry_run")
			id := g.post(body).at("message.id")
			text, units := "", []int(nil)
			for i := range want.units {
				submit := m.next()
				part, n := partOf(submit)
				text, units = text+part, append(units, n)
				m.accept(submit, fmt.Sprint(name, i))
			}
			g.await(id, "accepted")
			if text != want.text || !slices.Equal(units, want.units) {
				t.Errorf("%s: parts of %v units left, want %v: %q", name, units, want.units, text)
			}
		}
		if len(m.submitted) != 0 {
			t.Errorf("%d more parts were submitted", len(m.submitted))
		}
	})
}

// partOf is the text of a submission and how many units it has, without the header of a part.
func partOf(p wire.PDU) (text string, units int) {
	sent, octets := p.Body.(*wire.Message), p.Octets()
	if sent.ESMClass&wire.ESMUDHI != 0 {
		_, octets, _ = wire.SplitUDH(octets)
	}
	text, _ = gsm.Decode(sent.DataCoding, octets)
	if sent.DataCoding == gsm.CodingUCS2 {
		return text, len(octets) / 2
	}
	return text, len(octets)
}
