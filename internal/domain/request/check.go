package request

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
)

type checker struct {
	Checked
	m     *Members
	wrong Wrong
}

func (c *checker) destination(region string, refuseUnassigned bool) {
	pointer := "#/to"
	if c.m.Region != "" {
		region = c.m.Region
	}
	var err error
	if c.To, err = phone.Parse(c.m.To, region); err == nil {
		if refuseUnassigned && !c.To.Assigned() {
			c.wrong.Add(pointer, "%s", phone.ErrUnassigned)
		}
		return
	}
	if errors.Is(err, phone.ErrRegion) {
		pointer = "#/region"
	}
	c.wrong.Add(pointer, "%s", err)
}

func (c *checker) sender(may Senders) {
	switch {
	case c.m.Sender != "":
		s, err := phone.ParseSender(c.m.Sender)
		if err != nil {
			c.wrong.Add("#/sender", "%s", err)
		} else if may.Allowed != nil && !slices.Contains(may.Allowed, s.String()) {
			c.wrong.Add("#/sender", "%s", may.words())
		}
		c.Sender = s.String()
	case may.Default != "":
		c.Sender = may.Default
	case may.Allowed != nil:
		c.wrong.Add("#/sender", "%s", may.words())
	default:
		c.wrong.Add("#/sender", "name a sender: this gateway has no default one")
	}
}

// words say what a caller may send under. Senders are public.
func (s Senders) words() string {
	if len(s.Allowed) == 0 {
		return "no sender is registered for this tenant, and this gateway has no default one: its operator registers one"
	}
	return "write a sender that is registered for this tenant: " + strings.Join(s.Allowed, ", ")
}

// purpose looks up what the message is for. A request that does not say is mapped by the policy's rules; one that
// none of them is for is served all the same, unless the policy refuses that (D18).
func (c *checker) purpose(by Caller, p *policy.Policy) {
	c.Event = c.m.Event
	if c.m.Purpose != "" {
		var err error
		if c.Purpose, err = p.Purpose(c.m.Purpose); err != nil {
			c.wrong.Add("#/purpose", "%s", err)
		}
		return
	}
	if m, ok := p.Map(c.m.Asked(by, c.Sender)); ok {
		c.Purpose, c.Event, c.MappedBy = m.Purpose, intent.Event(m.Event), m.Rule
		return
	}
	served := false
	if c.Purpose, served = p.Unnamed(); !served {
		c.wrong.Add("#/purpose", "name what the message is for: %s", strings.Join(slices.Sorted(maps.Keys(p.Purposes)), ", "))
	}
}

func (c *checker) text(l Limits) {
	switch {
	case c.m.Text == "":
		c.wrong.Add("#/text", "write the text of the message")
		return
	case !c.wrong.Clean("#/text", c.m.Text):
		return
	}
	var err error
	if c.Text, err = gsm.Split(c.m.Text, l.Bits); err != nil {
		c.wrong.Add("#/text", "write text that can be sent by SMS")
		return
	}
	if needs := len(c.Text.Parts); needs > l.MostParts {
		c.wrong.Add("#/text", "it needs %d parts, and at most %d may be sent: %d characters of the GSM alphabet, or %d if any other is among them",
			needs, l.MostParts, l.room(gsm.CodingDefault), l.room(gsm.CodingUCS2))
	}
}

// room is how many characters of one unit a text has room for.
func (l Limits) room(coding uint8) int {
	bits, width := l.Bits, 1
	if l.MostParts == 1 {
		bits = 0
	}
	if coding == gsm.CodingUCS2 {
		width = 2
	}
	return l.MostParts * gsm.Capacity(coding, bits) / width
}

func (c *checker) names() {
	for _, n := range c.m.names() {
		c.wrong.Short(n.pointer, *n.value, MaxName)
		if strings.ContainsFunc(*n.value, unseen) {
			c.wrong.Add(n.pointer, "leave out invisible characters, such as marks of direction, zero-width spaces and line breaks")
		}
	}
}

func (c *checker) validity() {
	most, byDefault := MaxValidFor, DefaultValidFor
	if c.Purpose.Kind == policy.KindAuthentication {
		most, byDefault = AuthenticationLife, AuthenticationLife
	}
	c.ValidFor = byDefault
	if c.m.ValidFor == "" {
		return
	}
	d, err := time.ParseDuration(c.m.ValidFor)
	if err != nil || d < MinValidFor || d > most {
		c.wrong.Add("#/valid_for", "write a duration from 1s to %s, such as 90s", words(most))
	}
	c.ValidFor = d
}

// metadata reports under one pointer: a key is a value of the request, too.
func (c *checker) metadata() {
	const pointer = "#/metadata"
	if len(c.m.Metadata) > MaxMetadata {
		c.wrong.Add(pointer, "at most %d keys", MaxMetadata)
	}
	before := len(c.wrong)
	for k, v := range c.m.Metadata {
		if k == "" || utf8.RuneCountInString(k) > MaxMetadataKey || utf8.RuneCountInString(v) > MaxMetadataValue {
			c.wrong.Add(pointer, "keys have 1 to %d characters, values at most %d", MaxMetadataKey, MaxMetadataValue)
		} else if c.wrong.Clean(pointer, k) {
			c.wrong.Clean(pointer, v)
		}
		if len(c.wrong) > before {
			return // once is enough
		}
	}
}

// key asks for the members that the purpose's key is made of.
func (c *checker) key() {
	r := &intent.Request{Event: c.Event, Sender: c.Sender, Template: c.m.Template, CorrelationID: c.m.CorrelationID}
	for _, part := range intent.Missing(c.Purpose, r) {
		if part == policy.KeySender {
			continue // said already
		}
		c.wrong.Add("#/"+strings.ReplaceAll(string(part), ".", "/"),
			"the purpose %s needs it: it is part of what tells one message from another", c.Purpose.Name)
	}
}
