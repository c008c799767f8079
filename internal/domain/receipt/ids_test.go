package receipt

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// An id of 64 bits is compared by its value, and its neighbour is another id.
//
// covers: R4, C13
func TestC13HexAndDecimalBeyond63Bits(t *testing.T) {
	in := input[map[string]any](t, "C13")
	d := IDs{Response: Hex, Receipt: Decimal}
	answered := d.OfResponse([]byte(in["submit_sm_resp.message_id"].(string)))
	reported := func(name string) []byte { return d.OfReceipt([]byte(ParseText(in[name].(string)).ID)) }
	if string(answered) != string(reported("deliver_sm.text")) || len(answered) == 0 {
		t.Errorf("%q and %q are one id", answered, reported("deliver_sm.text"))
	}
	if string(answered) == string(reported("negative_control")) {
		t.Error("a neighbour was taken for the id")
	}
	if !d.TwoBases() || (IDs{}).TwoBases() || (IDs{Response: Opaque}).TwoBases() || (IDs{Response: Hex, Receipt: Hex}).TwoBases() {
		t.Error("which connections write two bases is not told")
	}
}

// covers: R4
func TestNormalForms(t *testing.T) {
	for name, c := range map[string]struct {
		d                 IDs
		response, receipt string
		same              bool
	}{
		"hex, decimal":           {IDs{Response: Hex, Receipt: Decimal}, "7b1c9f2e", "2065473326", true},
		"upper case":             {IDs{Response: Hex, Receipt: Decimal}, "7B1C9F2E", "2065473326", true},
		"prefix":                 {IDs{Response: Hex, Receipt: Decimal}, "0x7B1C9F2E", "2065473326", true},
		"leading zeros":          {IDs{Response: Hex, Receipt: Decimal}, "00007B1C9F2E", "0002065473326", true},
		"decimal, hex":           {IDs{Response: Decimal, Receipt: Hex}, "2065473326", "7B1C9F2E", true},
		"digits of both bases":   {IDs{Response: Hex, Receipt: Decimal}, "10", "10", false},
		"one base, other width":  {IDs{Response: Hex, Receipt: Hex}, "00b8be19", "B8BE19", true},
		"decimal with zeros":     {IDs{Response: Decimal, Receipt: Decimal}, "0123", "123", true},
		"any case":               {IDs{AnyCase: true}, "0e99aa21-81ef", "0E99AA21-81EF", true},
		"any case, no letters":   {IDs{AnyCase: true}, "0123", "123", false},
		"any zeros":              {IDs{AnyZeros: true}, "0000000123", "123", true},
		"any zeros, exact case":  {IDs{AnyZeros: true}, "00ab", "AB", false},
		"nothing but zeros":      {IDs{AnyZeros: true}, "0000", "0", true},
		"first ten":              {IDs{First: 10}, "12345678901234", "1234567890", true},
		"first ten, other ten":   {IDs{First: 10}, "12345678911234", "1234567890", false},
		"last eight":             {IDs{Last: 8}, "SMSC7-00112233", "00112233", true},
		"shorter than the cut":   {IDs{First: 10}, "123456", "123456", true},
		"cut after zeros":        {IDs{First: 6, AnyZeros: true}, "000123456789", "0123456", true},
		"not ASCII, other case":  {IDs{AnyCase: true}, "\xc4\xd6", "\xe4\xf6", false},
		"opaque, digits of both": {IDs{Response: Opaque, Receipt: Opaque}, "7b", "7b", false}, // there is no other form
	} {
		a, b := c.d.OfResponse([]byte(c.response)), c.d.OfReceipt([]byte(c.receipt))
		if same := a != nil && string(a) == string(b); same != c.same {
			t.Errorf("%s: %q and %q: same %v", name, a, b, same)
		}
	}
}

