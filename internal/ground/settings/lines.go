package settings

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Lines says where in a file each member is written.
type Lines map[string]int

// LinesOf reads the places of a file that the decoder has taken. One that it cannot read has none.
func LinesOf(file []byte) Lines {
	all := lineFinder{lines: Lines{}, anchors: map[string]ast.Node{}}
	parsed, err := parser.ParseBytes(file, 0)
	if err != nil {
		return all.lines
	}
	for _, doc := range parsed.Docs {
		all.add(doc.Body, nil)
	}
	return all.lines
}

type lineFinder struct {
	lines   Lines
	anchors map[string]ast.Node
}

// add notes the places of a node's members. What comes by a merge is where the merged text is.
func (f *lineFinder) add(n ast.Node, path []string) {
	switch n := n.(type) {
	case *ast.AnchorNode:
		f.anchors[n.Name.GetToken().Value] = n.Value
		f.add(n.Value, path)
		return
	case *ast.AliasNode:
		f.add(f.anchors[n.Value.GetToken().Value], path)
		return
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		return
	}
	for i := m.MapRange(); i.Next(); {
		if i.Key().Type() == ast.MergeKeyType {
			f.add(i.Value(), path)
			continue
		}
		token := i.Key().GetToken()
		child := append(path[:len(path):len(path)], token.Value)
		f.lines[strings.Join(child, "\x00")] = token.Position.Line
		f.add(i.Value(), child)
	}
}

// of is a member's line.
func (l Lines) of(m *Member) (int, bool) {
	line, ok := l[m.key()]
	return line, ok
}
