package main

import (
	"fmt"
	"regexp"
	"strings"
)

// later marks a requirement that no release has finished.
const later = "later"

// requirement is one row of the document's tables.
type requirement struct {
	id    string
	since string // a release, or later
}

func (r requirement) finished() bool { return r.since != later }

var (
	idForm      = regexp.MustCompile(`^[A-Z][0-9]+$`)
	releaseForm = regexp.MustCompile(`^[0-9]+\.[0-9]+$`)
)

// parseDocument reads every table row whose first cell is an id. It fails on a row that says nothing clear: a
// requirement that silently fell out of the table would be a requirement that nobody tests.
func parseDocument(text string) ([]requirement, error) {
	var reqs []requirement
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		id := strings.TrimSpace(cells[0])
		if !strings.HasPrefix(line, "|") || !idForm.MatchString(id) {
			continue
		}
		since := strings.TrimSpace(cells[len(cells)-1])
		switch {
		case len(cells) != 3:
			return nil, fmt.Errorf("%s:%d: %s has %d cells; right are id, requirement, since", document, i+1, id, len(cells))
		case since != later && !releaseForm.MatchString(since):
			return nil, fmt.Errorf("%s:%d: %s has since %q; right are a release such as 0.1, or %s", document, i+1, id, since, later)
		case seen[id]:
			return nil, fmt.Errorf("%s:%d: %s is there twice", document, i+1, id)
		}
		seen[id] = true
		reqs = append(reqs, requirement{id, since})
	}
	if len(reqs) == 0 {
		return nil, fmt.Errorf("%s has no requirements", document)
	}
	return reqs, nil
}
