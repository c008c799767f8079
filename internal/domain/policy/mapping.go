package policy

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rule gives a purpose and an event to requests that name no purpose (D18). It is part of the policy and not of a
// node's configuration: it decides which intent a request stands for, and so it has a version, is the same on all
// nodes at any moment, has tests, and is named in the decision.
type Rule struct {
	Name string
	// When are the conditions, all of which must hold; none: every request.
	When []Condition
	// Purpose is the name of one of the policy's purposes.
	Purpose string
	// Event replaces what the request says of its event; a Value that is zero leaves it.
	Event struct{ Type, ID, Version Value }
}

// Place is where a request has a value: its API key, sender or text, a header or a member of its body.
type Place struct {
	Kind PlaceKind
	Name string // of a header, in its canonical spelling, or of a member
}

// PlaceKind is a kind of places, as files spell it.
type PlaceKind string

// The kinds of places.
const (
	PlaceAPIKey PlaceKind = "api_key"
	PlaceSender PlaceKind = "sender"
	PlaceHeader PlaceKind = "header"
	PlaceMember PlaceKind = "member"
	PlaceText   PlaceKind = "text"
)

// Condition is what a value has to be: one of several words, or what a pattern matches.
type Condition struct {
	Place   Place
	Is      []string
	Matches *regexp.Regexp
}

// Value is what a rule gives: a text, the value of a place, or what a pattern captured.
type Value struct {
	Text    string
	From    Place
	Capture string
}

// IsZero reports whether nothing is given.
func (v Value) IsZero() bool { return v == Value{} }

// Asked is a request that names no purpose, as far as rules look at it. Values are as they are compared: names
// without white space at their ends.
type Asked struct {
	KeyID, KeyName string
	Sender, Text   string
	Header         func(name string) string // by its canonical spelling; "": there is none
	Member         func(name string) string
}

// Event is the business event of a request.
type Event struct{ Type, ID, Version string }

// Mapped is what a rule makes of a request.
type Mapped struct {
	Rule    string
	Purpose Purpose
	Event   Event
}

// MaxName is the longest value that a request or a rule gives an event, in characters.
const MaxName = 128

// maxMatched is how much of a value a pattern looks at, in octets: a longer one matches none. The time that a pattern
// takes grows with the value's length, and never more than that (RE2).
const maxMatched = 4096

// Map finds the first rule that applies. One applies if its conditions hold, everything that it gives is there, and
// the key of its purpose is complete: a caller who cannot name an intent must not be refused for what it lacks.
func (p *Policy) Map(a *Asked) (Mapped, bool) {
	for i := range p.Mapping {
		if m, ok := p.Mapping[i].apply(a, p.Purposes); ok {
			return m, true
		}
	}
	return Mapped{}, false
}

func (r *Rule) apply(a *Asked, purposes map[string]Purpose) (Mapped, bool) {
	captured := map[string]string{}
	for i := range r.When {
		if !r.When[i].holds(a, captured) {
			return Mapped{}, false
		}
	}
	m := Mapped{Rule: r.Name, Purpose: purposes[r.Purpose], Event: Event{a.member("event.type"), a.member("event.id"), a.member("event.version")}}
	for _, give := range []struct {
		value Value
		to    *string
	}{{r.Event.Type, &m.Event.Type}, {r.Event.ID, &m.Event.ID}, {r.Event.Version, &m.Event.Version}} {
		if give.value.IsZero() {
			continue
		}
		if *give.to = give.value.of(a, captured); !usable(*give.to) {
			return Mapped{}, false
		}
	}
	return m, m.complete(a)
}

// holds looks at one condition and keeps what its pattern captures.
func (c *Condition) holds(a *Asked, captured map[string]string) bool {
	if c.Place.Kind == PlaceAPIKey { // by its name or its public id
		return c.fits(a.KeyName, captured) || c.fits(a.KeyID, captured)
	}
	return c.fits(a.value(c.Place), captured)
}

func (c *Condition) fits(value string, captured map[string]string) bool {
	if c.Matches == nil {
		return value != "" && slices.Contains(c.Is, value)
	}
	if value == "" || len(value) > maxMatched {
		return false
	}
	found := c.Matches.FindStringSubmatch(value)
	for i, name := range c.Matches.SubexpNames() {
		if found != nil && name != "" {
			captured[name] = strings.TrimSpace(found[i])
		}
	}
	return found != nil
}

func (a *Asked) value(p Place) string {
	switch p.Kind {
	case PlaceSender:
		return a.Sender
	case PlaceText:
		return a.Text
	case PlaceHeader:
		return strings.TrimSpace(a.Header(p.Name))
	case PlaceMember:
		return a.member(p.Name)
	}
	return ""
}

func (a *Asked) member(name string) string { return strings.TrimSpace(a.Member(name)) }

func (v Value) of(a *Asked, captured map[string]string) string {
	switch {
	case v.Capture != "":
		return captured[v.Capture]
	case v.From.Kind != "":
		return a.value(v.From)
	}
	return v.Text
}

// complete reports whether the request has all that the purpose's key is made of.
func (m *Mapped) complete(a *Asked) bool {
	for _, part := range m.Purpose.Key {
		if m.part(part, a) == "" {
			return false
		}
	}
	return true
}

func (m *Mapped) part(part KeyPart, a *Asked) string {
	switch part {
	case KeyEventType:
		return m.Event.Type
	case KeyEventID:
		return m.Event.ID
	case KeyEventVersion:
		return m.Event.Version
	case KeySender:
		return a.Sender
	}
	return a.member(string(part)) // of the template, and the correlation id
}

// usable reports whether a value can be a name: it is there, it is not too long, and all of it can be seen.
func usable(value string) bool {
	return value != "" && utf8.ValidString(value) && utf8.RuneCountInString(value) <= MaxName && !strings.ContainsFunc(value, Unseen)
}

// Unseen reports whether a character has no shape of its own: marks of direction, joiners, zero-width spaces
// (Unicode category Cf), control characters (Cc) and breaks of lines (Zl, Zp). Two names that differ in one of them
// alone would be two messages, and nobody could see why.
func Unseen(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp) }
