package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxRules bounds a mapping, so that a request does not wait for its rules.
const maxRules = 100

// exampleRule is shown where a rule is none.
const exampleRule = "{name: old_shop, when: {api_key: shop}, purpose: alert, event: {id: {header: X-Event-Id}}}"

// mapping reads the rules. Which purposes there are is known when the whole file has been read.
func (r *reader) mapping(n ast.Node, p *Policy) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "expected a list of rules, such as [%s]", exampleRule)
		return
	}
	if len(s.Values) > maxRules {
		r.fail(n, "too many rules: at most %d", maxRules)
		return
	}
	names := map[string]bool{}
	p.Mapping = make([]Rule, len(s.Values))
	for i, v := range s.Values {
		r.rule(v, &p.Mapping[i], names, p)
	}
}

// ruleReader reads one rule.
type ruleReader struct {
	*reader
	rule     *Rule
	captures []string // names of the groups of its patterns, but for the text's
	ofText   []string // names of the groups of the text's pattern
	given    []KeyPart
}

func (r *reader) rule(n ast.Node, into *Rule, names map[string]bool, p *Policy) {
	one := &ruleReader{reader: r, rule: into}
	var purpose, event ast.Node
	r.fields(n, n, exampleRule, []field{
		{"name", "the rule's name, by which decisions name it, such as name: old_shop", func(n ast.Node) {
			into.Name = r.name(n, "rule")
			if names[into.Name] {
				r.fail(n, "%s comes twice: each rule has a name of its own", quoted(into.Name))
			}
			names[into.Name] = true
		}},
		{"when", "which requests it is for, such as when: {api_key: shop}, or when: {} for all", one.when},
		{"purpose", "what it makes of them, such as purpose: alert", func(n ast.Node) {
			purpose = n
			into.Purpose, _ = word(n)
		}},
		{"event", "", func(n ast.Node) { event = n }},
	})
	if event != nil { // after the patterns, whose groups it may name
		one.event(event)
	}
	if purpose != nil {
		r.later = append(r.later, func() { one.check(p, purpose, event) })
	}
}

// event reads what the rule gives.
func (r *ruleReader) event(n ast.Node) {
	e := &r.rule.Event
	give := func(to *Value, part KeyPart) func(ast.Node) {
		return func(n ast.Node) {
			*to = r.value(n)
			r.given = append(r.given, part)
		}
	}
	r.fields(n, n, "{id: {header: X-Event-Id}}", []field{
		{"type", "", give(&e.Type, KeyEventType)}, {"id", "", give(&e.ID, KeyEventID)}, {"version", "", give(&e.Version, KeyEventVersion)},
	})
}

// value reads one value: a text, or where it comes from.
func (r *ruleReader) value(n ast.Node) (v Value) {
	m, ok := n.(ast.MapNode)
	if !ok {
		w, isWord := word(n)
		if v.Text = strings.TrimSpace(w); !isWord || !usable(v.Text) {
			r.fail(n, "expected a text of 1 to %d characters that can be seen, or where it comes from: {header: X-Order-Id}, {member: correlation_id} or {capture: order}", MaxName)
		}
		return v
	}
	r.fields(n, n, "{header: X-Order-Id}", []field{
		{"header", "", func(n ast.Node) {
			w, _ := word(n)
			v.From = Place{PlaceHeader, r.header(n, w)}
		}},
		{"member", "", func(n ast.Node) {
			w, _ := word(n)
			v.From = Place{PlaceMember, r.member(n, w)}
		}},
		{"capture", "", func(n ast.Node) { v.Capture = r.capture(n) }},
	})
	entries := 0
	for it := m.MapRange(); it.Next(); {
		entries++
	}
	if entries != 1 {
		r.fail(n, "one place: write {header: X-Order-Id}, {member: correlation_id} or {capture: order}")
	}
	return v
}

// capture reads the name of a group of one of the rule's patterns.
func (r *ruleReader) capture(n ast.Node) string {
	w, ok := word(n)
	known := slices.Concat(r.captures, r.ofText)
	switch {
	case ok && slices.Contains(known, w):
	case len(known) == 0:
		r.fail(n, "no pattern of this rule captures anything: write (?P<order>…) in one")
	default:
		r.fail(n, "no pattern of this rule captures %s: %s", quoted(w), suggestion(w, known))
	}
	return w
}

// check looks at what needs the whole file: that there is such a purpose, and that its key can be complete.
func (r *ruleReader) check(p *Policy, purpose, event ast.Node) {
	u, there := p.Purposes[r.rule.Purpose]
	if !there {
		known := slices.Sorted(maps.Keys(p.Purposes))
		r.fail(purpose, "unknown purpose %s: %s", quoted(r.rule.Purpose), suggestion(r.rule.Purpose, known))
		return
	}
	at := event
	if at == nil {
		at = purpose
	}
	e := r.rule.Event
	for _, given := range []struct {
		part  KeyPart
		value Value
	}{{KeyEventType, e.Type}, {KeyEventID, e.ID}, {KeyEventVersion, e.Version}} {
		if slices.Contains(u.Key, given.part) && !slices.Contains(r.given, given.part) {
			field := strings.TrimPrefix(string(given.part), "event.")
			r.fail(at, "the key of %s has %s, which this rule does not give: add %s to event, such as %s: {member: %s} for the request's own",
				u.Name, given.part, field, field, given.part)
		}
		if u.Kind == KindAuthentication && slices.Contains(r.ofText, given.value.Capture) {
			r.fail(at, "the text of kind authentication holds the code, which must not be stored as a part of the event: take the value from a header or a member")
		}
	}
}
