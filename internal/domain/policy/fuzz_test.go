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
	f.Add([]byte(mapped))
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
		if !slices.Contains(kinds, string(u.Kind)) || u.OnOtherText == "" || u.Mode != p.Mode {
			t.Fatalf("purpose %+v", u)
		}
	}
	for _, r := range p.Mapping {
		if _, there := p.Purposes[r.Purpose]; !there || !nameForm.MatchString(r.Name) {
			t.Fatalf("rule %+v", r)
		}
	}
	checkMapped(t, p, asked(Asked{KeyID: "id", KeyName: "name", Sender: "SHOP", Text: "order A-1"}, values{"X-App": "a"}, values{"event.id": "e"}))
}

// checkMapped maps a request, whatever the rules are.
func checkMapped(t *testing.T, p *Policy, a *Asked) {
	t.Helper()
	if m, ok := p.Map(a); ok && (m.Rule == "" || p.Purposes[m.Purpose.Name].Name == "" || !m.complete(a)) {
		t.Fatalf("mapped to %+v", m)
	}
}

// Whatever callers write, they are mapped to something that can be decided, or not at all.
func FuzzMap(f *testing.F) {
	p := parsed(f, mapped)
	f.Add("old shop", "SHOP", "order A-1 v2", "billing", "A-1")
	f.Add("k3v9", "", "\xff", "\x00", "\u200b")
	f.Fuzz(func(t *testing.T, key, sender, text, one, other string) {
		all := values{"X-App": one, "X-Order-Id": other, "metadata.kind": one, "event.id": other, "template.id": one, "correlation_id": other}
		checkMapped(t, p, asked(Asked{KeyName: key, Sender: sender, Text: text}, all, all))
	})
}
