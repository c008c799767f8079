package exception

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Exceptions are grouped by the hour of UTC in which they were made, the first microsecond included.
func TestGroupHour(t *testing.T) {
	for at, want := range map[string]string{
		"2026-01-02T03:00:00Z":             "2026-01-02T03:00:00Z",
		"2026-01-02T03:00:00.000001Z":      "2026-01-02T03:00:00Z",
		"2026-01-02T03:59:59.999999Z":      "2026-01-02T03:00:00Z",
		"2026-01-02T04:00:00Z":             "2026-01-02T04:00:00Z",
		"2026-01-02T03:30:00.000000+05:30": "2026-01-01T22:00:00Z",
	} {
		moment := func(s string) clock.Micros {
			m, err := time.Parse(time.RFC3339Nano, s)
			if err != nil {
				t.Fatal(err)
			}
			return clock.FromTime(m)
		}
		x := Exception{At: moment(at)}
		if got := x.GroupHour(); got != moment(want) {
			t.Errorf("%s is in the hour of %s, want %s", at, got.Time(), want)
		}
	}
}

// The spellings are stored, and are the public names of the groups.
func TestSpellings(t *testing.T) {
	for k, want := range map[Kind]string{
		Unmatched: "unmatched", Ambiguous: "ambiguous", Conflicting: "conflicting", Unreadable: "unreadable", LostAnswer: "lost_answer",
	} {
		if string(k) != want {
			t.Errorf("%q is spelt %q", want, k)
		}
	}
}

// What somebody leaves out means any; what is named means nothing else.
func TestMeans(t *testing.T) {
	full := Part{ident.Message{1}, 2, 3}
	for named, want := range map[Part]bool{
		{}: true, {Message: ident.Message{1}}: true, {Attempt: 2}: true, {Part: 3}: true, full: true,
		{Message: ident.Message{2}}: false, {Message: ident.Message{1}, Attempt: 1}: false, {Message: ident.Message{1}, Attempt: 2, Part: 1}: false,
	} {
		if named.Means(full) != want {
			t.Errorf("%+v: %v", named, !want)
		}
	}
}

// A receipt that was matched, and an answer, name their part; what a lost answer may be paired with is guessed.
//
// covers: R6, I13
func TestOwn(t *testing.T) {
	m := ident.Message{1}
	for name, c := range map[string]struct {
		x    Exception
		want bool
	}{
		"conflicting":                {Exception{Kind: Conflicting, Message: m}, true},
		"a status without a meaning": {Exception{Kind: Unreadable, Message: m}, true},
		"an unknown format":          {Exception{Kind: Unreadable}, false},
		"no match":                   {Exception{Kind: Unmatched}, false},
		"several":                    {Exception{Kind: Ambiguous}, false},
		"a guess":                    {Exception{Kind: LostAnswer, Message: m, Candidates: []Part{{Message: m}}}, false},
	} {
		if _, known := c.x.Own(); known != c.want {
			t.Errorf("%s: %v", name, known)
		}
	}
}
