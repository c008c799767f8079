package phone

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"
)

// lines decodes a file of one JSON object a line.
func lines[T any](t *testing.T, file string) []T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for s := bufio.NewScanner(f); s.Scan(); {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}

// handed returns a case of testdata/cases.jsonl.
func handed[In, Expected any](t *testing.T, id string) (in In, want Expected) {
	t.Helper()
	type line struct {
		ID              string
		Input, Expected json.RawMessage
	}
	for _, l := range lines[line](t, "testdata/cases.jsonl") {
		if l.ID != id {
			continue
		}
		if err := errors.Join(json.Unmarshal(l.Input, &in), json.Unmarshal(l.Expected, &want)); err != nil {
			t.Fatal(err)
		}
		return in, want
	}
	t.Fatalf("no case %s", id)
	return in, want
}

// stricter are the vectors where a number for calls is no destination for texts, or has a better form.
var stricter = map[string]struct {
	e164 string
	err  error
}{
	"+1 202 555 0123 ext. 7": {"", ErrExtension},
	"+52 1 55 1234 5678":     {"+525512345678", nil},
	"12345":                  {"", ErrTooShort},
	"+1234567890123456":      {"", ErrTooLong},
}

// covers: D2
func TestVectors(t *testing.T) {
	type vector struct {
		Input, Region, E164, Error string
		Valid                      bool
	}
	for _, v := range lines[vector](t, "testdata/phones.jsonl") {
		got, err := Parse(v.Input, v.Region)
		want, wantErr := v.E164, error(nil)
		if s, ok := stricter[v.Input]; ok {
			want, wantErr = s.e164, s.err
		}
		switch {
		case v.Error != "":
			if err == nil {
				t.Errorf("%q was taken", v.Input)
			}
		case got.E164() != want || err != wantErr:
			t.Errorf("%q: %q, %v; want %q, %v", v.Input, got.E164(), err, want, wantErr)
		case err == nil && want == v.E164 && got.Assigned() != v.Valid:
			t.Errorf("%q: assigned %v", v.Input, got.Assigned())
		}
	}
}

// spelled cuts the region from a spelling such as "222 123 4567 (MX)".
func spelled(s string) (raw, region string) {
	if raw, region, ok := strings.Cut(s, " ("); ok && len(region) == 3 {
		return raw, region[:2]
	}
	return s, ""
}

// A handset in Mexico or Argentina has one number, however it was written down.
//
// covers: C47, D2
func TestC47MexicoAndArgentina(t *testing.T) {
	want := map[string][]string{
		"MX": {"+522221234567", "+522221234567", "+522221234567"},
		// The last one, without any mark, would be a fixed line for calls. A fixed line takes no texts, so it is
		// the same handset.
		"AR": {"+5491123456789", "+5491123456789", "+5491123456789", "+5491123456789"},
	}
	in, _ := handed[map[string][]string, any](t, "C47")
	for country, numbers := range want {
		if len(in[country]) != len(numbers) {
			t.Fatalf("%s: %d spellings, want %d", country, len(in[country]), len(numbers))
		}
		for i, s := range in[country] {
			raw, region := spelled(s)
			if got, err := Parse(raw, region); got.E164() != numbers[i] {
				t.Errorf("%q: %q, %v; want %q", s, got.E164(), err, numbers[i])
			}
		}
	}
	for _, raw := range []string{"01 222 123 4567", "044 222 123 4567", "045 222 123 4567", "1 222 123 4567", "52 1 222 123 4567"} {
		if got, err := Parse(raw, "MX"); got.E164() != "+522221234567" {
			t.Errorf("%q: %q, %v", raw, got.E164(), err)
		}
	}
}

// Characters that cannot be seen, and digits of other scripts.
//
// covers: C50, D2
func TestC50InvisibleCharacters(t *testing.T) {
	in, want := handed[struct{ In []string }, []string](t, "C50")
	if len(in.In) == 0 || len(in.In) != len(want) {
		t.Fatalf("%d spellings, %d numbers", len(in.In), len(want))
	}
	for i, s := range in.In {
		raw, region := spelled(s)
		if got, err := Parse(raw, region); got.E164() != want[i] {
			t.Errorf("%q: %q, %v; want %q", s, got.E164(), err, want[i])
		}
	}
}

