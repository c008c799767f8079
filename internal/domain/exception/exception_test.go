package exception

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
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
