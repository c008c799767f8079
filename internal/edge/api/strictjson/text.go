package strictjson

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	badNUL       = "U+0000 is not allowed in a text"
	badUTF8      = "not UTF-8: send the text in UTF-8"
	badSurrogate = "half of a surrogate pair: send the whole character"
)

// text reads a string. Wrong characters are reported once each and reading goes on; a wrong escape or a control
// character ends it.
func (p *parser) text(pointer string) string {
	p.at++
	start := p.at
	for p.at < len(p.in) { // most strings are plain ASCII
		c := p.in[p.at]
		if c == '"' {
			s := string(p.in[start:p.at])
			p.at++
			return s
		}
		if c == '\\' || c < 0x20 || c >= utf8.RuneSelf {
			break
		}
		p.at++
	}
	return p.slowText(pointer, append([]byte(nil), p.in[start:p.at]...))
}

func (p *parser) slowText(pointer string, out []byte) string {
	wrong := ""
	for p.at < len(p.in) && !p.stop {
		switch c := p.in[p.at]; {
		case c == '"':
			p.at++
			if wrong != "" {
				p.report(pointer, wrong)
			}
			return string(out)
		case c == '\\':
			out, wrong = p.escape(pointer, out, wrong)
		case c == 0:
			wrong = badNUL
			p.at++
		case c < 0x20:
			p.broken(pointer, "an escape such as \\n instead of a control character")
		default:
			r, n := utf8.DecodeRune(p.in[p.at:])
			if r == utf8.RuneError && n == 1 {
				wrong = badUTF8
			}
			out = append(out, p.in[p.at:p.at+n]...)
			p.at += n
		}
	}
	p.broken(pointer, "the end of a string")
	return ""
}

var shortEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one escape and returns the text with it, and what is wrong with the text so far.
func (p *parser) escape(pointer string, out []byte, wrong string) ([]byte, string) {
	if p.at+1 >= len(p.in) {
		p.at = len(p.in)
		return out, wrong
	}
	if c, ok := shortEscapes[p.in[p.at+1]]; ok {
		p.at += 2
		return append(out, c), wrong
	}
	r, ok := p.unit()
	if !ok {
		p.broken(pointer, "an escape that JSON knows")
		return out, wrong
	}
	switch {
	case r == 0:
		return out, badNUL
	case utf16.IsSurrogate(r):
		low, _ := p.unit()
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return out, badSurrogate
		}
	}
	return utf8.AppendRune(out, r), wrong
}

// unit reads \uXXXX.
func (p *parser) unit() (rune, bool) {
	if p.at+6 > len(p.in) || p.in[p.at] != '\\' || p.in[p.at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.in[p.at+2:p.at+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	p.at += 6
	return rune(n), true
}
