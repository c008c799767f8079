// Requirements shows which tests stand behind which requirement, and fails where a finished one has none.
//
//	requirements [folder]
//
// The folder is the project's root, by default the current one. Requirements are the tables of
// docs/requirements.md; tests cite them in comments, `// covers: D7, R1`.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
)

const document = "docs/requirements.md"

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(os.DirFS(root), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "requirements:", err)
		os.Exit(1)
	}
}

// run prints the table and returns everything that is wrong.
func run(project fs.FS, out io.Writer) error {
	text, err := fs.ReadFile(project, document)
	if err != nil {
		return err
	}
	reqs, err := parseDocument(string(text))
	if err != nil {
		return err
	}
	cites, err := scan(project)
	if err != nil {
		return err
	}
	return errors.Join(show(out, reqs, cites), check(reqs, cites))
}

// show prints a line for each requirement: id, since, tests.
func show(out io.Writer, reqs []requirement, cites map[string][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range reqs {
		tests := cites[r.id]
		if len(tests) == 0 {
			tests = []string{"-"}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.id, r.since, strings.Join(tests, "\n\t\t"))
	}
	return w.Flush()
}

// check returns an error for each finished requirement without a test and each citation of what does not exist.
func check(reqs []requirement, cites map[string][]string) error {
	var errs []error
	known := map[string]bool{}
	for _, r := range reqs {
		known[r.id] = true
		if r.finished() && len(cites[r.id]) == 0 {
			errs = append(errs, fmt.Errorf("%s is finished since %s, and no test covers it", r.id, r.since))
		}
	}
	for _, id := range sortedKeys(cites) {
		if !known[id] {
			errs = append(errs, fmt.Errorf("%s does not exist; cited by %s", id, strings.Join(cites[id], ", ")))
		}
	}
	return errors.Join(errs...)
}