// covers: D2
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		raw, region string
		want        error
	}{
		{"", "", ErrNoDigits}, {"+", "", ErrNoDigits}, {"   ", "US", ErrNoDigits}, {"\u200b", "US", ErrNoDigits},
		{"1-800-FLOWERS", "US", ErrLetters}, {"SHOP", "", ErrLetters}, {"٠٧٧٠٠ ل", "GB", ErrLetters},
		{"+12025550123x7", "", ErrExtension}, {"+12025550123#7", "", ErrExtension}, {"+12025550123;7", "", ErrExtension}, {"+12025550123,,7", "", ErrExtension},
		{"+12025550123x1234567", "", ErrSeveral}, {"+12025550123#1234567", "", ErrExtension},
		{"+12025550123,+12025550143", "", ErrSeveral}, {"+12025550123; +12025550143", "", ErrSeveral}, {"2025550123, 2025550143", "US", ErrSeveral},
		{"+12025550123 +12025550143", "", ErrSeveral}, {"+12025550123/+12025550143", "", ErrSeveral}, {"+12025550123 or +12025550143", "", ErrSeveral},
		{"tel:+12025550123;ext=7", "", ErrExtension}, {"tel:2025550123", "", ErrNoRegion}, {"tel:", "", ErrNoDigits}, {"tel:tel:+12025550123", "", ErrLetters},
		{"sms:+12025550123", "", ErrLetters}, {"2025550123", "", ErrNoRegion}, {"0044 7700 900123", "", ErrNoRegion},
		{"2025550123", "XX", ErrRegion}, {"2025550123", "USA", ErrRegion}, {"+12025550123", "ZZ", ErrRegion},
		{"+0 123 456", "", ErrCountry}, {"+999 12345678", "", ErrCountry},
		{"911", "US", ErrTooShort}, {"112", "DE", ErrTooShort}, {"12345", "DE", ErrTooShort}, {"123456", "FR", ErrTooShort},
		{"+4412", "", ErrIncomplete}, {"+1", "", ErrIncomplete}, {"+22501234567", "", ErrIncomplete}, {"01234567", "CI", ErrIncomplete}, {"0612345", "FR", ErrIncomplete},
		{"253 0000", "US", ErrLocal}, {"15 2345-6789", "AR", ErrLocal},
		{"+1 202 555 01234", "", ErrTooLong}, {strings.Repeat("1", 300), "US", ErrTooLong}, {"0171 2345 6789 0123", "DE", ErrTooLong},
		{"+1202+5550123", "", ErrCharacter}, {"+1202*5550123", "", ErrCharacter}, {"+1202\x005550123", "", ErrCharacter},
		{"+12025550123\xff", "", ErrCharacter}, {"😀+12025550123", "", ErrCharacter}, {"+1202²5550123", "", ErrCharacter},
	} {
		got, err := Parse(c.raw, c.region)
		if !errors.Is(err, c.want) || !got.IsZero() {
			t.Errorf("%q in %q: %q, %v; want %v", c.raw, c.region, got.E164(), err, c.want)
		}
	}
}

// The value of a digit is taken from its place in a range of the table, which must therefore hold whole scripts.
func TestDigitsOfAllScripts(t *testing.T) {
	for _, g := range unicode.Nd.R16 {
		if g.Stride != 1 || (g.Hi-g.Lo+1)%10 != 0 {
			t.Errorf("range %x to %x is not made of tens", g.Lo, g.Hi)
		}
	}
	for _, g := range unicode.Nd.R32 {
		if g.Stride != 1 || (g.Hi-g.Lo+1)%10 != 0 {
			t.Errorf("range %x to %x is not made of tens", g.Lo, g.Hi)
		}
	}
	for _, script := range []string{"0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९", "০১২৩৪৫৬৭৮৯", "๐๑๒๓๔๕๖๗๘๙", "０１２３４５６７８９", "𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡"} {
		if got := fold(script); got != "0123456789" {
			t.Errorf("%s read as %s", script, got)
		}
	}
}

// A telephone URI without parameters (RFC 3966) is its number.
//
// covers: D2
func TestTelephoneURIs(t *testing.T) {
	for raw, region := range map[string]string{
		"tel:+12025550123": "", "TEL:+1-202-555-0123": "", " tel:+1(202)555.0123": "", "\u202atel:+12025550123\u202c": "", "tel:202-555-0123": "US",
	} {
		if got, err := Parse(raw, region); err != nil || got.E164() != "+12025550123" {
			t.Errorf("%q: %q, %v", raw, got.E164(), err)
		}
	}
}
