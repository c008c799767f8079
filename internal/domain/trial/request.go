package trial

import (
	"cmp"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/request"
)

// Wrong is one thing for which the gateway would refuse a request, and where in the file it stands.
type Wrong struct {
	Line, Column int
	Member       string // such as "event.id"
	Detail       string // what would be right
}

// request is a request of a test, ready to be decided, or what is wrong with it.
func (w *world) request(s *policy.Send) (*intent.Request, []Wrong) {
	m, by := members(s), request.Caller{KeyID: s.APIKey, KeyName: s.APIKey, Header: func(name string) string { return s.Header[name] }}
	c, refused := m.Check(by, w.policy, gateway)
	if wrong := append(otherForms(s), places(s, refused)...); len(wrong) > 0 {
		return nil, inOrder(wrong)
	}
	n := len(w.sent)
	r := &intent.Request{
		Decision: id(n), Message: id(n), Tenant: tenant, PolicyID: w.policy.ID(), Purpose: c.Purpose, MappedBy: c.MappedBy,
		To: c.To, Event: c.Event, Sender: c.Sender, Template: m.Template, CorrelationID: m.CorrelationID, ValidFor: c.ValidFor,
	}
	r.MakeKeys(m.Text, key)
	return r, nil
}

func members(s *policy.Send) *request.Members {
	return &request.Members{
		To: cmp.Or(s.To, defaultTo), Region: s.Region, Purpose: s.Purpose, Event: intent.Event(s.Event), Sender: s.Sender,
		Template: intent.Template{ID: s.TemplateID, Version: s.TemplateVersion}, Text: cmp.Or(s.Text, defaultText),
		CorrelationID: s.CorrelationID, ValidFor: s.ValidFor, Metadata: s.Metadata,
	}
}

// otherForms are the members that are no texts. The API takes a whole number for a version, and for nothing else.
func otherForms(s *policy.Send) (wrong []Wrong) {
	for pointer, m := range s.Written {
		version := strings.HasSuffix(pointer, "/version") && !strings.HasPrefix(pointer, "#/metadata/")
		switch {
		case m.Form == policy.FormText, version && m.Form == policy.FormNumber && request.WholeNumber(m.Text):
		case version:
			wrong = append(wrong, Wrong{m.Line, m.Column, member(pointer), "the API takes a string or a whole number: put it in quotes"})
		case m.Form == policy.FormBool:
			wrong = append(wrong, Wrong{m.Line, m.Column, member(pointer), "the API takes a string, not a boolean: put it in quotes"})
		default:
			wrong = append(wrong, Wrong{m.Line, m.Column, member(pointer), "the API takes a string, not a number: put it in quotes"})
		}
	}
	return wrong
}

// places finds what the gateway says in the file: at the member, else at what it would belong to.
func places(s *policy.Send, refused request.Wrong) (wrong []Wrong) {
	for _, f := range refused {
		at, there := s.Written[f.Pointer]
		for up := f.Pointer; !there && up != "#"; at, there = s.Written[up] {
			up = up[:strings.LastIndexByte(up, '/')]
		}
		wrong = append(wrong, Wrong{at.Line, at.Column, member(f.Pointer), f.Detail})
	}
	return wrong
}

func member(pointer string) string {
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "#/"), "/", ".")
}

func inOrder(wrong []Wrong) []Wrong {
	slices.SortStableFunc(wrong, func(a, b Wrong) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Member, b.Member))
	})
	return wrong
}
