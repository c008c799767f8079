package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

const table = "| id | requirement | since |\n| --- | --- | --- |\n| D1 | one | 0.1 |\n| D2 | two | later |\n"

// project is a file system with the document and one test file.
func project(doc, name, source string) fstest.MapFS {
	return fstest.MapFS{document: {Data: []byte(doc)}, name: {Data: []byte("package p\n" + source)}}
}

func TestOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		doc, file, source string
		want              string // part of the error; empty: none
	}{
		"covered above the test":  {table, "a/x_test.go", "// TestX does.\n//\n// covers: D1\nfunc TestX() {}", ""},
		"covered inside the test": {table, "a/x_test.go", "func TestX() {\n// covers: D1, D2\n}", ""},
		"covered by a fuzz test":  {table, "a/x_test.go", "// covers: D1\nfunc FuzzX() {}", ""},
		"covered by a suite":      {table, "a/storetest/x.go", "// covers: D1\nfunc takes() {}", ""},
		"finished and uncovered":  {table, "a/x_test.go", "// covers: D2\nfunc TestX() {}", "D1 is finished since 0.1, and no test covers it"},
		"cited but not there":     {table, "a/x_test.go", "// covers: D1, D9\nfunc TestX() {}", "D9 does not exist; cited by a/x_test.go:TestX"},
		"cited by a helper":       {table, "a/x_test.go", "// covers: D1\nfunc helper() {}", "belongs above or inside a test"},
		"cited by nothing":        {table, "a/x_test.go", "// covers: D1\n\nvar x = 1", "belongs above or inside a test"},
		"cited outside tests":     {table, "a/x.go", "// covers: D1\nfunc TestX() {}", "no test covers it"},
		"cited in testdata":       {table, "testdata/x_test.go", "// covers: D1\nfunc TestX() {}", "no test covers it"},
		"not an id":               {table, "a/x_test.go", "// covers: all\nfunc TestX() {}", `a/x_test.go:2:1: "all" is not an id`},
		"row without since":       {"| D1 | one |\n", "a/x_test.go", "", "requirements.md:1: D1 has 2 cells"},
		"unclear since":           {"| D1 | one | soon |\n", "a/x_test.go", "", `D1 has since "soon"`},
		"row twice":               {table + "| D1 | again | 0.1 |\n", "a/x_test.go", "", "D1 is there twice"},
		"no rows":                 {"# nothing\n", "a/x_test.go", "", "has no requirements"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(project(tc.doc, tc.file, tc.source), t.Output())
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("unexpected error: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTableNamesTheTests(t *testing.T) {
	var out strings.Builder
	source := "// covers: D1\nfunc TestX() {}\n\n// covers: D1\nfunc TestY() {}"
	if err := run(project(table, "a/x_test.go", source), &out); err != nil {
		t.Fatal(err)
	}
	want := "D1  0.1    a/x_test.go:TestX\n           a/x_test.go:TestY\nD2  later  -\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
