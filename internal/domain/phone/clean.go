package phone

import (
	"strings"
	"unicode"
)

// maxRaw bounds what is read at all, in octets. It leaves room for invisible characters around each digit.
const maxRaw = 256

// clean reduces a number as written to an optional plus sign and ASCII digits.
func clean(raw string) (string, error) {
	if len(raw) > maxRaw {
		return "", ErrTooLong
	}
	var b strings.Builder
	folded := withoutScheme(fold(raw))
	for _, r := range folded {
		switch {
		case '0' <= r && r <= '9':
			b.WriteRune(r)
		case r == '+' && b.Len() == 0:
			b.WriteRune(r)
		case separates(r):
		case several(folded):
			return "", ErrSeveral
		case unicode.IsLetter(r):
			return "", letters(folded)
		case r == '#' || r == ';' || r == ',':
			return "", ErrExtension
		default:
			return "", ErrCharacter
		}
	}
	if strings.Trim(b.String(), "+") == "" {
		return "", ErrNoDigits
	}
	return b.String(), nil
}

// withoutScheme drops the scheme of a telephone URI (RFC 3966, section 3), in any letter case. Its parameters are
// refused like whatever else comes behind a number.
func withoutScheme(folded string) string {
	const scheme = "tel:"
	s := strings.TrimSpace(folded)
	if len(s) >= len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
		return s[len(scheme):]
	}
	return folded
}

// several reports whether there are two numbers in what was given. Digits that are too few for a number do not
// count: they are an extension, or what was dialled after the call was answered.
func several(folded string) bool {
	numbers := 0
	for _, piece := range strings.FieldsFunc(folded, divides) {
		if digits := strings.Map(onlyDigits, piece); len(digits) >= minNational {
			numbers++
		}
	}
	return numbers > 1
}

// divides reports whether a character cannot be within one number. A number sign comes before an extension only.
func divides(r rune) bool { return r != '#' && onlyDigits(r) < 0 && !separates(r) }

func onlyDigits(r rune) rune {
	if '0' <= r && r <= '9' {
		return r
	}
	return -1
}

// letters tells an extension ("ext. 7", "x7") from a number that is spelt as a word.
func letters(raw string) error {
	raw = strings.ToLower(raw)
	if i := strings.IndexFunc(raw, unicode.IsLetter); strings.HasPrefix(raw[i:], "x") || strings.HasPrefix(raw[i:], "ext") {
		return ErrExtension
	}
	return ErrLetters
}

// fold drops what cannot be seen and writes every digit and plus sign in ASCII.
func fold(raw string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unseen(r):
			return -1
		case r == '＋' || r == '﹢':
			return '+'
		}
		if d, ok := digit(r); ok {
			return d
		}
		return r
	}, raw)
}

// unseen reports whether a character has no shape of its own: format characters (Unicode category Cf: marks of
// direction, joiners, the byte order mark, the soft hyphen) and variation selectors.
func unseen(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Variation_Selector) }

// digit returns the ASCII digit of a decimal digit of any script. Unicode gives the ten digits of a script
// consecutive code points (category Nd; Unicode 4.6), so the value follows from the place in the range.
func digit(r rune) (rune, bool) {
	for _, g := range unicode.Nd.R16 {
		if rune(g.Lo) <= r && r <= rune(g.Hi) {
			return '0' + (r-rune(g.Lo))%10, true
		}
	}
	for _, g := range unicode.Nd.R32 {
		if rune(g.Lo) <= r && r <= rune(g.Hi) {
			return '0' + (r-rune(g.Lo))%10, true
		}
	}
	return 0, false
}

// separates reports whether a character is written between the digits of a number and means nothing: spaces,
// dashes of all lengths, brackets, dots, slashes, tildes. A plus sign after the first digit does mean something.
func separates(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Pd, unicode.Ps, unicode.Pe) || strings.ContainsRune("./~−．／・⁓∼ー", r)
}
