package telemetry

import (
	"strings"
	"testing"
)

func TestMaskHidesNumbers(t *testing.T) {
	cases := map[string]string{
		"+12025550143":                             "•••0143",
		"to +1 (202) 555-0143, again":              "to •••0143, again",
		"0151 2345 6789":                           "•••6789",
		"tel12025550143x":                          "tel•••0143x",
		"00491512345678900":                        "•••8900",
		"20.25.50.14":                              "•••5014",
		"+1\u200b202\u00ad555\u20600143":           "•••0143",
		"(202) 555-0143":                           "•••0143",
		"a=12025550143&b=447700900123":             "a=•••0143&b=•••0123",
		"id:7 sub:001 12025550143":                 "id:7 sub:•••0143",
		"+1202555x0143":                            "+1202555x0143",
		"msg_12345678":                             "msg_•••5678",
		"2026-01-0243":                             "•••0243",
		"12025550143 at 2026-01-02T03:04:05.123Z.": "•••0143 at 2026-01-02T03:04:05.123Z.",
	}
	for in, want := range cases {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMaskHidesOtherScripts(t *testing.T) {
	for _, in := range []string{"٠١٥١٢٣٤٥٦٧٨٩", "+４９１５１２３４５６７８９"} {
		got := Mask(in)
		if !strings.HasPrefix(got, dots) || len([]rune(got)) != len([]rune(dots))+keptDigits {
			t.Errorf("Mask(%q) = %q", in, got)
		}
	}
}

func TestMaskLeavesTheReadable(t *testing.T) {
	for _, s := range []string{
		"msg_01980123456789012345678901234567", "dec_0198abcdef0123456789abcdef012345",
		"status 0x00000058", "already bound (0x00000005)", "attempt 3 0x00000045", "bind_transceiver_resp 5/(0x0000000D)", "2026-12-31", "2026-12-31T10:00:00Z", "2026-12-31 10:00:00.123456",
		"took 1234567 µs", "192.168.100.200:2775", "shop@7", "1 2 3", "",
		"00000000-0000-4000-8000-000000000000",
		"at 2026-12-31T10:00:00+01:00: message msg_01980123456789012345678901234567.",
	} {
		if got := Mask(s); got != s {
			t.Errorf("Mask(%q) = %q", s, got)
		}
	}
}

// A code beside a number stays, and the number does not; what only begins like a code is none.
func TestMaskHidesNumbersBesideCodes(t *testing.T) {
	for in, want := range map[string]string{
		"+12025550143 already bound (0x00000005)": "•••0143 already bound (0x00000005)",
		"(0x0000000D) +1 (202) 555-0143":          "(0x0000000D) •••0143",
		"3 (202) 555-0143":                        "•••0143",
		"(1 +12025550143":                         "(1 •••0143",
		"0x +12025550143":                         "0x •••0143",
		"50x12025550143":                          "50x•••0143",
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("to +1 (202) 555-0143", "msg_01980123456789012345678901234567")
	f.Fuzz(func(t *testing.T, before, after string) {
		got := Mask(before + " +12025550143 " + after)
		if strings.Contains(got, "12025550143") {
			t.Errorf("a number stayed readable: %q", got)
		}
	})
}
