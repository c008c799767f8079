// Package request judges what a caller asks for: whether each member of a request can be right, and which purpose the
// policy gives it. The gateway asks here, for a dry run too, and so do the tests of a policy file: what one of them
// refuses, the others refuse, with the same words.
//
// Everything here is pure. What is said of a member never repeats its value: it may be a number or a code.
package request

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
)

// Members are what a request says, as it was sent. "" and nil: it does not say.
type Members struct {
	To, Region, Purpose string
	Event               intent.Event
	Sender              string // "": the gateway's default one
	Template            intent.Template
	Text                string
	CorrelationID       string
	ValidFor            string // such as "90s" or "1h"
	Metadata            map[string]string
}

// Caller is who asks, and what came with the request: rules of the policy may look at it.
type Caller struct {
	KeyID, KeyName string
	Header         func(name string) string // by its canonical name; "": there is none
}

// Senders are those that a caller may send under.
type Senders struct {
	Default string   // of requests that name none; "": they must name one
	Allowed []string // as phone.Sender writes them; nil: any
}

// Gateway is how a gateway is set up, for a caller.
type Gateway struct {
	Senders Senders
	// RefuseUnassigned refuses destinations of ranges that their country has not given out, as far as this release
	// knows. Accepting them is the default: number plans grow faster than their descriptions.
	RefuseUnassigned bool
	// Limits says how long a text may be that is sent like this: that depends on where it is sent. Of what is wrong
	// with the request it is given nothing.
	Limits func(*Checked) Limits
}

// Limits are those of a text.
type Limits struct {
	MostParts int               // that it may have
	Bits      gsm.ReferenceBits // that each part of a long one has to spare
}

// Checked is a request whose members are right.
type Checked struct {
	Purpose  policy.Purpose
	Event    intent.Event // the request's own, or what a rule made of it
	MappedBy string       // the rule; "": none
	To       phone.Number
	Sender   string
	Text     gsm.Message
	ValidFor time.Duration
}

// Check looks at every member, so that a caller hears of all mistakes at once, by the pointers of the API. It drops the
// white space around names: what looks the same is one intent, not two messages.
func (m *Members) Check(by Caller, p *policy.Policy, g Gateway) (Checked, Wrong) {
	for _, n := range m.names() {
		*n.value = TrimName(*n.value)
	}
	c := &checker{m: m}
	c.destination(p.Region, g.RefuseUnassigned)
	c.sender(g.Senders)
	c.purpose(by, p)
	c.text(g.Limits(&c.Checked))
	c.names()
	c.validity()
	c.metadata()
	c.key()
	return c.Checked, c.wrong
}

// Wrong is what is wrong with a request.
type Wrong []fault.Field

// Add notes one mistake.
func (w *Wrong) Add(pointer, format string, args ...any) {
	*w = append(*w, fault.Field{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// Clean refuses what no column of a database takes.
func (w *Wrong) Clean(pointer, value string) bool {
	switch {
	case !utf8.ValidString(value):
		w.Add(pointer, "write it in UTF-8")
	case strings.ContainsRune(value, 0):
		w.Add(pointer, "leave out the character U+0000")
	default:
		return true
	}
	return false
}

// Short refuses what is longer than so many characters.
func (w *Wrong) Short(pointer, value string, most int) {
	if w.Clean(pointer, value) && utf8.RuneCountInString(value) > most {
		w.Add(pointer, "at most %d characters", most)
	}
}

// name is a member that the caller names something with.
type name struct {
	pointer string
	value   *string
}

// names are the members that identify something, each of which may be a part of the intent's key.
func (m *Members) names() []name {
	return []name{
		{"#/event/type", &m.Event.Type}, {"#/event/id", &m.Event.ID}, {"#/event/version", &m.Event.Version},
		{"#/template/id", &m.Template.ID}, {"#/template/version", &m.Template.Version},
		{"#/correlation_id", &m.CorrelationID},
	}
}

// TrimName is how an event's id, type and version, a template's, and a correlation id are stored: without white
// space of any script (Unicode, White_Space) at their ends.
func TrimName(s string) string { return strings.TrimSpace(s) }

// unseen reports whether a character of a name cannot be seen. U+0000 is refused everywhere, in its own words.
func unseen(r rune) bool { return r != 0 && policy.Unseen(r) }

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// WholeNumber reports whether a number is one that may stand for a version, whose text is then its digits (RFC 8259,
// section 6). All other members are texts.
func WholeNumber(digits string) bool { return wholeNumber.MatchString(digits) }
