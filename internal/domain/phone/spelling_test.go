package phone

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// handset is a number with the digits that people begin it with; after them comes the rest.
type handset struct {
	e164, region string
	starts       []string
	rest         string
}

var handsets = []handset{
	{"+447700900123", "GB", []string{"+44", "+44(0)", "0044", "44", "0"}, "7700900123"},
	{"+12025550143", "US", []string{"+1", "0111", "1", ""}, "2025550143"},
	{"+4915123456789", "DE", []string{"+49", "+49 (0)", "0049", "0"}, "15123456789"},
	{"+39066981234", "IT", []string{"+39", "0039", ""}, "066981234"},
	{"+525512345678", "MX", []string{"+52", "+521", "0052", "044", "01", ""}, "5512345678"},
	{"+5491123456789", "AR", []string{"+549", "00549", "09"}, "1123456789"},
}

var (
	scripts    = []string{"0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९", "０１２３４５６７８９"}
	between    = []string{"", "", "", " ", "-", "\u00a0", "\u2011", " - ", ".", "/", "(", ")", "\t"}
	invisibles = []string{"", "", "", "\u200e", "\u200f", "\u202a", "\u202c", "\u2068", "\u2069", "\ufeff", "\ufe0f", "\u00ad", "\u200b", "\U000e0101"}
)

// spelling draws a way to write the number.
func (h handset) spelling() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		script := []rune(rapid.SampledFrom(scripts).Draw(t, "script"))
		plus := rapid.SampledFrom([]string{"+", "＋"}).Draw(t, "plus")
		var b strings.Builder
		for _, r := range rapid.SampledFrom(h.starts).Draw(t, "start") + h.rest {
			b.WriteString(rapid.SampledFrom(invisibles).Draw(t, "invisible"))
			switch {
			case r == '+':
				b.WriteString(plus)
			case '0' <= r && r <= '9':
				b.WriteRune(script[r-'0'])
			default:
				b.WriteRune(r)
			}
			b.WriteString(rapid.SampledFrom(between).Draw(t, "between"))
		}
		return b.String()
	})
}

// Two hundred spellings of a number are one number.
//
// covers: D2
func TestSpellingsAreOneNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.SampledFrom(handsets).Draw(t, "handset")
		seen := map[Number]bool{}
		for _, raw := range rapid.SliceOfNDistinct(h.spelling(), 200, 200, rapid.ID).Draw(t, "spellings") {
			n, err := Parse(raw, h.region)
			if err != nil || n.E164() != h.e164 {
				t.Fatalf("%q read as %q, %v", raw, n.E164(), err)
			}
			seen[n] = true
		}
		if len(seen) != 1 {
			t.Fatalf("200 spellings are %d numbers", len(seen))
		}
	})
}

var problems = []error{ErrNoDigits, ErrTooLong, ErrTooShort, ErrIncomplete, ErrAmbiguous, ErrLocal, ErrLetters, ErrExtension, ErrSeveral, ErrCharacter, ErrNoRegion, ErrRegion, ErrCountry, ErrLength}

// What was read is read again as the same, without a region; errors are of a closed list.
func FuzzParse(f *testing.F) {
	for _, h := range handsets {
		f.Add(h.e164, h.region)
		f.Add(h.starts[len(h.starts)-1]+h.rest, h.region)
	}
	f.Add("+52 1 55 1234 5678 x9", "")
	f.Fuzz(func(t *testing.T, raw, region string) {
		n, err := Parse(raw, region)
		if err != nil {
			if !slices.Contains(problems, err) {
				t.Fatalf("an error with a text of its own, which may repeat the number: %v", err)
			}
			return
		}
		if len(n.E164()) < 7 || len(n.E164()) > 16 {
			t.Fatalf("%q read as %q", raw, n.E164())
		}
		if again, err := Parse(n.E164(), ""); again != n {
			t.Fatalf("%q read again as %q, %v", n.E164(), again.E164(), err)
		}
	})
}
