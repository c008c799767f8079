package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each file of testdata/wrong is refused with exactly the errors beside it. UPDATE=1 writes them anew.
//
// covers: X3, D6
func TestWrongFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/wrong/*.yaml")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, errs := Parse(filepath.Base(file), src)
			if p != nil || len(errs) == 0 {
				t.Fatal("the file was taken")
			}
			checkOrder(t, errs)
			compare(t, strings.TrimSuffix(file, ".yaml")+".golden", errs.Error()+"\n")
		})
	}
}

func checkOrder(t *testing.T, errs Errors) {
	t.Helper()
	for i, e := range errs {
		if e.Line < 1 || e.Column < 1 {
			t.Errorf("no place: %v", e)
		}
		if i > 0 && (e.Line < errs[i-1].Line || e.Line == errs[i-1].Line && e.Column < errs[i-1].Column) {
			t.Errorf("out of order: %v", e)
		}
	}
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("errors are\n%swant\n%s", got, want)
	}
}
