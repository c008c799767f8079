package policy

import (
	"errors"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"github.com/einmal/einmal/internal/domain/phone"
)

// maxFile bounds a policy file, in octets. It is far above what people write, and keeps a mistaken upload from
// being parsed.
const maxFile = 256 << 10

// maxTokens bounds how much there is in a file: words, colons, dashes, brackets. The time that the YAML parser
// takes grows with the square of what is nested.
const maxTokens = 20_000

// maxErrors bounds how many errors are told of one file.
const maxErrors = 100

// maxVersion is the largest version number; databases and clients keep it in 32 bits.
const maxVersion = 1<<31 - 1

// Parse reads a policy file, the gateway's own too. file is its name in errors. With errors there is no policy.
func Parse(file string, src []byte) (*Policy, Errors) {
	return parse(&reader{file: file}, src)
}

// ParseOwn is Parse for a file that an operator brings: it may not be named like the gateway's own policy.
func ParseOwn(file string, src []byte) (*Policy, Errors) {
	return parse(&reader{file: file, taken: Builtin().Name}, src)
}

func parse(r *reader, src []byte) (*Policy, Errors) {
	p := &Policy{Mode: Enforce, Purposes: map[string]Purpose{}}
	if body := r.body(src); body != nil {
		r.policy(body, p)
	}
	for _, check := range r.later {
		check()
	}
	if len(r.errs) > 0 {
		r.errs.sort()
		return nil, r.errs[:min(len(r.errs), maxErrors)]
	}
	for name, purpose := range p.Purposes {
		purpose.Mode = p.Mode
		p.Purposes[name] = purpose
	}
	return p, nil
}

// body returns the only document's content, or nil.
func (r *reader) body(src []byte) ast.Node {
	if len(src) > maxFile {
		r.refuse("too large: a policy file has at most 256 KiB")
		return nil
	}
	tokens := lexer.Tokenize(string(src))
	if len(tokens) > maxTokens {
		r.refuse("too large: a policy file has at most 20000 words and marks")
		return nil
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.errs = append(r.errs, r.syntax(err))
		return nil
	}
	var body ast.Node
	for _, d := range tree.Docs {
		switch {
		case d.Body == nil:
		case body != nil:
			r.fail(d.Body, "a second document: a file holds one policy")
		default:
			body = d.Body
		}
	}
	if body == nil && len(r.errs) == 0 {
		r.refuse("empty: a policy begins with policy: NAME")
	}
	return body
}

// refuse records an error about the whole file.
func (r *reader) refuse(message string) {
	r.errs = append(r.errs, Error{r.file, 1, 1, message})
}

// syntax translates the error of a file that is no YAML.
func (r *reader) syntax(err error) Error {
	e := Error{r.file, 1, 1, "not YAML: " + err.Error()}
	var s *yaml.SyntaxError
	if errors.As(err, &s) {
		e.Message = "not YAML: " + s.Message
		if s.Token != nil && s.Token.Position != nil {
			e.Line, e.Column = max(s.Token.Position.Line, 1), max(s.Token.Position.Column, 1)
		}
	}
	return e
}

// policy reads the file's first level.
func (r *reader) policy(n ast.Node, p *Policy) {
	r.fields(n, n, "policy: shop", []field{
		{"policy", "the policy's name, such as policy: shop", func(n ast.Node) { p.Name = r.policyName(n) }},
		{"version", "a number that grows with each change, such as version: 1", func(n ast.Node) { p.Version = r.version(n) }},
		{"mode", "", func(n ast.Node) { p.Mode = r.mode(n) }},
		{"region", "", func(n ast.Node) { p.Region = r.region(n) }},
		{"unnamed", "", func(n ast.Node) { p.RefuseUnnamed = r.unnamed(n) }},
		{"purposes", "the purposes, such as purposes: {alert: {kind: alert, key: [event.id], window: 15m}}", func(n ast.Node) { r.purposes(n, p.Purposes) }},
		{"mapping", "", func(n ast.Node) { r.mapping(n, p) }},
		{"inbound", "", nil},
		{"tests", "", func(n ast.Node) { r.tests(n, p) }},
	})
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// name reads a name of the author's own.
func (r *reader) name(n ast.Node, what string) string {
	w, ok := word(n)
	if !ok || !nameForm.MatchString(w) {
		r.fail(n, "not a name of a %s: use lower-case letters, digits and _, a letter first, at most 63", what)
	}
	return w
}

func (r *reader) policyName(n ast.Node) string {
	name := r.name(n, "policy")
	if name != "" && name == r.taken {
		r.fail(n, "%s is the name of the gateway's own policy: give yours another name", name)
	}
	return name
}

func (r *reader) version(n ast.Node) int {
	w := ""
	if i, ok := n.(*ast.IntegerNode); ok {
		w = i.GetToken().Value
	}
	v, err := strconv.Atoi(w)
	if err != nil || v < 1 || v > maxVersion {
		r.fail(n, "not a version: write a whole number from 1 that grows with each change, such as 1")
	}
	return v
}

func (r *reader) mode(n ast.Node) Mode {
	w, _ := r.oneOf(n, "mode", []string{string(Enforce), string(Monitor)})
	return Mode(w)
}

// unnamed reads what becomes of requests that name no purpose, and reports whether they are refused.
func (r *reader) unnamed(n ast.Node) bool {
	const allow, refuse = "allow", "refuse"
	w, _ := r.oneOf(n, "unnamed", []string{allow, refuse})
	return w == refuse
}

func (r *reader) region(n ast.Node) string {
	w, _ := word(n)
	region, err := phone.Region(w)
	if err != nil || region == "" || region != w {
		r.fail(n, "unknown region: write two capitals of ISO 3166-1, such as DE")
	}
	return region
}
