package gsm

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// vector is a line of segments.jsonl. RefBits is nil for a text of one part.
type vector struct {
	ID, Text, Encoding string
	Units, Parts       int
	RefBits            *int  `json:"ref_bits"`
	PartUnits          []int `json:"part_units"`
	PartChars          []int `json:"part_chars"`
}

func (v vector) bits() ReferenceBits {
	if v.RefBits == nil {
		return Reference8
	}
	return ReferenceBits(*v.RefBits)
}

func unitsOf(p Part) int {
	if p.DataCoding == CodingUCS2 {
		return len(p.Octets) / 2
	}
	return len(p.Octets)
}

func TestSegments(t *testing.T) {
	for _, line := range lines(t, "testdata/segments.jsonl") {
		var v vector
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		m, err := Split(v.Text, v.bits())
		if err != nil || m.Units != v.Units || len(m.Parts) != v.Parts || (v.Encoding == "ucs2") != (m.DataCoding == CodingUCS2) {
			t.Errorf("%s: coding %d, %d units, %d parts, %v", v.ID, m.DataCoding, m.Units, len(m.Parts), err)
			continue
		}
		var units, chars []int
		for _, p := range m.Parts {
			text, _ := Decode(p.DataCoding, p.Octets)
			units, chars = append(units, unitsOf(p)), append(chars, utf8.RuneCountInString(text))
		}
		if !slices.Equal(units, v.PartUnits) || !slices.Equal(chars, v.PartChars) {
			t.Errorf("%s: units %v, characters %v; want %v and %v", v.ID, units, chars, v.PartUnits, v.PartChars)
		}
	}
}

// What a character costs, and where a text is cut.
//
// covers: C52
func TestC52(t *testing.T) {
	for _, c := range []struct {
		name, text string
		coding     uint8
		units      []int
	}{
		{"A", strings.Repeat("a", 160), CodingDefault, []int{160}},
		{"B", strings.Repeat("a", 159) + `\`, CodingDefault, []int{153, 8}},
		{"C", strings.Repeat("a", 152) + "€" + strings.Repeat("b", 10), CodingDefault, []int{152, 12}},
		{"D", strings.Repeat("a", 153) + "{" + strings.Repeat("b", 7), CodingDefault, []int{153, 9}},
		{"E", strings.Repeat("|", 69) + "∞", CodingUCS2, []int{70}},
		{"F", strings.Repeat("|", 70) + "∞", CodingUCS2, []int{67, 4}},
		{"G", "¡Gracias!", CodingDefault, []int{9}},
	} {
		m, err := Split(c.text, Reference8)
		var units []int
		for _, p := range m.Parts {
			units = append(units, unitsOf(p))
		}
		if err != nil || m.DataCoding != c.coding || !slices.Equal(units, c.units) {
			t.Errorf("%s: coding %d, units %v, %v; want %d, %v", c.name, m.DataCoding, units, err, c.coding, c.units)
		}
	}
}

// TestSplitKeepsTheText: the parts of any text, one after the other, are the text; none is over its limit; and no part
// could have taken the first character of the next.
func TestSplitKeepsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.OneOf(rapid.SampledFrom([]rune("aé€{|\n😀я")), rapid.SampledFrom([]rune("ab€^")), rapid.Rune())
		text := rapid.StringOfN(alphabet, 0, 700, -1).Draw(t, "text")
		bits := rapid.SampledFrom([]ReferenceBits{Reference8, Reference16}).Draw(t, "bits")
		m, err := Split(text, bits)
		if err != nil {
			t.Fatal(err)
		}
		one, each := 160, map[ReferenceBits]int{Reference8: 153, Reference16: 152}[bits]
		if m.DataCoding == CodingUCS2 {
			one, each = 70, map[ReferenceBits]int{Reference8: 67, Reference16: 66}[bits]
		}
		whole, units := "", 0
		for i, p := range m.Parts {
			part, ok := Decode(p.DataCoding, p.Octets)
			if !ok || p.DataCoding != m.DataCoding {
				t.Fatalf("part %d is not text of the message's coding", i+1)
			}
			limit := each
			if len(m.Parts) == 1 {
				limit = one
			}
			if unitsOf(p) > limit {
				t.Fatalf("part %d has %d units of %d", i+1, unitsOf(p), limit)
			}
			if i > 0 && unitsOf(m.Parts[i-1]) < each-1 {
				t.Fatalf("part %d ended early, at %d units of %d", i, unitsOf(m.Parts[i-1]), each)
			}
			whole, units = whole+part, units+unitsOf(p)
		}
		if whole != text || units != m.Units {
			t.Fatalf("%q came back as %q, with %d units of %d", text, whole, units, m.Units)
		}
		if left := m.Left(bits); left < 0 || len(m.Parts) == 1 && left != one-m.Units {
			t.Fatalf("%d units left", left)
		}
	})
}

func TestEncodeIsForOnePart(t *testing.T) {
	var long *TooLongError
	if _, err := Encode(strings.Repeat("a", 307)); !errors.As(err, &long) || long.Parts != 3 {
		t.Errorf("%v, want 3 parts", err)
	}
	if _, err := Split("a\xff", Reference8); !errors.Is(err, ErrNotText) {
		t.Errorf("%v", err)
	}
}

// A part is written in the coding of the whole text, and the parts' texts are the text.
func TestEncodeAs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.OneOf(rapid.RuneFrom([]rune("aé€{😀я")), rapid.Rune()), 0, 400, -1).Draw(t, "text")
		m, err := Split(text, rapid.SampledFrom([]ReferenceBits{Reference8, Reference16}).Draw(t, "bits"))
		if err != nil {
			t.Fatal(err)
		}
		joined := ""
		for i, p := range m.Parts {
			octets, err := EncodeAs(p.Text, m.DataCoding)
			if err != nil || string(octets) != string(p.Octets) {
				t.Fatalf("part %d: %x or %x, %v", i+1, octets, p.Octets, err)
			}
			joined += p.Text
		}
		if joined != text {
			t.Fatalf("%q became %q", text, joined)
		}
	})
	for _, c := range []struct {
		text   string
		coding uint8
		want   error
	}{
		{"я", CodingDefault, ErrCoding}, {"a", CodingLatin1, ErrCoding}, {"a\xff", CodingUCS2, ErrNotText}, {"a", CodingUCS2, nil}, {"€", CodingDefault, nil},
	} {
		if _, err := EncodeAs(c.text, c.coding); !errors.Is(err, c.want) {
			t.Errorf("%q in coding %d: %v, want %v", c.text, c.coding, err, c.want)
		}
	}
}
