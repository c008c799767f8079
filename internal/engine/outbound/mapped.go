package outbound

import (
	"maps"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
)

// purpose looks up what the message is for. A request that does not say is mapped by the policy's rules; one that
// none of them is for is served all the same, unless the policy refuses that (D18).
func (c *checker) purpose(p *policy.Policy) {
	c.event = c.sub.Event
	if c.sub.Purpose != "" {
		var err error
		if c.checked.purpose, err = p.Purpose(c.sub.Purpose); err != nil {
			c.wrong("#/purpose", "%s", err)
		}
		return
	}
	if m, ok := p.Map(c.sub.asked(c.checked.sender)); ok {
		c.checked.purpose, c.event, c.mappedBy = m.Purpose, intent.Event(m.Event), m.Rule
		return
	}
	served := false
	if c.checked.purpose, served = p.Unnamed(); !served {
		c.wrong("#/purpose", "name what the message is for: %s", strings.Join(slices.Sorted(maps.Keys(p.Purposes)), ", "))
	}
}

// asked is the request as rules see it. sender is the one that it goes out with.
func (s *Submission) asked(sender string) *policy.Asked {
	return &policy.Asked{KeyID: s.Caller, KeyName: s.CallerName, Sender: sender, Text: s.Text, Header: s.header, Member: s.member}
}

func (s *Submission) header(name string) string {
	if values := s.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// member is a member of the request by the name that rules have for it.
func (s *Submission) member(name string) string {
	switch name {
	case "event.type":
		return s.Event.Type
	case "event.id":
		return s.Event.ID
	case "event.version":
		return s.Event.Version
	case "template.id":
		return s.Template.ID
	case "template.version":
		return s.Template.Version
	case "correlation_id":
		return s.CorrelationID
	case "region":
		return s.Region
	}
	if key, ok := strings.CutPrefix(name, "metadata."); ok {
		return s.Metadata[key]
	}
	return ""
}
