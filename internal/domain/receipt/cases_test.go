package receipt

import (
	"encoding/json"
	"strings"
	"testing"
)

// input returns the input of a case of testdata/cases.jsonl.
func input[T any](t *testing.T, id string) T {
	t.Helper()
	type line struct {
		ID    string
		Input json.RawMessage
	}
	var v T
	for _, l := range lines[line](t, "testdata/cases.jsonl") {
		if l.ID != id {
			continue
		}
		if err := json.Unmarshal(l.Input, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	t.Fatalf("no case %s", id)
	return v
}

// An id above 2^63 is kept digit by digit.
//
// covers: R4
func TestC13LargeDecimalID(t *testing.T) {
	in := input[map[string]any](t, "C13")
	if got := ParseText(in["deliver_sm.text"].(string)).ID; got != "9308878062554710043" {
		t.Errorf("id is %q", got)
	}
	control := strings.TrimPrefix(in["negative_control"].(string), "id:")
	if got := ParseText(in["negative_control"].(string)).ID; got != strings.Fields(control)[0] {
		t.Errorf("id of the control is %q", got)
	}
}

// Zeros, dashes and letter case of ids stay.
//
// covers: R4
func TestC15IDsAreOpaque(t *testing.T) {
	in := input[struct{ Stored, Receipts []string }](t, "C15")
	seen := map[string]bool{}
	for _, id := range in.Receipts {
		got := ParseText("id:" + id + " stat:DELIVRD").ID
		if got != id {
			t.Errorf("id %q became %q", id, got)
		}
		seen[got] = true
	}
	if len(seen) != len(in.Receipts) {
		t.Errorf("%d ids became %d", len(in.Receipts), len(seen))
	}
}

// covers: R6, R8
func TestC18UnknownStatAndZeroDate(t *testing.T) {
	in := input[struct {
		Text string
		More []string `json:"more_stats"`
	}](t, "C18")
	got := ParseText(in.Text)
	if got.ID != "1216080510463401720" || got.Stat != "FAILED" || got.Problem != "" {
		t.Errorf("read %+v", got)
	}
	if _, ok := got.Done(); ok {
		t.Error("a date of zeros was read")
	}
	if _, _, ok := StateOfSMPP(got.Stat); ok {
		t.Error("FAILED has no meaning that is common to all operators")
	}
	want := []struct {
		stat  string
		state State
	}{{"ACKED", ""}, {"delivrd", Delivered}, {"DELIVERED", Delivered}, {"UNDELIVERABLE", Undelivered}, {"", ""}}
	for i, field := range in.More {
		got := ParseText("id:1 " + field)
		state, _, _ := StateOfSMPP(got.Stat)
		if got.Stat != want[i].stat || state != want[i].state {
			t.Errorf("%q: stat %q, state %q", field, got.Stat, state)
		}
		if (got.Problem == problemNoStat) != (want[i].stat == "") {
			t.Errorf("%q: problem %q", field, got.Problem)
		}
	}
}

// covers: C19, R6, R8
func TestC19OddFields(t *testing.T) {
	in := input[struct{ Texts []string }](t, "C19")
	want := []struct {
		id, sub, err string
		state        State
	}{
		{"1526758174", "", "000", Delivered},
		{"0654354026", "", "000", Delivered},
		{"7", "1", "21b", Undelivered},
		{"8", "001", "0032", Undelivered},
		{"0118Z-0122I-2309U-57DGB", "000", "4375", Undelivered},
		{"9", "001", "002", Delivered},
	}
	for i, text := range in.Texts {
		got := ParseText(text)
		state, final, ok := StateOfSMPP(got.Stat)
		if got.ID != want[i].id || got.Sub != want[i].sub || got.Err != want[i].err || state != want[i].state || !final || !ok {
			t.Errorf("%d: read %+v, state %q", i, got, state)
		}
	}
	joined := ParseText(in.Texts[4])
	if s := shown(joined.Submitted()); s != "2018-01-22T23:09:57" {
		t.Errorf("submitdate read as %q", s)
	}
	if _, ok := joined.Done(); ok || joined.DoneDate != "000000000000" {
		t.Errorf("done date %q, readable %v", joined.DoneDate, ok)
	}
	if q := ParseText(in.Texts[3]).Quoted; q != "H\x1bello" {
		t.Errorf("quoted %q", q)
	}
}
