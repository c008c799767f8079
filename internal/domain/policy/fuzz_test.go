package policy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A file is either refused, each error with a place, or a policy that keeps the rules.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add(builtinFile)
	files, err := filepath.Glob("testdata/wrong/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, errs := Parse("fuzz.yaml", src)
		if (p == nil) != (len(errs) > 0) {
			t.Fatalf("policy %v with errors %v", p, errs)
		}
		checkOrder(t, errs)
		if p != nil {
			checkRules(t, p)
		}
	})
}

func checkRules(t *testing.T, p *Policy) {
	t.Helper()
	if !nameForm.MatchString(p.Name) || p.Version < 1 || len(p.Purposes) == 0 {
		t.Fatalf("policy %+v", p)
	}
	for name, u := range p.Purposes {
		limit := maxWindow
		if u.Kind == KindAuthentication {
			limit = maxAuthentication
		}
		w := u.Window
		if u.Name != name || len(u.Key) == 0 || w.Limit() < minWindow || w.Limit() > limit || (w.Duration > 0) == (w.AtMost > 0) {
			t.Fatalf("purpose %+v", u)
		}
		if !slices.Contains(kinds, string(u.Kind)) || u.OnOtherText == "" {
			t.Fatalf("purpose %+v", u)
		}
	}
}
