package outbound

import (
	"strings"
	"unicode"
)

// name is a field that the client names something with.
type name struct {
	pointer string
	value   *string
}

// names are the fields that identify something, each of which may be a part of the intent's key.
func (s *Submission) names() []name {
	return []name{
		{"#/event/type", &s.Event.Type}, {"#/event/id", &s.Event.ID}, {"#/event/version", &s.Event.Version},
		{"#/template/id", &s.Template.ID}, {"#/template/version", &s.Template.Version},
		{"#/correlation_id", &s.CorrelationID},
	}
}

// trimNames drops white space around names: what looks the same is one intent, not two messages.
func (s *Submission) trimNames() {
	for _, n := range s.names() {
		*n.value = TrimName(*n.value)
	}
}

// TrimName is how an event's id, type and version, a template's, and a correlation id are stored: without white
// space of any script (Unicode, White_Space) at their ends.
func TrimName(s string) string { return strings.TrimSpace(s) }

// unseen reports whether a character has no shape of its own: marks of direction, joiners, zero-width spaces
// (Unicode category Cf), control characters (Cc) and breaks of lines (Zl, Zp). Two names that differ in one of
// them alone would be two messages, and nobody could see why. U+0000 is refused everywhere, in its own words.
func unseen(r rune) bool {
	return r != 0 && unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp)
}
