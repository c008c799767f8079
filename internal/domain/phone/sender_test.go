package phone

import "testing"

func TestSenders(t *testing.T) {
	for raw, want := range map[string]Sender{
		"SHOP":             {Alphanumeric, "SHOP"},
		" My Shop ":        {Alphanumeric, "My Shop"},
		"Sh\u200bop":       {Alphanumeric, "Shop"},
		"ABCDEFGHIJK":      {Alphanumeric, "ABCDEFGHIJK"},
		"H&M":              {Alphanumeric, "H&M"},
		"Käse 24":          {Alphanumeric, "Käse 24"},
		"4U":               {Alphanumeric, "4U"},
		"123":              {ShortCode, "123"},
		"12345678":         {ShortCode, "12345678"},
		"٧٢٣٤٥":            {ShortCode, "72345"},
		"+447700900123":    {International, "447700900123"},
		"447700900123":     {International, "447700900123"},
		"+1 202-555-0143":  {International, "12025550143"},
		"+6834000":         {International, "+6834000"},
		"+123456789012345": {International, "123456789012345"},
	} {
		got, err := ParseSender(raw)
		if err != nil || got != want {
			t.Errorf("%q read as %d %q, %v", raw, got.Kind(), got, err)
		}
		if again, err := ParseSender(got.String()); err != nil || again != got {
			t.Errorf("%q, written and read again, is %d %q, %v", raw, again.Kind(), again, err)
		}
	}
}

func TestWhatIsNoSender(t *testing.T) {
	for _, raw := range []string{
		"", " ", "12", "+12345", "1234567890123456", "07700900123", "+07700900123",
		"ABCDEFGHIJKL", "A{BCDEFGHIJ", "Łódź", "Sh\nop", "Shop\x00", "S\xff", "12#", "+", "😀", string(make([]byte, 300)),
	} {
		if got, err := ParseSender(raw); err != ErrSender || !got.IsZero() {
			t.Errorf("%q read as %d %q, %v", raw, got.Kind(), got, err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("+44 7700 900123", ""); err != nil {
			b.Fatal(err)
		}
	}
}
