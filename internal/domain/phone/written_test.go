package phone

import (
	"testing"

	"pgregory.net/rapid"
)

// covers: D2, D14
func TestMaskWritten(t *testing.T) {
	for _, c := range []struct{ raw, region, want string }{
		{"+12025550143", "", "+12•••0143"},
		{"(202) 555-0143", "US", "(20•••0143"},
		{"0151 2345 6789", "DE", "01•••6789"},
		{"+49 (0)151 2345 67-89", "", "+49•••67-89"},
		{"00 49 151 23456789", "DE", "00•••6789"},
		{"tel:+12025550143", "", "tel:+12•••0143"},
		{"\u202e+1\u200b2025550143", "", "+12•••0143"},
		{"٠١٥١٢٣٤٥٦٧٨٩", "DE", "٠١•••٦٧٨٩"},
		{"2345678", "DK", "•••"}, // it is no number there
	} {
		n, _ := Parse(c.raw, c.region)
		if got := n.MaskWritten(c.raw); got != c.want {
			t.Errorf("%q: %q, want %q", c.raw, got, c.want)
		}
	}
	if n := (Number{"+29041234"}); n.MaskWritten("4 12 34") != "•••34" || n.MaskWritten("+290 41234") != "+•••34" {
		t.Errorf("of a short number %q and %q are shown", n.MaskWritten("4 12 34"), n.MaskWritten("+290 41234"))
	}
}

// Whatever the spelling, the digits in the middle of a number are not in what is shown of it.
//
// covers: X4
func TestMaskWrittenHidesTheMiddle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		national := rapid.StringMatching(`[2-9][0-9]{9}`).Draw(t, "national")
		written := rapid.StringMatching(`(\+1|001|1|) ?`).Draw(t, "before")
		for _, d := range national {
			written += rapid.StringMatching(`[-. ]?`).Draw(t, "between") + string(d)
		}
		shown := 0
		for _, r := range (Number{"+1" + national}).MaskWritten(written) {
			if r >= '0' && r <= '9' {
				shown++
			}
		}
		if shown > shownHead+4 {
			t.Errorf("%q shows %d digits", written, shown)
		}
	})
}
