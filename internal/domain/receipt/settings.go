package receipt

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"
)

// Settings are what one connection declares of its receipts' words (R7). The zero value declares nothing: statuses
// have the meanings that are common to all, error codes have none, and dates stay as received.
type Settings struct {
	// States are meanings of statuses, which come before the common table; by ParseStatus.
	States map[string]State
	// Errors are the carrier's own words for its error codes, as received.
	Errors map[string]string
	// Zone is where the clock stands that dates are written by. Nil: nobody says, and none is invented.
	Zone *time.Location
	// Unmarked: receipts come as ordinary messages, without the class of one, and are told by their text alone. What
	// a handset sends may then pass for a receipt.
	Unmarked bool
}

// ParseStatus is the form in which statuses are compared: without regard to case and to blanks around them.
func ParseStatus(raw string) string { return strings.ToUpper(strings.Trim(raw, blank)) }

// ParseState reads a state's spelling.
func ParseState(name string) (State, bool) {
	i := slices.Index(States, State(name))
	return State(name), i >= 0
}

// States are all of them.
var States = []State{EnRoute, Accepted, Delivered, Undelivered, Expired, Unknown}

// StateOf reads the status of a receipt's text: by what the connection declares, else by the common table.
func (s *Settings) StateOf(status string) (state State, final, known bool) {
	if state, known = s.States[ParseStatus(status)]; known {
		return state, state.Final(), true
	}
	return StateOfSMPP(status)
}

// At reads a date by the connection's clock. False: no zone is declared, there is no such date, or the clock has
// shown it twice, at the end of a summer, and nobody knows which of the two is meant.
func (s *Settings) At(date string) (time.Time, bool) {
	shown, ok := readDate(date)
	if !ok || s.Zone == nil {
		return time.Time{}, false
	}
	at := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(), 0, s.Zone)
	if !sameClock(at, shown) {
		return time.Time{}, false // a night in which the clock was put forward
	}
	for _, shift := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} { // by which clocks are put back
		if sameClock(at.Add(shift), shown) || sameClock(at.Add(-shift), shown) {
			return time.Time{}, false
		}
	}
	return at.UTC(), true
}

// sameClock reports whether a clock in at's zone shows the date.
func sameClock(at, shown time.Time) bool {
	return at.Format(time.DateTime) == shown.Format(time.DateTime)
}

// Version names the parser with these settings: the same text may be read otherwise under others.
func (s *Settings) Version() string {
	declared := s.canonical()
	if declared == "" {
		return Parser
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(declared)) // it never fails
	return fmt.Sprintf("%s+%08x", Parser, h.Sum32())
}

func (s *Settings) canonical() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s.States)) {
		fmt.Fprintf(&b, "state %q %s\n", k, s.States[k])
	}
	for _, k := range slices.Sorted(maps.Keys(s.Errors)) {
		fmt.Fprintf(&b, "error %q %q\n", k, s.Errors[k])
	}
	if s.Zone != nil {
		fmt.Fprintf(&b, "zone %s\n", s.Zone)
	}
	if s.Unmarked {
		b.WriteString("unmarked\n")
	}
	return b.String()
}
