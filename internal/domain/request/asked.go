package request

import (
	"strings"

	"github.com/einmal/einmal/internal/domain/policy"
)

// Asked is the request as rules see it. sender is the one that it goes out with.
func (m *Members) Asked(by Caller, sender string) *policy.Asked {
	return &policy.Asked{KeyID: by.KeyID, KeyName: by.KeyName, Sender: sender, Text: m.Text, Header: by.Header, Member: m.member}
}

// member is a member by the name that rules have for it.
func (m *Members) member(name string) string {
	switch name {
	case "event.type":
		return m.Event.Type
	case "event.id":
		return m.Event.ID
	case "event.version":
		return m.Event.Version
	case "template.id":
		return m.Template.ID
	case "template.version":
		return m.Template.Version
	case "correlation_id":
		return m.CorrelationID
	case "region":
		return m.Region
	}
	if key, ok := strings.CutPrefix(name, "metadata."); ok {
		return m.Metadata[key]
	}
	return ""
}
