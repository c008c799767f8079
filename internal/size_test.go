package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// The largest sizes, in lines. Most functions are ten lines and most files 100 to 200; these bounds are where a
// reader has lost the thread. Tests have tables and may be longer.
const (
	maxFunction     = 70
	maxFile         = 300
	maxTestFunction = 120
	maxTestFile     = 500
)

func TestSizes(t *testing.T) {
	for _, p := range list(t) {
		for _, name := range p.GoFiles {
			measure(t, filepath.Join(p.Dir, name), maxFile, maxFunction)
		}
		for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
			measure(t, filepath.Join(p.Dir, name), maxTestFile, maxTestFunction)
		}
	}
}

func measure(t *testing.T, name string, file, function int) {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if n := files.Position(tree.FileEnd).Line; n > file {
		t.Errorf("%s has %d lines, more than %d: split it by idea", name, n, file)
	}
	for _, d := range tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := files.Position(fn.End()).Line - files.Position(fn.Pos()).Line; n > function {
			t.Errorf("%s: %s has %d lines, more than %d", files.Position(fn.Pos()), fn.Name.Name, n, function)
		}
	}
}
