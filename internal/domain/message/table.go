// Package message says in which states a message, one part of one attempt, and a part's reported delivery can
// be, how each may move, and what the state of a message is, given everything that is known about its parts.
//
// There is one table for each of the three kinds of state. Spellings, permitted moves and docs/states.md are
// made from it. The numbers are stored: they are written out and never given to anything else.
package message

import "slices"

// row is one state of a table.
type row[T ~uint8] struct {
	name  string // its spelling everywhere: API, events, policies, metrics
	about string // what it means, for docs/states.md
	to    []T    // where it may move
}

// spell returns the name of v, or "" for a number that is not in the table.
func spell[T ~uint8](rows []row[T], v T) string {
	if int(v) >= len(rows) {
		return ""
	}
	return rows[v].name
}

// parse finds the state of that name.
func parse[T ~uint8](rows []row[T], name string) (T, bool) {
	if name == "" {
		return 0, false
	}
	i := slices.IndexFunc(rows, func(r row[T]) bool { return r.name == name })
	return T(max(i, 0)), i >= 0
}

// moves reports whether the table lets from move to to.
func moves[T ~uint8](rows []row[T], from, to T) bool {
	return int(from) < len(rows) && slices.Contains(rows[from].to, to)
}
