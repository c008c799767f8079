package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

const marker = "// covers:"

// scan returns, for each cited id, the tests that cite it, as file:function.
func scan(project fs.FS) (map[string][]string, error) {
	cites := map[string][]string{}
	err := fs.WalkDir(project, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return fs.SkipDir
		case d.IsDir() || !isTestFile(name):
			return nil
		}
		return scanFile(project, name, cites)
	})
	return cites, err
}

// isTestFile accepts Go's test files, and the conformance suites: packages such as storetest, whose functions are
// called by the tests of every adapter.
func isTestFile(name string) bool { return strings.HasSuffix(name, "_test.go") || isSuite(name) }

func isSuite(name string) bool {
	return strings.HasSuffix(name, ".go") && strings.HasSuffix(path.Base(path.Dir(name)), "test")
}

func scanFile(project fs.FS, name string, cites map[string][]string) error {
	source, err := fs.ReadFile(project, name)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var errs []error
	for _, group := range file.Comments {
		for _, c := range group.List {
			list, ok := strings.CutPrefix(c.Text, marker)
			if !ok {
				continue
			}
			if err := cite(cites, name, function(file, c.Pos()), list); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", files.Position(c.Pos()), err))
			}
		}
	}
	return errors.Join(errs...)
}

// cite enters one comment. A function that no test run calls by itself proves nothing, so it may not cite.
func cite(cites map[string][]string, file, fn, list string) error {
	if fn == "" || !isSuite(file) && !strings.HasPrefix(fn, "Test") && !strings.HasPrefix(fn, "Fuzz") {
		return errors.New(`"covers" belongs above or inside a test`)
	}
	for id := range strings.SplitSeq(list, ",") {
		id = strings.TrimSpace(id)
		if !idForm.MatchString(id) {
			return fmt.Errorf("%q is not an id; right is a list such as D7, R1", id)
		}
		if test := file + ":" + fn; !slices.Contains(cites[id], test) {
			cites[id] = append(cites[id], test)
		}
	}
	return nil
}

// function returns the name of the function whose comment or body holds pos, or "".
func function(file *ast.File, pos token.Pos) string {
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from := fn.Pos()
		if fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		if from <= pos && pos <= fn.End() {
			return fn.Name.Name
		}
	}
	return ""
}

func sortedKeys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }
