package internal_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// required is a line of go.mod.
type required struct {
	Path     string
	Indirect bool
}

// TestDependenciesAreDocumented compares go.mod with docs/dependencies.md, which would go stale otherwise.
func TestDependenciesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllSubmatch(text, -1) {
		documented = append(documented, string(row[1]))
	}
	var all []string
	for _, dir := range []string{"..", "../tools"} {
		for _, r := range requirements(t, dir) {
			all = append(all, r.Path)
			if !r.Indirect && !slices.Contains(documented, r.Path) {
				t.Errorf("docs/dependencies.md has no row for %s", r.Path)
			}
		}
	}
	for _, path := range documented {
		if !slices.Contains(all, path) {
			t.Errorf("docs/dependencies.md describes %s, which nothing requires", path)
		}
	}
}

func requirements(t *testing.T, dir string) []required {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct{ Require []required }
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	return mod.Require
}
