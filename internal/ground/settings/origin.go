package settings

import (
	"fmt"
	"strings"
)

// Origin says where a value comes from.
type Origin struct {
	Kind string `json:"kind"`           // default, file, env or flag
	Name string `json:"name,omitempty"` // of the file, the variable or the flag
	Line int    `json:"line,omitempty"` // in the file
}

// Kinds of origins, in the order in which they go before each other.
const (
	FromDefault = "default"
	FromFile    = "file"
	FromEnv     = "env"
	FromFlag    = "flag"
)

// String is the origin as people read it.
func (o Origin) String() string {
	switch o.Kind {
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case FromEnv:
		return "env " + o.Name
	case FromFlag:
		return "flag --" + o.Name
	}
	return FromDefault
}

// Origins remembers where the members of a configuration come from.
type Origins struct {
	of map[string]Origin
}

// NewOrigins knows of defaults alone.
func NewOrigins() *Origins { return &Origins{map[string]Origin{}} }

// Of is a member's origin.
func (o *Origins) Of(m *Member) Origin {
	if got, ok := o.of[m.key()]; ok {
		return got
	}
	return Origin{Kind: FromDefault}
}

// File notes what a file has set.
func (o *Origins) File(name string, lines Lines, members []*Member) {
	for _, m := range members {
		if line, ok := lines.of(m); ok {
			o.of[m.key()] = Origin{FromFile, name, line}
		}
	}
}

// Note notes the origin of one member.
func (o *Origins) Note(m *Member, from Origin) { o.of[m.key()] = from }

// cutName cuts a member's name off a text, also where the text parts it into what it is in and its own name.
func cutName(text string, m *Member) (rest string, ok bool) {
	for i := len(m.Path) - 1; i > 0; i-- {
		if rest, ok := strings.CutPrefix(text, strings.Join(m.Path[:i], ".")+": "+strings.Join(m.Path[i:], ".")); ok {
			return rest, true
		}
	}
	return strings.CutPrefix(text, m.Name())
}

// Blame finds the member that an error is about, which begins with its name, and says where its value comes from.
func (o *Origins) Blame(err error, members []*Member) (Origin, bool) {
	var best *Member
	for _, m := range members {
		rest, ok := cutName(err.Error(), m)
		if ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, ".")) && (best == nil || len(m.Name()) > len(best.Name())) {
			best = m
		}
	}
	if best == nil || o.Of(best).Kind == FromDefault {
		return Origin{}, false
	}
	return o.Of(best), true
}
