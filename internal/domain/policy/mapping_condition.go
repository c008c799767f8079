package policy

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Bounds of conditions. They keep a request from waiting for its rules: a pattern's time is the product of its size
// and that of the value.
const (
	maxWords   = 100
	maxPattern = 500  // octets
	maxProgram = 2000 // instructions
)

// when reads the conditions, in the order in which they are looked at.
func (r *ruleReader) when(n ast.Node) {
	if m, ok := n.(ast.MapNode); ok && !m.MapRange().Next() {
		return
	}
	var keys, senders, headers, members, texts []Condition
	r.fields(n, n, "{api_key: shop}", []field{
		{"api_key", "", func(n ast.Node) { keys = r.condition(n, Place{Kind: PlaceAPIKey}) }},
		{"sender", "", func(n ast.Node) { senders = r.condition(n, Place{Kind: PlaceSender}) }},
		{"header", "", func(n ast.Node) {
			for _, e := range r.entries(n, "{X-App: billing}") {
				headers = append(headers, r.condition(e.value, Place{PlaceHeader, r.header(e.at, e.key)})...)
			}
		}},
		{"member", "", func(n ast.Node) {
			for _, e := range r.entries(n, "{metadata.app: billing}") {
				members = append(members, r.condition(e.value, Place{PlaceMember, r.member(e.at, e.key)})...)
			}
		}},
		{"text", "", func(n ast.Node) { texts = r.condition(n, Place{Kind: PlaceText}) }},
	})
	r.rule.When = slices.Concat(keys, senders, headers, members, texts)
}

// condition reads what a place has to be: a word, one of several, or what a pattern matches.
func (r *ruleReader) condition(n ast.Node, at Place) []Condition {
	c := Condition{Place: at}
	if _, ok := n.(ast.MapNode); ok {
		r.fields(n, n, "{matches: '^order ([A-Z]-[0-9]+)'}", []field{
			{"matches", "a pattern (RE2), such as matches: '^order (?P<order>[A-Z]-[0-9]+)'", func(n ast.Node) { c.Matches = r.pattern(n, at.Kind) }},
		})
		return []Condition{c}
	}
	add := func(n ast.Node) {
		w, ok := word(n)
		if w = strings.TrimSpace(w); !ok || w == "" {
			r.fail(n, "expected a word, a list of words, or a pattern such as {matches: '^order'}")
			return
		}
		c.Is = append(c.Is, w)
	}
	if s, ok := n.(*ast.SequenceNode); !ok {
		add(n)
	} else if len(s.Values) == 0 || len(s.Values) > maxWords {
		r.fail(n, "a list of words has 1 to %d", maxWords)
	} else {
		r.list(n, "[shop, billing]", add)
	}
	return []Condition{c}
}

// pattern reads a pattern that may cost no more than a request can wait for.
func (r *ruleReader) pattern(n ast.Node, at PlaceKind) *regexp.Regexp {
	w, ok := word(n)
	if !ok || w == "" {
		r.fail(n, "expected a pattern in quotes, such as '^order (?P<order>[A-Z]-[0-9]+)'")
		return nil
	}
	if len(w) > maxPattern {
		r.fail(n, "the pattern is too long: at most %d octets", maxPattern)
		return nil
	}
	parsed, err := syntax.Parse(w, syntax.Perl)
	if err != nil {
		r.fail(n, "not a pattern: %s; the form is RE2's, where (?P<name>…) captures", patternProblem(err))
		return nil
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		r.fail(n, "the pattern is too large: repeat less in it")
		return nil
	}
	compiled, err := regexp.Compile(w)
	if err != nil {
		r.fail(n, "not a pattern: %s", patternProblem(err))
		return nil
	}
	for _, name := range compiled.SubexpNames() {
		if name == "" {
			continue
		}
		if slices.Contains(r.captures, name) || slices.Contains(r.ofText, name) {
			r.fail(n, "%s is captured twice: give each group of a rule a name of its own", quoted(name))
			continue
		}
		if at == PlaceText {
			r.ofText = append(r.ofText, name)
		} else {
			r.captures = append(r.captures, name)
		}
	}
	return compiled
}

// patternProblem is what the library says, without the pattern.
func patternProblem(err error) string {
	if e, ok := err.(*syntax.Error); ok {
		return e.Code.String()
	}
	return "it cannot be read"
}

// secretHeaders say who somebody is. What they hold becomes no part of an event, which is stored and shown.
var secretHeaders = []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key"}

// header reads a header's name.
func (r *ruleReader) header(at ast.Node, name string) string {
	canonical := canonicalHeader(name)
	switch {
	case canonical == "":
		r.fail(at, "not a header: write its name, such as X-Order-Id")
	case slices.Contains(secretHeaders, canonical):
		r.fail(at, "%s holds a secret: ask for the key by api_key, by its name or id", canonical)
	}
	return canonical
}

// canonicalHeader is a header's name as net/http has it: the first letter and each after a hyphen in capitals; "" for
// what is no name (RFC 9110, section 5.6.2).
func canonicalHeader(name string) string {
	b := []byte(name)
	upper := true
	for i, c := range b {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return ""
		}
		if letter && upper {
			b[i] = c &^ 0x20
		} else if letter {
			b[i] = c | 0x20
		}
		upper = c == '-'
	}
	return string(b)
}

// members are the members of a request that rules may look at, beside metadata.NAME.
var members = []string{"correlation_id", "event.type", "event.id", "event.version", "template.id", "template.version", "region"}

const metadataPrefix = "metadata."

// member reads a member's name.
func (r *ruleReader) member(at ast.Node, name string) string {
	if rest, ok := strings.CutPrefix(name, metadataPrefix); ok && rest != "" || slices.Contains(members, name) {
		return name
	}
	if near := nearest(name, members); near != "" {
		r.fail(at, "unknown member %s: did you mean %s?", quoted(name), near)
	} else {
		r.fail(at, "unknown member %s: known are %s and metadata.NAME; sender and text have conditions of their own", quoted(name), strings.Join(members, ", "))
	}
	return name
}
