package gsm

import (
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
)

func header(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestC54Concat: which part of which message the headers of case C54 name. Joining is another matter.
//
// covers: C54
func TestC54Concat(t *testing.T) {
	for name, want := range map[string]struct {
		concat Concat
		ok     bool
	}{
		"06080401020201":           {Concat{0x0102, true, 2, 1}, true}, // A
		"06080401020202":           {Concat{0x0102, true, 2, 2}, true},
		"050003000201":             {Concat{0, false, 2, 1}, true}, // B: reference 0 is one like any other
		"050003000202":             {Concat{0, false, 2, 2}, true},
		"050003070000":             {},                                 // C: no parts
		"050003070203":             {},                                 // C: part 3 of 2
		"050003070200":             {},                                 // C: part 0
		"06080402020202":           {Concat{0x0202, true, 2, 2}, true}, // E: the part 1 of A is of another message
		"0B05041581000000030A0201": {Concat{0x0A, false, 2, 1}, true},  // F: ports first
		"0B05041581000000030A0202": {Concat{0x0A, false, 2, 2}, true},
		"050003080201":             {Concat{8, false, 2, 1}, true}, // G
	} {
		h, err := ParseUDH(header(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, ok := h.Concat(); got != want.concat && want.ok || ok != want.ok {
			t.Errorf("%s: %+v, %t", name, got, ok)
		}
	}
	// D: the second element claims four octets, and two are left.
	if h, err := ParseUDH(header(t, "09000311020105041581")); !errors.Is(err, ErrUDH) || h != nil {
		t.Errorf("malformed: %+v, %v", h, err)
	}
}

func TestParseUDH(t *testing.T) {
	for _, malformed := range []string{"", "05000301", "0400030102", "0100", "0300030102", "0600030102030405", "03000401", "ff"} {
		if h, err := ParseUDH(header(t, malformed)); !errors.Is(err, ErrUDH) {
			t.Errorf("%q: %+v, %v", malformed, h, err)
		}
	}
	if h, err := ParseUDH([]byte{0}); err != nil || len(h) != 0 {
		t.Errorf("an empty header: %+v, %v", h, err)
	}
	h, err := ParseUDH(header(t, "0a7f00"+"0003010201"+"240101"))
	if err != nil || len(h) != 3 || h[0].ID != 0x7f || len(h[0].Data) != 0 || !h.OtherLanguage() {
		t.Errorf("%+v, %v", h, err)
	}
	if h.OtherLanguage() != true || h[:2].OtherLanguage() {
		t.Error("the language")
	}
}

// TestConcatTwice: the last one that is valid counts, whatever its width; one of another length is none.
func TestConcatTwice(t *testing.T) {
	for s, want := range map[string]Concat{
		"0a" + "0003010201" + "0003020302":   {2, false, 3, 2},
		"0b" + "0003010201" + "080400020302": {2, true, 3, 2},
		"0a" + "0003010201" + "0003020002":   {1, false, 2, 1},
		"0a" + "000401020102" + "00020102":   {},
	} {
		h, err := ParseUDH(header(t, s))
		if got, ok := h.Concat(); err != nil || got != want || ok != (want != Concat{}) {
			t.Errorf("%s: %+v, %t, %v", s, got, ok, err)
		}
	}
}

// FuzzParseUDH: the elements are the header, no more and no less, and a part is numbered within its total.
func FuzzParseUDH(f *testing.F) {
	for _, s := range []string{"050003cc0201", "06080412340202", "0B05041581000000030A0201", "09000311020105041581", "00", ""} {
		f.Add(header(f, s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := ParseUDH(raw)
		if err != nil {
			return
		}
		again := []byte{raw[0]}
		for _, e := range h {
			again = append(append(again, e.ID, byte(len(e.Data))), e.Data...)
		}
		if string(again) != string(raw) {
			t.Fatalf("%x is read as %+v", raw, h)
		}
		if c, ok := h.Concat(); ok && (c.Total == 0 || c.Sequence == 0 || c.Sequence > c.Total || !c.Wide && c.Reference > 0xFF) {
			t.Fatalf("%+v", c)
		}
	})
}

// What Header writes, ParseUDH and Concat read; an 8-bit reference has the lower octet.
func TestHeader(t *testing.T) {
	for hex, c := range map[string]Concat{
		"050003220302":   {Reference: 0x1122, Total: 3, Sequence: 2},
		"06080411220302": {Reference: 0x1122, Wide: true, Total: 3, Sequence: 2},
	} {
		if got := fmt.Sprintf("%x", c.Header()); got != hex {
			t.Errorf("%+v is written as %s, want %s", c, got, hex)
		}
		h, err := ParseUDH(c.Header())
		if err != nil {
			t.Fatal(err)
		}
		if !c.Wide {
			c.Reference &= 0xFF
		}
		if got, ok := h.Concat(); !ok || got != c {
			t.Errorf("%s is read as %+v, %v", hex, got, ok)
		}
	}
}
