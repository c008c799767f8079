package receipt

import (
	"strings"
	"testing"
)

func TestNoReceipt(t *testing.T) {
	for text, want := range map[string]string{
		"":                            problemNoID,
		"hello":                       problemNoReceipt,
		"Your id: 9 is ready":         problemNoReceipt,
		"text:id:9 stat:DELIVRD":      problemNoID,
		"id:9":                        problemNoStat,
		"id: stat:DELIVRD":            problemNoID,
		"id:9 stat: text:stat:UNDELI": problemNoStat,
		"id:9 stat:DELIVRD":           "",
	} {
		if got := ParseText(text).Problem; got != want {
			t.Errorf("%q: problem %q, want %q", text, got, want)
		}
	}
}

// What the sender of the message wrote never becomes a field.
func TestQuotedTextIsNoField(t *testing.T) {
	for text, want := range map[string]Text{
		"id:1 stat:DELIVRD text:id:2 stat:UNDELIV":  {ID: "1", Stat: "DELIVRD", Quoted: "id:2 stat:UNDELIV", HasQuoted: true},
		"id:1 stat:DELIVRD Dear stat:UNDELIV err:9": {ID: "1", Stat: "DELIVRD"},
		"id:1 err:0 Dear stat:UNDELIV":              {ID: "1", Err: "0", Problem: problemNoStat},
		"id:1 id:2 stat:DELIVRD stat:UNDELIV":       {ID: "1", Stat: "DELIVRD"},
		"id:1 stat:DELIVRD text:a text:b":           {ID: "1", Stat: "DELIVRD", Quoted: "a text:b", HasQuoted: true},
	} {
		if got := readFields(text); got != want {
			t.Errorf("%q: read %+v", text, got)
		}
	}
}

func TestOddSurroundings(t *testing.T) {
	want := Text{ID: "1", SubmitDate: "2610031744", Stat: "DELIVRD", Err: "1"}
	for _, text := range []string{
		"id:1 submit date:2610031744 stat:DELIVRD err:1\x00",
		"\r\nid:1\tsubmit date:2610031744\tstat:DELIVRD\terr:1\r\n",
		"id:1 submit date:2610031744 +0100 stat:DELIVRD vendor:7 err:1",
		"stat:DELIVRD err: 1 id:1   submitdate:2610031744",
	} {
		if got := readFields(text); got != want {
			t.Errorf("%q: read %+v", text, got)
		}
	}
}

// readFields reads a text without the place where reading ended.
func readFields(text string) Text {
	t := ParseText(text)
	t.End = 0
	return t
}

// What comes from End on is the sender's, and nothing before it is.
func TestEnd(t *testing.T) {
	for text, want := range map[string]string{
		"id:1 stat:DELIVRD text:secret 12":   "secret 12",
		"id:1 stat:DELIVRD secret 12":        "secret 12",
		"\r\n id:1 stat:DELIVRD Text:s \x00": "s \x00",
		"id:1 stat:DELIVRD err:0":            "",
		"my secret":                          "my secret",
	} {
		if got := text[ParseText(text).End:]; got != want {
			t.Errorf("%q: the sender's part is %q, want %q", text, got, want)
		}
	}
}

func TestDates(t *testing.T) {
	for date, want := range map[string]string{
		"2402290000": "2024-02-29T00:00:00", "2302290000": "", "20261003174455": "2026-10-03T17:44:55",
		"261003174455": "2026-10-03T17:44:55", "2610032460": "", "26100317": "", "26100317x4": "", "2610031744.5": "",
	} {
		if got := shown(Text{SubmitDate: date}.Submitted()); got != want {
			t.Errorf("%q read as %q, want %q", date, got, want)
		}
	}
}

func TestStates(t *testing.T) {
	for n, stat := range map[uint8]string{
		0: "SCHEDLD", 1: "ENROUTE", 2: "DELIVRD", 3: "EXPIRED", 4: "DELETED", 5: "UNDELIV", 6: "ACCEPTD", 7: "UNKNOWN", 8: "REJECTD",
	} {
		s, final, ok := StateOfMessageState(n)
		ts, tfinal, tok := StateOfSMPP(" " + strings.ToLower(stat) + "\x00")
		if !ok || !tok || s != ts || final != tfinal {
			t.Errorf("%d and %s differ: %q %v, %q %v", n, stat, s, final, ts, tfinal)
		}
	}
	if s, final, ok := StateOfSMPP("UNKNOWN"); s != Unknown || final || !ok {
		t.Errorf("UNKNOWN is %q, final %v", s, final)
	}
	for _, stat := range []string{"", "FAILED", "ACKED", "DND_REJECTED", "SKIPPED"} {
		if _, final, ok := StateOfSMPP(stat); ok || final {
			t.Errorf("%q has a meaning", stat)
		}
	}
	if _, _, ok := StateOfMessageState(9); ok {
		t.Error("message_state 9 has a meaning")
	}
}

func FuzzParseText(f *testing.F) {
	for _, v := range []string{
		"id:1 sub:001 dlvrd:001 submit date:2610031744 done date:2610031745 stat:DELIVRD err:000 Text:x",
		"id:", "text:", "ID:\x00 stat:\xff", "id:9 stat:A bc stat:D", "",
	} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := ParseText(text)
		if (got.Problem == "") != (got.ID != "" && got.Stat != "") {
			t.Fatalf("problem %q for id %q, stat %q", got.Problem, got.ID, got.Stat)
		}
		for _, v := range []string{got.ID, got.Sub, got.Dlvrd, got.SubmitDate, got.DoneDate, got.Stat, got.Err, got.Quoted} {
			if !strings.Contains(text, v) {
				t.Fatalf("%q is not in the text", v)
			}
		}
		if strings.ContainsAny(got.ID+got.Stat, blank) {
			t.Fatalf("a blank inside id %q or stat %q", got.ID, got.Stat)
		}
		// What follows the quotation's key has no influence on the fields.
		if got.HasQuoted {
			cut := ParseText(strings.Trim(text, blank)[:len(strings.Trim(text, blank))-len(got.Quoted)])
			cut.Quoted, cut.End = got.Quoted, got.End // the cut text begins elsewhere
			if cut != got {
				t.Fatalf("the quoted text changed the reading: %+v, %+v", got, cut)
			}
		}
		if got.End < 0 || got.End > len(text) || got.HasQuoted && !strings.HasPrefix(text[got.End:], got.Quoted) {
			t.Fatalf("the sender's part of %q begins at %d", text, got.End)
		}
		_, _ = got.Submitted()
		_, _ = got.Done()
	})
}
