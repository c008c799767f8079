package telemetry

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A phone number has at least so many digits. There is no upper bound: fifteen is E.164's (ITU-T E.164 §6),
// but a number may stand behind 00 or 011, and cutting another long number is the smaller harm.
const fewestDigits = 8

// keptDigits stay readable, so that two lines about one number can be seen to belong together.
const keptDigits = 4

const dots = "•••"

// readable are the shapes that hold many digits and are no phone numbers. Each must end at a boundary, which
// plainRun checks.
var readable = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`(?:msg|dec|rcp|exc|node)_[0-9a-f]{32}`,
	`0x[0-9a-fA-F]+`,
	`[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?`,
	`(?:[0-9]{1,3}\.){3}[0-9]{1,3}:[0-9]{1,5}`,
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
}, "|") + `)`)

// Mask replaces whatever looks like a phone number by its last four digits.
func Mask(s string) string {
	if !suspicious(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := plainRun(s, i)
		if n > 0 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		n, digits := numberRun(s[i:])
		if len(digits) >= fewestDigits {
			b.WriteString(dots + string(digits[len(digits)-keptDigits:]))
		} else {
			n = firstRun(s[i:]) // what follows may be readable, such as a code behind a bracket
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// suspicious is the quick look that spares most lines the slow one.
func suspicious(s string) bool {
	n := 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n >= fewestDigits
}

// plainRun returns the length of the readable shape that begins at s[i], 0 if there is none there. A shape
// inside a word, or with digits right behind it, is no shape.
func plainRun(s string, i int) int {
	if i > 0 && wordByte(s[i-1]) {
		return 0
	}
	n := len(readable.FindString(s[i:]))
	if n == 0 || i+n < len(s) && wordByte(s[i+n]) {
		return 0
	}
	return n
}

func wordByte(c byte) bool {
	return c == '_' || c == '+' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// numberRun reads digits of any script with the separators that people write between them, and returns how
// long the run is and its digits. Separators at its end do not belong to it.
func numberRun(s string) (n int, digits []rune) {
	gap := 0
	for i, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits, n, gap = append(digits, r), i+utf8.RuneLen(r), 0
		case i == 0 && (r == '+' || r == '('), gap < 3 && separator(r) && (len(digits) > 0 || s[0] == '+' || s[0] == '('):
			gap++
		default:
			return n, digits
		}
	}
	return n, digits
}

// separator reports what may stand between the digits of one number, invisible characters included.
func separator(r rune) bool {
	switch r {
	case ' ', '-', '.', '(', ')', '/', '\u00a0', '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u202f', '\u2009':
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// firstRun is the length of the digits that s begins with, else of its first character.
func firstRun(s string) int {
	n := 0
	for _, r := range s {
		if !unicode.IsDigit(r) {
			break
		}
		n += utf8.RuneLen(r)
	}
	return max(n, runeLen(s))
}

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
