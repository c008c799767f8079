package outbound

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/fault"
)

// checked is a request whose fields are right.
type checked struct {
	purpose  policy.Purpose
	event    intent.Event // the request's own, or what a rule made of it
	mappedBy string       // the rule; "": none
	to       phone.Number
	sender   string
	text     cut
	validFor time.Duration
	metadata []byte // JSON; nil: none
}

// check looks at every field, so that a client hears of all its mistakes at once. What it says about a field
// never repeats the field's value.
func (s *Service) check(sub *Submission, p *policy.Policy) (*checked, error) {
	c := &checker{sub: sub}
	c.destination(p.Region, s.cfg.RefuseUnassigned)
	c.sender(s.cfg.Sender)
	c.purpose(p)
	c.body(s.cfg.Connection.Long)
	c.names()
	c.validity()
	c.metadata()
	c.key()
	if len(c.fields) == 0 {
		return &c.checked, nil
	}
	f := fault.New(fault.Invalid, "%d of the request's fields must be changed; nothing was reserved or sent", len(c.fields))
	f.Fields = c.fields
	return nil, f
}

type checker struct {
	checked
	sub    *Submission
	fields []fault.Field
}

func (c *checker) wrong(pointer, format string, args ...any) {
	c.fields = append(c.fields, fault.Field{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

func (c *checker) destination(region string, refuseUnassigned bool) {
	pointer := "#/to"
	if c.sub.Region != "" {
		region = c.sub.Region
	}
	var err error
	if c.to, err = phone.Parse(c.sub.To, region); err == nil {
		if refuseUnassigned && !c.to.Assigned() {
			c.wrong(pointer, "%s", phone.ErrUnassigned)
		}
		return
	}
	if errors.Is(err, phone.ErrRegion) {
		pointer = "#/region"
	}
	c.wrong(pointer, "%s", err)
}

func (c *checker) sender(byDefault string) {
	switch {
	case c.sub.Sender != "":
		s, err := phone.ParseSender(c.sub.Sender)
		if err != nil {
			c.wrong("#/sender", "%s", err)
		}
		c.checked.sender = s.String()
	case byDefault != "":
		c.checked.sender = byDefault
	default:
		c.wrong("#/sender", "name a sender: this gateway has no default one")
	}
}

func (c *checker) body(limits Long) {
	switch {
	case c.sub.Text == "":
		c.wrong("#/text", "write the text of the message")
		return
	case !c.clean("#/text", c.sub.Text):
		return
	}
	text, err := limits.cut(c.sub.Text)
	if err != nil {
		c.wrong("#/text", "write text that can be sent by SMS")
		return
	}
	if most := limits.most(); text.needs > most {
		c.wrong("#/text", "it needs %d parts, and at most %d may be sent: %d characters of the GSM alphabet, or %d if any other is among them",
			text.needs, most, limits.room(most, gsm.CodingDefault), limits.room(most, gsm.CodingUCS2))
	}
	c.text = text
}

// clean refuses what no column of a database takes.
func (c *checker) clean(pointer, value string) bool {
	switch {
	case !utf8.ValidString(value):
		c.wrong(pointer, "write it in UTF-8")
	case strings.ContainsRune(value, 0):
		c.wrong(pointer, "leave out the character U+0000")
	default:
		return true
	}
	return false
}

func (c *checker) short(pointer, value string, most int) {
	if c.clean(pointer, value) && utf8.RuneCountInString(value) > most {
		c.wrong(pointer, "at most %d characters", most)
	}
}

func (c *checker) names() {
	for _, n := range c.sub.names() {
		c.short(n.pointer, *n.value, MaxName)
		if strings.ContainsFunc(*n.value, unseen) {
			c.wrong(n.pointer, "leave out invisible characters, such as marks of direction, zero-width spaces and line breaks")
		}
	}
}

func (c *checker) validity() {
	most, byDefault := MaxValidFor, DefaultValidFor
	if c.checked.purpose.Kind == policy.KindAuthentication {
		most, byDefault = AuthenticationLife, AuthenticationLife
	}
	c.validFor = byDefault
	if c.sub.ValidFor == "" {
		return
	}
	d, err := time.ParseDuration(c.sub.ValidFor)
	if err != nil || d < MinValidFor || d > most {
		c.wrong("#/valid_for", "write a duration from 1s to %s, such as 90s", words(most))
	}
	c.validFor = d
}

// words writes a duration in its largest whole unit.
func words(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

// metadata reports under one pointer: a key is a value of the request, too.
func (c *checker) metadata() {
	const pointer = "#/metadata"
	if len(c.sub.Metadata) == 0 {
		return
	}
	if len(c.sub.Metadata) > MaxMetadata {
		c.wrong(pointer, "at most %d keys", MaxMetadata)
	}
	wrong := len(c.fields)
	for k, v := range c.sub.Metadata {
		if k == "" || utf8.RuneCountInString(k) > MaxMetadataKey || utf8.RuneCountInString(v) > MaxMetadataValue {
			c.wrong(pointer, "keys have 1 to %d characters, values at most %d", MaxMetadataKey, MaxMetadataValue)
		} else if c.clean(pointer, k) {
			c.clean(pointer, v)
		}
		if len(c.fields) > wrong {
			return // once is enough
		}
	}
	c.checked.metadata, _ = json.Marshal(c.sub.Metadata) // a map of strings: it cannot fail
}

// key asks for the fields that the purpose's key is made of.
func (c *checker) key() {
	r := &intent.Request{
		Event: c.event, Sender: c.checked.sender, Template: c.sub.Template, CorrelationID: c.sub.CorrelationID,
	}
	for _, part := range intent.Missing(c.checked.purpose, r) {
		if part == policy.KeySender {
			continue // said already
		}
		c.wrong("#/"+strings.ReplaceAll(string(part), ".", "/"),
			"the purpose %s needs it: it is part of what tells one message from another", c.checked.purpose.Name)
	}
}
