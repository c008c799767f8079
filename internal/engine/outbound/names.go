package outbound

import (
	"strings"

	"github.com/einmal/einmal/internal/domain/policy"
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

// unseen reports whether a character of a name cannot be seen. U+0000 is refused everywhere, in its own words.
func unseen(r rune) bool { return r != 0 && policy.Unseen(r) }
