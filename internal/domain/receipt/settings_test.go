package receipt

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may have none
)

// A word of one operator means what its connection declares, and nothing on any other.
//
// covers: R6, R7, C18
func TestStatusesOfAConnection(t *testing.T) {
	declared := &Settings{States: map[string]State{"FAILED": Undelivered, "DND_REJECTED": Undelivered, "DELIVRD": Accepted}}
	for _, c := range []struct {
		s     *Settings
		stat  string
		state State
		final bool
	}{
		{&Settings{}, "FAILED", "", false},
		{declared, "FAILED", Undelivered, true},
		{declared, " failed\x00", Undelivered, true},
		{declared, "DND_REJECTED", Undelivered, true},
		{declared, "DELIVRD", Accepted, false}, // where it means no more than the next hop
		{&Settings{}, "DELIVRD", Delivered, true},
		{declared, "UNDELIV", Undelivered, true},
		{declared, "ACKED", "", false},
	} {
		state, final, known := c.s.StateOf(c.stat)
		if state != c.state || final != c.final || known != (c.state != "") {
			t.Errorf("%q is %q, final %v, known %v", c.stat, state, final, known)
		}
	}
}

// A date is a point in time only where the zone is declared, the date exists, and the clock has shown it once.
//
// covers: R8
func TestDatesInTheDeclaredZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		zone       *time.Location
		date, want string
	}{
		{nil, "2610031744", ""},
		{time.UTC, "2610031744", "2026-10-03T17:44:00Z"},
		{berlin, "2610031744", "2026-10-03T15:44:00Z"},
		{berlin, "20261203174455", "2026-12-03T16:44:55Z"},
		{berlin, "2603290230", ""}, // the clock jumped from two to three
		{berlin, "2610250230", ""}, // it showed half past two twice
		{berlin, "2610250130", "2026-10-24T23:30:00Z"},
		{berlin, "2610250330", "2026-10-25T02:30:00Z"},
		{time.UTC, "0000000000", ""},
		{time.UTC, "9913012561", ""},
		{time.UTC, "", ""},
		{time.UTC, "261003174", ""},
	} {
		s := &Settings{Zone: c.zone}
		at, ok := s.At(c.date)
		if got := at.Format(time.RFC3339); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s in %v is %s, %v; want %q", c.date, c.zone, got, ok, c.want)
		}
	}
}

// A reading says what made it: other settings are another version, and none are the parser's own.
//
// covers: R9
func TestVersionNamesTheSettings(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []*Settings{
		{}, {States: map[string]State{"FAILED": Undelivered}}, {States: map[string]State{"FAILED": Expired}},
		{Errors: map[string]string{"069": "absent"}}, {Zone: time.UTC}, {Unmarked: true},
	} {
		version := s.Version()
		if again := s.Version(); seen[version] || again != version {
			t.Errorf("%+v has a version of another or none of its own: %s, %s", s, version, again)
		}
		seen[version] = true
	}
	if (&Settings{}).Version() != Parser {
		t.Error("without settings it is the parser alone")
	}
}

func TestParseState(t *testing.T) {
	for _, s := range States {
		if got, ok := ParseState(string(s)); !ok || got != s {
			t.Errorf("%s was read as %q", s, got)
		}
	}
	for _, name := range []string{"", "failed", "DELIVERED"} {
		if _, ok := ParseState(name); ok {
			t.Errorf("%q is no state", name)
		}
	}
}
