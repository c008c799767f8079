package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impure are the packages that domain code may not import: with any of them, a decision could depend on more
// than its arguments, and could not be replayed. Everything below each is meant too.
var impure = []struct{ path, why string }{
	{"context", "a pure function cannot be cancelled"},
	{"crypto/rand", "chance is an argument"},
	{"math/rand", "chance is an argument"},
	{"database", "no SQL"},
	{"io/fs", "no I/O"},
	{"log", "no logger"},
	{"net", "no I/O"},
	{"os", "no I/O"},
	{"syscall", "no I/O"},
	{"testing", "suites belong in test packages"},
}

// pureExceptions are single imports that are allowed all the same.
var pureExceptions = map[string]string{
	"internal/domain/phone log/slog": "phone.Number masks itself in every log (slog.LogValuer) and writes none",
}

// clockCalls are the functions of package time that look at a clock or wait for one.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// foreignTags are the struct tags that bind a type to a form outside the domain.
var foreignTags = []string{"json:", "db:", "sql:"}

func TestDomainIsPure(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if !strings.HasPrefix(path, "internal/domain/") || isSuite(path) {
			continue
		}
		for _, imported := range p.Imports {
			if why := impurity(path, imported); why != "" {
				t.Errorf("%s imports %s: %s", path, imported, why)
			}
		}
		for _, name := range p.GoFiles {
			for _, problem := range inspect(t, filepath.Join(p.Dir, name), nil) {
				t.Error(problem)
			}
		}
	}
}

// TestImpurityIsFound proves the rules by sources that break them.
func TestImpurityIsFound(t *testing.T) {
	for source, want := range map[string]string{
		"package p\nimport \"time\"\nvar x = time.Now()":                            "time.Now",
		"package p\nimport clock \"time\"\nfunc f() { clock.Sleep(1) }":             "time.Sleep",
		"package p\ntype t struct { A int `json:\"a\"` }":                           "tag",
		"package p\nimport \"time\"\nfunc f(at time.Time) int { return at.Year() }": "",
	} {
		got := strings.Join(inspect(t, "p.go", []byte(source)), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\ngave %q, want %q", source, got, want)
		}
	}
	for _, c := range []struct {
		from, imported string
		pure           bool
	}{
		{"internal/domain/intent", "net/http", false},
		{"internal/domain/intent", "log/slog", false},
		{"internal/domain/phone", "log/slog", true},
		{"internal/domain/intent", "strings", true},
	} {
		if got := impurity(c.from, c.imported) == ""; got != c.pure {
			t.Errorf("%s importing %s: pure %t, want %t", c.from, c.imported, got, c.pure)
		}
	}
}

// impurity says why a domain package may not import another, or "".
func impurity(from, imported string) string {
	if _, ok := pureExceptions[from+" "+imported]; ok {
		return ""
	}
	for _, i := range impure {
		if matches(i.path+"/...", imported) {
			return i.why
		}
	}
	return ""
}

// inspect returns what a file has that domain code may not have: a look at a clock, or a tag that binds a type to
// the API's or the store's form. The source is read from the file if it is nil.
func inspect(t *testing.T, name string, source any) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	clock := localName(file, "time")
	var problems []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == clock && slices.Contains(clockCalls, n.Sel.Name) {
				problems = append(problems, files.Position(n.Pos()).String()+": time."+n.Sel.Name+": the time is an argument")
			}
		case *ast.Field:
			if n.Tag != nil && slices.ContainsFunc(foreignTags, func(tag string) bool { return strings.Contains(n.Tag.Value, tag) }) {
				problems = append(problems, files.Position(n.Pos()).String()+": a tag of JSON or SQL: these forms belong to the edge and the store")
			}
		}
		return true
	})
	return problems
}

// localName returns the name that a file uses for a package, or "" if it does not import it.
func localName(file *ast.File, path string) string {
	for _, i := range file.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err != nil || p != path {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path
	}
	return ""
}
