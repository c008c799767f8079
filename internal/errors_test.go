package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// An error of a statement keeps its class on its way: a lock that was waited for in vain, a deadlock and a lost connection
// are told from a defect by what the driver said. So no error is written into another one without %w.
//
// covers: I16
func TestErrorsKeepTheirClass(t *testing.T) {
	calls := 0
	for _, dir := range []string{"store", "engine", "app"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, filepath.Join("store", "storetest")) {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !called(call, "fmt", "Errorf") {
					return true
				}
				calls++
				for _, arg := range call.Args[1:] {
					if namesError(arg) && !wraps(call.Args[0]) {
						t.Errorf("%s: an error is wrapped without %%w, and loses its class", files.Position(call.Pos()))
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls < 20 {
		t.Errorf("only %d calls of fmt.Errorf were looked at", calls)
	}
}

func called(call *ast.CallExpr, pkg, name string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// wraps reports whether a format, of one literal or several, has a %w.
func wraps(format ast.Expr) (found bool) {
	ast.Inspect(format, func(n ast.Node) bool {
		text, ok := n.(*ast.BasicLit)
		found = found || ok && strings.Contains(text.Value, "%w")
		return true
	})
	return found
}

// namesError goes by the names that errors have here: err, or a field Err or cause, or what their Error says.
func namesError(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "err" || strings.HasPrefix(e.Name, "err") && len(e.Name) > 3 && e.Name[3] < 'a'
	case *ast.SelectorExpr:
		return e.Sel.Name == "Err" || e.Sel.Name == "cause"
	case *ast.CallExpr:
		s, ok := e.Fun.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "Error"
	}
	return false
}
