package strictjson

import (
	"fmt"
	"slices"
	"strconv"
)

// MaxDepth is how deep values may be nested. Requests need three levels and metadata a few more.
const MaxDepth = 16

// maxMembers bounds an object, so that looking for a name that comes twice stays cheap.
const maxMembers = 256

// Parse reads one document. Mistakes that leave its structure clear are all reported; the first one that does
// not ends the reading and is marked as Lost. Of the value, only what no error points at or into is to be used.
func Parse(doc []byte) (Value, []Error) {
	p := parser{in: doc}
	v := p.document()
	return v, p.errs
}

type parser struct {
	in   []byte
	at   int
	errs []Error
	stop bool // the structure is lost
}

func (p *parser) document() Value {
	v := p.value("#", 1)
	p.space()
	if !p.stop && p.at < len(p.in) {
		p.fatal("#", "there is something after the JSON value: send one value alone")
	}
	return v
}

func (p *parser) report(pointer, detail string) {
	p.errs = append(p.errs, Error{Pointer: pointer, Detail: detail})
}

func (p *parser) fatal(pointer, detail string) {
	if !p.stop {
		p.errs = append(p.errs, Error{pointer, detail, true})
	}
	p.stop = true
}

// broken reports that the document is no JSON from here on.
func (p *parser) broken(pointer, wanted string) {
	if p.at >= len(p.in) {
		p.fatal(pointer, "not JSON: it ends where "+wanted+" is expected")
		return
	}
	p.fatal(pointer, fmt.Sprintf("not JSON: at byte %d %s is expected", p.at+1, wanted))
}

func (p *parser) space() {
	for p.at < len(p.in) {
		switch p.in[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek returns the next byte that is no space, 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.at >= len(p.in) {
		return 0
	}
	return p.in[p.at]
}

func (p *parser) take(c byte) bool {
	if p.peek() != c || p.at >= len(p.in) {
		return false
	}
	p.at++
	return true
}

func (p *parser) value(pointer string, depth int) Value {
	c := p.peek()
	if depth > MaxDepth && (c == '{' || c == '[') {
		p.report(pointer, fmt.Sprintf("nested too deeply: at most %d levels", MaxDepth))
		p.skip(pointer)
		return Value{}
	}
	switch {
	case c == '{':
		return p.object(pointer, depth)
	case c == '[':
		return p.array(pointer, depth)
	case c == '"':
		return Value{Kind: String, Text: p.text(pointer)}
	case c == '-' || c >= '0' && c <= '9':
		return p.number(pointer)
	}
	return p.word(pointer)
}

func (p *parser) word(pointer string) Value {
	for word, kind := range map[string]Kind{"null": Null, "true": Bool, "false": Bool} {
		if end := p.at + len(word); end <= len(p.in) && string(p.in[p.at:end]) == word {
			p.at = end
			return Value{Kind: kind, Text: word}
		}
	}
	p.broken(pointer, "a value")
	return Value{}
}

func (p *parser) object(pointer string, depth int) Value {
	v := Value{Kind: Object}
	p.at++
	for first := true; !p.stop && !p.take('}'); first = false {
		if !first && !p.take(',') {
			p.broken(pointer, "a comma or the object's end")
			break
		}
		if p.peek() != '"' {
			p.broken(pointer, "a member's name in double quotes")
			break
		}
		p.member(&v, pointer, depth)
	}
	return v
}

func (p *parser) member(v *Value, pointer string, depth int) {
	name := p.text(pointer)
	if !p.stop && !p.take(':') {
		p.broken(pointer, "a colon")
	}
	if p.stop {
		return
	}
	inner := Step(pointer, name)
	if len(v.Members) > maxMembers { // that is reported already
		p.value(inner, depth+1)
		return
	}
	if len(v.Members) == maxMembers {
		p.report(pointer, fmt.Sprintf("too many members: at most %d", maxMembers))
	} else if slices.ContainsFunc(v.Members, func(m Member) bool { return m.Name == name }) {
		p.report(inner, "this member is there twice: name it once")
	}
	v.Members = append(v.Members, Member{name, p.value(inner, depth+1)})
}

func (p *parser) array(pointer string, depth int) Value {
	v := Value{Kind: Array}
	p.at++
	for !p.stop && !p.take(']') {
		if len(v.Elements) > 0 && !p.take(',') {
			p.broken(pointer, "a comma or the array's end")
			break
		}
		v.Elements = append(v.Elements, p.value(pointer+"/"+strconv.Itoa(len(v.Elements)), depth+1))
	}
	return v
}

// skip passes over an array or an object that is refused for its depth, however deep it is: by its brackets and
// strings alone, and without recursion.
func (p *parser) skip(pointer string) {
	var open []byte // the brackets that are to come, the innermost last
	for !p.stop {
		switch c := p.peek(); {
		case p.at >= len(p.in):
			p.broken(pointer, "the end of an array or object")
		case c == '"':
			p.text(pointer)
			continue
		case c == '{' || c == '[':
			open = append(open, c+2) // in ASCII the closing ones come two after
		case c == '}' || c == ']':
			last := len(open) - 1
			if c != open[last] {
				p.broken(pointer, "the other closing bracket")
			}
			open = open[:last]
		}
		if p.at++; len(open) == 0 {
			return
		}
	}
}

// number reads a number by the grammar of RFC 8259 §6 and keeps it as written.
func (p *parser) number(pointer string) Value {
	start := p.at
	if p.at < len(p.in) && p.in[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.in) && p.in[p.at] == '0' {
		p.at++
	} else if !p.digits() {
		p.broken(pointer, "a digit")
	}
	if p.at < len(p.in) && p.in[p.at] == '.' {
		if p.at++; !p.digits() {
			p.broken(pointer, "a digit")
		}
	}
	if p.at < len(p.in) && p.in[p.at]|0x20 == 'e' {
		if p.at++; p.at < len(p.in) && (p.in[p.at] == '+' || p.in[p.at] == '-') {
			p.at++
		}
		if !p.digits() {
			p.broken(pointer, "a digit")
		}
	}
	return Value{Kind: Number, Text: string(p.in[start:p.at])}
}

func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.in) && p.in[p.at] >= '0' && p.in[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}
