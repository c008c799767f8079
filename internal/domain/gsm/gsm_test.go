package gsm

import (
	"bufio"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func lines(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []string
	for s := bufio.NewScanner(file); s.Scan(); {
		all = append(all, s.Text())
	}
	return all
}

// TestAlphabet compares the literal table with the published one, both ways.
func TestAlphabet(t *testing.T) {
	rows := lines(t, "testdata/gsm0338.tsv")[1:]
	if len(rows) != 138 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		f := strings.Split(row, "\t")
		octets, err := hex.DecodeString(f[2])
		if err != nil {
			t.Fatal(err)
		}
		point, err := hex.DecodeString(f[4])
		if err != nil {
			t.Fatal(err)
		}
		if f[1] == "1B" && f[0] == "basic" {
			continue // the escape itself is no character
		}
		want := string(rune(point[0])<<8 | rune(point[1]))
		if got, ok := Decode(CodingDefault, octets); !ok || got != want {
			t.Errorf("%s decodes to %q, want %q", f[2], got, want)
		}
		if p, err := Encode(want); err != nil || p.DataCoding != CodingDefault || string(p.Octets) != string(octets) {
			t.Errorf("%q encodes to %x (%d), %v; want %s", want, p.Octets, p.DataCoding, err, f[2])
		}
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		coding uint8
		hex    string
		want   string
		ok     bool
	}{
		{CodingDefault, "48656c6c6f201b28576f726c641b29201b65352000686f6d65", "Hello {World} €5 @home", true},
		{CodingUCS2, "041f044004380432043504420020d83dde00", "Привет 😀", true},
		{CodingDefault, "481b656c6c1b", "H€ll\uFFFD", true},
		{CodingDefault, "481b41ff", "H\uFFFDA\uFFFD", true},
		{CodingLatin1, "e9", "é", true},
		{0xF0, "00", "@", true},
		{0x10, "00", "@", true},
		{0x18, "0041", "A", true},
		{0xE0, "0041", "A", true},
		{CodingUCS2, "004100", "A\uFFFD", true},
		{CodingUCS2, "d83d", "\uFFFD", true},
		{2, "00", "", false}, {4, "00", "", false}, {0xF4, "00", "", false}, {5, "00", "", false}, {0x30, "00", "", false},
	} {
		octets, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Decode(c.coding, octets); got != c.want || ok != c.ok {
			t.Errorf("coding %#x, %s: %q %v, want %q %v", c.coding, c.hex, got, ok, c.want, c.ok)
		}
	}
}

func TestNotUTF8(t *testing.T) {
	if _, err := Encode("a\xff"); !errors.Is(err, ErrNotText) {
		t.Errorf("%v", err)
	}
}

// TestRoundTrip: what one part can hold comes back unchanged, and a prefix stays whole characters.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.Rune(), 0, 90, -1).Draw(t, "text")
		n := rapid.IntRange(0, 100).Draw(t, "n")
		prefix := Prefix(text, n)
		if !strings.HasPrefix(text, prefix) || utf8.RuneCountInString(prefix) != min(n, utf8.RuneCountInString(text)) {
			t.Fatalf("prefix %q of %q", prefix, text)
		}
		p, err := Encode(text)
		if err != nil {
			return
		}
		if got, ok := Decode(p.DataCoding, p.Octets); !ok || got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
	})
}

func TestEncodeDefault(t *testing.T) {
	if got := string(EncodeDefault("я€a")); got != "?\x1bea" {
		t.Errorf("%q", got)
	}
}
