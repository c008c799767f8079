package policy

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// reader gathers the errors of a file while its tree is walked.
type reader struct {
	file string
	errs Errors
	// taken is a name that the policy may not have; "": it may have any.
	taken string
	// later are checks that need the whole file: what one place names may stand in another.
	later []func()
}

// fail records an error at a node.
func (r *reader) fail(at ast.Node, format string, args ...any) {
	line, column := position(at)
	message := fmt.Sprintf(format, args...)
	switch at.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		message = "anchors, aliases, merges and tags are not part of this form: write the value out"
	}
	r.errs = append(r.errs, Error{r.file, line, column, message})
}

// position is where a reader sees the node begin. A mapping in block form begins with its first key, not with
// the colon that the parser names.
func position(n ast.Node) (line, column int) {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			n = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return max(t.Position.Line, 1), max(t.Position.Column, 1)
}

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	at    ast.Node // the key's place
	value ast.Node
}

// entries returns a mapping's entries and refuses a key that comes twice.
func (r *reader) entries(n ast.Node, example string) []entry {
	m, ok := n.(ast.MapNode)
	if !ok {
		r.fail(n, "expected a mapping, such as %s", example)
		return nil
	}
	var all []entry
	first := map[string]int{}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		line, _ := position(it.Key())
		if before, ok := first[key]; ok {
			r.fail(it.Key(), "%s comes twice: it is already in line %d", quoted(key), before)
			continue
		}
		first[key] = line
		all = append(all, entry{key, it.Key(), it.Value()})
	}
	return all
}

// field is a known key of a mapping.
type field struct {
	name     string
	required string         // what to write, if it may not be missing
	read     func(ast.Node) // nil: known, and part of a later release
}

// fields reads a mapping with known keys. at is where a missing one is reported.
func (r *reader) fields(at, n ast.Node, example string, known []field) {
	seen := map[string]bool{}
	for _, e := range r.entries(n, example) {
		seen[e.key] = true
		r.field(e, known)
	}
	if _, ok := n.(ast.MapNode); !ok {
		return
	}
	for _, f := range known {
		if f.required != "" && !seen[f.name] {
			r.fail(at, "%s is missing: write %s", f.name, f.required)
		}
	}
}

// field reads one entry.
func (r *reader) field(e entry, known []field) {
	names := make([]string, 0, len(known))
	for _, f := range known {
		switch {
		case f.name == e.key && f.read == nil:
			r.fail(e.at, "%s is not yet supported in this release: leave it out", f.name)
			return
		case f.name == e.key:
			f.read(e.value)
			return
		case f.read != nil:
			names = append(names, f.name)
		}
	}
	r.fail(e.at, "unknown field %s: %s", quoted(e.key), suggestion(e.key, names))
}

// word returns a scalar's text. Anchors, aliases, tags and block texts are no words.
func word(n ast.Node) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return s.GetToken().Value, true
	}
	return "", false
}

// oneOf reads a word of a closed list.
func (r *reader) oneOf(n ast.Node, what string, known []string) (string, bool) {
	w, ok := word(n)
	if !ok {
		r.fail(n, "expected %s: one of %s", what, strings.Join(known, ", "))
		return "", false
	}
	for _, k := range known {
		if w == k {
			return w, true
		}
	}
	r.fail(n, "unknown %s %s: %s", what, quoted(w), suggestion(w, known))
	return "", false
}

// list calls read for each member of a list and refuses a word that comes twice.
func (r *reader) list(n ast.Node, example string, read func(ast.Node)) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "expected a list, such as %s", example)
		return
	}
	seen := map[string]bool{}
	for _, v := range s.Values {
		if w, ok := word(v); ok && seen[w] {
			r.fail(v, "%s comes twice in this list", quoted(w))
			continue
		} else if ok {
			seen[w] = true
		}
		read(v)
	}
}
