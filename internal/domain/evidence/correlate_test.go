package evidence

import (
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

const handset = "+12025550143"

func candidate(n byte) Candidate {
	return Candidate{Message: ident.Message{n}, Attempt: 1, Part: 1, Destination: handset, Outcome: message.OutcomeUnknown}
}

func withID(n byte) Candidate {
	c := candidate(n)
	c.HasExternalID, c.Outcome = true, message.OutcomeAccepted
	return c
}

// covers: R4
func TestCorrelateByMessageID(t *testing.T) {
	to := func(address string) *ReceiptFacts {
		return &ReceiptFacts{Handset: address, Reference: 7, EchoDeclared: true}
	}
	for name, c := range map[string]struct {
		r    *ReceiptFacts
		byID []Candidate
		kind exception.Kind // empty: found
	}{
		"same number":               {to("12025550143"), []Candidate{withID(1)}, ""},
		"no number":                 {to(""), []Candidate{withID(1)}, ""},
		"letters for a number":      {to("Masked"), []Candidate{withID(1)}, ""},
		"another number":            {to("12025550144"), []Candidate{withID(1)}, exception.Ambiguous},
		"several":                   {to("12025550143"), []Candidate{withID(1), withID(2)}, exception.Ambiguous},
		"several, one by number":    {to("12025550143"), []Candidate{withID(1), {Message: ident.Message{2}, Destination: "+447700900123"}}, exception.Ambiguous},
		"none":                      {to("12025550143"), nil, exception.Unmatched},
		"of a definitely refused":   {to("12025550143"), []Candidate{{Destination: handset, Outcome: message.OutcomeRejected, HasExternalID: true}}, ""},
		"recycled, other reference": {to("447700900123"), []Candidate{withID(1)}, exception.Ambiguous},
	} {
		m := Correlate(c.r, c.byID, nil)
		if m.Kind != c.kind || m.Found != (c.kind == "") || (m.Detail == "") != m.Found {
			t.Errorf("%s: %+v", name, m)
		}
		if m.Found && (m.Quality != ByExternalID || m.Candidate != c.byID[0]) {
			t.Errorf("%s: found %+v", name, m)
		}
	}
	// A message id that contradicts is not saved by a reference that fits.
	if m := Correlate(to("447700900123"), []Candidate{withID(1)}, []Candidate{{Destination: "+447700900123"}}); m.Found {
		t.Errorf("found %+v", m)
	}
}

// Ids are compared as they came: no case, no zero, no form is the same as another.
//
// covers: R4
func TestMessageIDsAreExact(t *testing.T) {
	stored := []string{"00B8BE19", "0e99aa21-81ef-4974-a414-3de98174e300", "SAR-12025550143-1eedf843-2-1", "0123", "123"}
	index := map[string][]Candidate{}
	for i, id := range stored {
		index[id] = []Candidate{withID(byte(i + 1))}
	}
	for i, id := range append(stored, "B8BE19", "0E99AA21-81EF-4974-A414-3DE98174E300") {
		m := Correlate(&ReceiptFacts{ExternalID: []byte(id), Reference: -1, Handset: handset}, index[id], nil)
		if i < len(stored) && m.Candidate.Message != (ident.Message{byte(i + 1)}) || m.Found != (i < len(stored)) {
			t.Errorf("%q: %+v", id, m)
		}
		if !m.Found && m.Kind != exception.Unmatched {
			t.Errorf("%q: %+v", id, m)
		}
	}
}

// covers: D9, R4
func TestCorrelateByReference(t *testing.T) {
	outcome := func(o message.Outcome) Candidate {
		c := candidate(1)
		c.Outcome = o
		return c
	}
	for name, c := range map[string]struct {
		echo        bool
		handset     string
		byReference []Candidate
		kind        exception.Kind // empty: found
	}{
		"unknown":                 {true, handset, []Candidate{candidate(1)}, ""},
		"open":                    {true, handset, []Candidate{outcome(message.OutcomeOpen)}, ""},
		"accepted without an id":  {true, handset, []Candidate{outcome(message.OutcomeAccepted)}, ""},
		"without the plus":        {true, "12025550143", []Candidate{candidate(1)}, ""},
		"no declared echo":        {false, handset, []Candidate{candidate(1)}, exception.Unmatched},
		"has a message id":        {true, handset, []Candidate{withID(1)}, exception.Unmatched},
		"rejected":                {true, handset, []Candidate{outcome(message.OutcomeRejected)}, exception.Unmatched},
		"throttled":               {true, handset, []Candidate{outcome(message.OutcomeThrottled)}, exception.Unmatched},
		"not sent":                {true, handset, []Candidate{outcome(message.OutcomeNotSent)}, exception.Unmatched},
		"national form":           {true, "2025550143", []Candidate{candidate(1)}, exception.Unmatched},
		"no number":               {true, "", []Candidate{candidate(1)}, exception.Unmatched},
		"another number":          {true, "12025550144", []Candidate{candidate(1)}, exception.Unmatched},
		"none":                    {true, handset, nil, exception.Unmatched},
		"several":                 {true, handset, []Candidate{candidate(1), candidate(2)}, exception.Ambiguous},
		"several, one has an id":  {true, handset, []Candidate{candidate(1), withID(2)}, ""},
		"several, one to another": {true, handset, []Candidate{candidate(1), {Message: ident.Message{2}, Destination: "+447700900123"}}, ""},
	} {
		m := Correlate(&ReceiptFacts{Reference: 7, EchoDeclared: c.echo, Handset: c.handset}, nil, c.byReference)
		if m.Kind != c.kind || m.Found != (c.kind == "") {
			t.Errorf("%s: %+v", name, m)
		}
		if m.Found && (m.Quality != ByReference || m.Candidate.Message != (ident.Message{1})) {
			t.Errorf("%s: found %+v", name, m)
		}
	}
}

// Spellings of an address beside an E.164 number. An ending is enough not to contradict; only a whole number is
// equal.
//
// covers: R4
func TestSpellingsOfAnAddress(t *testing.T) {
	for _, c := range []struct {
		received, e164      string
		contradicts, equals bool
	}{
		{"+12025550143", "+12025550143", false, true},
		{"12025550143", "+12025550143", false, true},
		{"0012025550143", "+12025550143", false, true},
		{" 12025550143 ", "+12025550143", false, true},
		{"2025550143", "+12025550143", false, false},     // national
		{"07700900123", "+447700900123", false, false},   // national with its zero
		{"01112025550143", "+12025550143", false, false}, // behind another country's prefix
		{"015112345678", "+15112345678", false, false},   // a German national form with the digits of an American number
		{"+015112345678", "+15112345678", false, false},
		{"00015112345678", "+15112345678", false, false},
		{"12025550144", "+12025550143", true, false},
		{" +12025550144 ", "+12025550143", true, false},
		{"447700900123", "+12025550143", true, false},
		{"50143", "+12025550143", true, false}, // below six digits an ending says nothing
		{"550143", "+12025550143", false, false},
		{"50143", "50143", false, true},
		{"50143", "250143", true, false},
		{"50144", "50143", true, false},
		{"", "+12025550143", false, false},
		{"", "", false, false},
		{"+", "+12025550143", false, false},
		{"0000", "+12025550143", false, false},
		{"EINMAL", "+12025550143", false, false},
		{"1-202-555-0144", "+12025550143", false, false}, // no digits alone: unreadable, and so no contradiction
		{"++12025550144", "+12025550143", false, false},
	} {
		if got := contradicts(c.received, c.e164); got != c.contradicts {
			t.Errorf("%q contradicts %q: %v", c.received, c.e164, got)
		}
		if got := equalAddress(c.received, c.e164); got != c.equals {
			t.Errorf("%q equals %q: %v", c.received, c.e164, got)
		}
	}
}

// A receipt's number speaks against what a person may give it to, except where its message id names the attempt and no
// other that fits better.
//
// covers: R4, R6, I13
func TestMayBelong(t *testing.T) {
	mine := Candidate{Message: ident.Message{1}, Attempt: 1, Part: 1, Destination: "+12025550143"}
	other := Candidate{Message: ident.Message{2}, Attempt: 1, Part: 1, Destination: "+12025550144"}
	part := mine
	part.Part = 2
	for name, c := range map[string]struct {
		handset string
		byID    []Candidate
		want    bool
	}{
		"its number":                        {"12025550143", nil, true},
		"its number, national":              {"02025550143", nil, true},
		"no number":                         {"", nil, true},
		"a name":                            {"SHOP", []Candidate{other}, true},
		"another number":                    {"12025550145", nil, false},
		"another number, another's id":      {"12025550145", []Candidate{other}, false},
		"another number, another part's id": {"12025550145", []Candidate{part}, false},
		"another number, and its id":        {"12025550145", []Candidate{mine}, true},
		"the same, one of two":              {"12025550145", []Candidate{other, mine}, true},
		"one that has the id fits better":   {"12025550144", []Candidate{mine, other}, false},
	} {
		if got := MayBelong(&ReceiptFacts{Handset: c.handset}, mine, c.byID); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