// What is no number of the declared base has no value, and is compared as received alone.
//
// covers: R4
func TestWhatIsNoNumberHasNoValue(t *testing.T) {
	d := IDs{Response: Hex, Receipt: Decimal}
	for _, id := range []string{"", "0x", "7g", "-1", "+1", "1_000", " 1", "1\x00", "7B1C-9F2E", "0x-1"} {
		if got := d.OfResponse([]byte(id)); got != nil {
			t.Errorf("%q has the value %q in hex", id, got)
		}
	}
	for _, id := range []string{"", "7B", "0x10", "1.5", "1e3"} {
		if got := d.OfReceipt([]byte(id)); got != nil {
			t.Errorf("%q has the value %q in decimal", id, got)
		}
	}
	if (IDs{}).OfResponse([]byte("00B8")) != nil || (IDs{AnyCase: true}).OfReceipt(nil) != nil {
		t.Error("an opaque id has another form")
	}
}

// Two spellings are one id if their values are equal, and only then.
//
// covers: R4
func TestNumbersAreComparedByTheirValue(t *testing.T) {
	d := IDs{Response: Hex, Receipt: Decimal}
	rapid.Check(t, func(t *rapid.T) {
		value := func(name string) *big.Int {
			return new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, name))
		}
		a, b := value("a"), value("b")
		hex := strings.Repeat("0", rapid.IntRange(0, 4).Draw(t, "zeros")) + fmt.Sprintf("%x", a)
		if rapid.Bool().Draw(t, "upper") {
			hex = strings.ToUpper(hex)
		}
		same := string(d.OfResponse([]byte(hex))) == string(d.OfReceipt([]byte(b.String())))
		if same != (a.Cmp(b) == 0) {
			t.Fatalf("%s and %s: same %v", hex, b, same)
		}
	})
}

// covers: R4
func TestImpossibleDeclarations(t *testing.T) {
	for name, c := range map[string]struct {
		d    IDs
		says string
	}{
		"a form that does not exist": {IDs{Response: "octal", Receipt: Decimal}, "response"},
		"one number":                 {IDs{Response: Hex}, "both"},
		"one number, spelt out":      {IDs{Response: Opaque, Receipt: Decimal}, "both"},
		"case of numbers":            {IDs{Response: Hex, Receipt: Hex, AnyCase: true}, "case"},
		"zeros of numbers":           {IDs{Response: Decimal, Receipt: Decimal, AnyZeros: true}, "zeros"},
		"a cut number":               {IDs{Response: Hex, Receipt: Decimal, First: 10}, "first"},
		"both ends":                  {IDs{First: 10, Last: 10}, "one of them"},
		"too short":                  {IDs{Last: 3}, "at least 6"},
		"negative":                   {IDs{First: -10}, "at least 6"},
	} {
		if err := c.d.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, d := range []IDs{{}, {Response: Opaque, Receipt: Opaque, AnyCase: true, AnyZeros: true, First: 10}, {Response: Hex, Receipt: Decimal}, {Response: Decimal, Receipt: Decimal}} {
		if err := d.Check(); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
}

// A respelling meets the receipt's id under what it says would have to be declared, and only what differs is one.
//
// covers: R4
func TestRespellings(t *testing.T) {
	for _, id := range []string{"9308878062554710043", "7B1C9F2E", "00B8BE19", "0123", "0E99AA21-81EF", "SAR-1", "12"} {
		seen := map[string]bool{}
		for _, r := range Respellings([]byte(id)) {
			if err := r.Declared.Check(); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if string(r.ID) == id || string(r.Declared.OfResponse(r.ID)) != string(r.Declared.OfReceipt([]byte(id))) {
				t.Errorf("%s: %q does not meet it under %s", id, r.ID, r.Declared.Words())
			}
			seen[r.Declared.Words()] = true
		}
		if len(seen) == 0 {
			t.Errorf("%s has no other spelling", id)
		}
	}
	found := false
	for _, r := range Respellings([]byte("9308878062554710043")) {
		found = found || string(r.ID) == "812FC7470000001B" && r.Declared.Words() == "{response: hex, receipt: decimal}"
	}
	if !found {
		t.Error("the hexadecimal spelling of a decimal id is missing")
	}
	if len(Respellings([]byte("-"))) != 0 || (IDs{}).Words() != "{}" {
		t.Error("what has no other spelling has one")
	}
}
