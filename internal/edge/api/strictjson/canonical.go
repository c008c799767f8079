package strictjson

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// AppendCanonical writes v in its canonical form, version 1: members sorted by their names' bytes, no space,
// numbers as written, strings with the fewest escapes. The form is part of stored fingerprints and may only
// change together with intent.FingerprintVersion.
func (v Value) AppendCanonical(b []byte) []byte {
	switch v.Kind {
	case Null, Bool, Number:
		return append(b, v.Text...)
	case String:
		return AppendString(b, v.Text)
	case Array:
		b = append(b, '[')
		for i, e := range v.Elements {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.AppendCanonical(b)
		}
		return append(b, ']')
	case Object:
		return v.appendMembers(b)
	}
	return b
}

func (v Value) appendMembers(b []byte) []byte {
	members := slices.Clone(v.Members)
	slices.SortFunc(members, func(x, y Member) int { return strings.Compare(x.Name, y.Name) })
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, m.Name), ':')
		b = m.Value.AppendCanonical(b)
	}
	return append(b, '}')
}

const hexDigits = "0123456789abcdef"

// AppendString writes s as a JSON string. Characters are written as they are, except those that must not be:
// the quote, the backslash and control characters, and U+2028 and U+2029, which end a line in older JavaScript.
// What is no UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' {
				b = appendUnit(append(b, s[from:i]...), uint16(r))
				from = i + n
			}
			i += n
			continue
		}
		if c < 0x20 || c == '"' || c == '\\' {
			b = appendEscape(append(b, s[from:i]...), c)
			from = i + 1
		}
		i++
	}
	return append(append(b, s[from:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return appendUnit(b, uint16(c))
}

func appendUnit(b []byte, u uint16) []byte {
	return append(b, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}
