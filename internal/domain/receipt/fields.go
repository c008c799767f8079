package receipt

import "strings"

// field is a key of the text form and where its value goes.
type field struct {
	key string
	at  func(*Text) *string
}

// fields are the keys of SMPP 3.4 appendix B, and the dates as some SMSCs write them, without the blank.
var fields = []field{
	{"id", func(t *Text) *string { return &t.ID }},
	{"sub", func(t *Text) *string { return &t.Sub }},
	{"dlvrd", func(t *Text) *string { return &t.Dlvrd }},
	{"submit date", func(t *Text) *string { return &t.SubmitDate }},
	{"submitdate", func(t *Text) *string { return &t.SubmitDate }},
	{"done date", func(t *Text) *string { return &t.DoneDate }},
	{"donedate", func(t *Text) *string { return &t.DoneDate }},
	{"stat", func(t *Text) *string { return &t.Stat }},
	{"err", func(t *Text) *string { return &t.Err }},
	{"text", nil},
}

// keyAt returns the field whose key s begins with, and how long key and colon are.
func keyAt(s string) (*field, int) {
	for i := range fields {
		n := len(fields[i].key)
		if len(s) > n && s[n] == ':' && strings.EqualFold(s[:n], fields[i].key) {
			return &fields[i], n + 1
		}
	}
	return nil, 0
}

// valueAt reads the value at the start of s. Blanks before it are skipped ("err: 002"), unless a key comes next:
// then the value is empty.
func valueAt(s string) (value, rest string) {
	s = strings.TrimLeft(s, blank)
	if f, _ := keyAt(s); f != nil {
		return "", s
	}
	return cutWord(s)
}

// cutWord cuts the first word and the blanks after it.
func cutWord(s string) (word, rest string) {
	i := strings.IndexAny(s, blank)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], blank)
}

// endsFields reports whether a word that is no key of ours is where the message's own text begins. A vendor's
// own "key:value" is passed over, and so is what has no letter, such as a zone after a date.
func endsFields(word string) bool {
	if strings.Contains(word, ":") {
		return false
	}
	return strings.IndexFunc(word, func(r rune) bool {
		return r > 0x7f || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}) >= 0
}
