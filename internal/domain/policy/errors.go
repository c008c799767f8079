package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/ground/fault"
)

// Error is one wrong place of a policy file.
type Error struct {
	File         string
	Line, Column int // from 1
	Message      string
}

func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are all wrong places of a file, in their order there. None is nil.
type Errors []Error

// Error has a line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// suggestion says which word would be right: the nearest known one, or all of them if none is near.
func suggestion(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "known are " + strings.Join(known, ", ")
}

// nearest returns the known word with the smallest distance to word, if it is no more than a third of its
// letters; else "".
func nearest(word string, known []string) string {
	best, found := len(word)/3+1, ""
	if len(word) > 64 {
		return ""
	}
	for _, k := range known {
		if d := fault.Distance(strings.ToLower(word), k); d < best {
			best, found = d, k
		}
	}
	return found
}

// quoted shows a word of the file, shortened if it is long.
func quoted(word string) string {
	const limit = 40
	if r := []rune(word); len(r) > limit {
		word = string(r[:limit]) + "…"
	}
	return fmt.Sprintf("%q", word)
}
