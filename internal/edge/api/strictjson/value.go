// Package strictjson reads JSON (RFC 8259) the way a gateway has to that must not guess: a member name that
// comes twice, anything after the value, U+0000, broken UTF-8, a lone surrogate or a nesting beyond the limit is
// an error with a JSON Pointer to it. Errors never repeat a value.
//
// A value keeps its numbers as written, and Canonical writes it in one form whatever its spaces, its order of
// members and its escapes were: two spellings of one request give the same bytes.
package strictjson

import "strings"

// Kind is the type of a value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

var kindNames = map[Kind]string{
	Null: "null", Bool: "true or false", Number: "a number", String: "a string", Array: "an array", Object: "an object",
}

// String returns the kind in words for people.
func (k Kind) String() string { return kindNames[k] }

// Value is one JSON value.
type Value struct {
	Kind     Kind
	Text     string // of a String, decoded; of a Number, as written; of a Bool, true or false
	Members  []Member
	Elements []Value
}

// Member is a named value of an object, in the order of the document.
type Member struct {
	Name  string
	Value Value
}

// Error is one thing that is wrong with a document.
type Error struct {
	Pointer string // JSON Pointer in fragment form (RFC 6901 §6), such as "#/event/id"
	Detail  string
	Lost    bool // what comes after cannot be told: the document is no JSON from here on
}

// Error returns the place and what is wrong with it.
func (e Error) Error() string { return e.Pointer + ": " + e.Detail }

// Step adds a member name to a pointer. A name that is not a plain word may hold anything, a number for
// example, and is left out.
func Step(pointer, name string) string {
	if !plain(name) {
		return pointer + "/?"
	}
	return pointer + "/" + name
}

// plain reports that a name is a word: letters, underscores and hyphens, and not many digits.
func plain(name string) bool {
	const most, mostDigits = 64, 4
	digits := 0
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', strings.ContainsRune("_-", r):
		case r >= '0' && r <= '9':
			digits++
		default:
			return false
		}
	}
	return name != "" && len(name) <= most && digits <= mostDigits
}
