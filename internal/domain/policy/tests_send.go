package policy

import (
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// sendFields are the members of a request of a test: those of POST /v1/messages, and what comes with one.
func (r *reader) sendFields(s *Send, p *Policy) []field {
	member := func(name, pointer string, to *string) field {
		return field{name, "", func(n ast.Node) { *to = r.member(n, s, pointer) }}
	}
	object := func(name, example string, members []field) field {
		return field{name, "", func(n ast.Node) {
			s.wrote(n, "#/"+name)
			r.fields(n, n, example, members)
		}}
	}
	return []field{
		member("to", "#/to", &s.To), member("region", "#/region", &s.Region), member("sender", "#/sender", &s.Sender),
		member("text", "#/text", &s.Text), member("correlation_id", "#/correlation_id", &s.CorrelationID), member("valid_for", "#/valid_for", &s.ValidFor),
		{"purpose", "", func(n ast.Node) {
			s.Purpose = r.member(n, s, "#/purpose")
			r.later = append(r.later, func() { r.known(n, s.Purpose, p) })
		}},
		object("event", "{id: A-1}", []field{
			member("type", "#/event/type", &s.Event.Type), member("id", "#/event/id", &s.Event.ID), member("version", "#/event/version", &s.Event.Version),
		}),
		object("template", "{id: welcome}", []field{
			member("id", "#/template/id", &s.TemplateID), member("version", "#/template/version", &s.TemplateVersion),
		}),
		{"metadata", "", func(n ast.Node) {
			s.wrote(n, "#/metadata")
			s.Metadata = map[string]string{}
			for _, e := range r.entries(n, "{name: value}") {
				s.Metadata[e.key] = r.member(e.value, s, "#/metadata/"+e.key)
			}
		}},
		{"api_key", "", func(n ast.Node) { s.APIKey = r.text(n) }},
		{"header", "", func(n ast.Node) {
			s.Header = map[string]string{}
			for _, e := range r.entries(n, "{X-Order-Id: A-1}") {
				s.Header[(&ruleReader{reader: r}).header(e.at, e.key)] = r.text(e.value)
			}
		}},
		{"answer_lost", "", func(n ast.Node) {
			w, _ := r.oneOf(n, "answer_lost", []string{"true", "false"})
			s.AnswerLost = w == "true"
		}},
	}
}

// known fails for a purpose that the policy does not have.
func (r *reader) known(n ast.Node, purpose string, p *Policy) {
	if _, there := p.Purposes[purpose]; !there && purpose != "" {
		r.fail(n, "unknown purpose %s: %s", quoted(purpose), suggestion(purpose, slices.Sorted(maps.Keys(p.Purposes))))
	}
}

// member reads a member of a request.
func (r *reader) member(n ast.Node, s *Send, pointer string) string {
	s.wrote(n, pointer)
	return r.text(n)
}

// text reads a value of a request. White space at its ends is kept, as it would come.
func (r *reader) text(n ast.Node) string {
	w, ok := word(n)
	if !ok || w == "" {
		r.fail(n, "expected a text")
	}
	return w
}

// wrote keeps how a member is written.
func (s *Send) wrote(n ast.Node, pointer string) {
	w := Written{}
	w.Line, w.Column = position(n)
	w.Text, _ = word(n)
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		w.Form = FormNumber
	case *ast.BoolNode:
		w.Form = FormBool
	}
	s.Written[pointer] = w
}
