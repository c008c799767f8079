package smpp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// TLV is an optional parameter: a tag and its value as on the wire.
type TLV struct {
	Tag   Tag
	Value []byte
}

// tlv writes one optional parameter.
func (f *fields) tlv(t TLV) {
	if f.err != nil {
		return
	}
	wrong := t.Tag.wrongLength(len(t.Value))
	if len(t.Value) > math.MaxUint16 {
		wrong = "is longer than 65535 octets"
	}
	if wrong != "" {
		f.err = &FieldError{t.Tag.String(), wrong}
		return
	}
	f.buf = binary.BigEndian.AppendUint16(f.buf, uint16(t.Tag))
	f.buf = binary.BigEndian.AppendUint16(f.buf, uint16(len(t.Value))) // checked
	f.buf = append(f.buf, t.Value...)
}

// tlvs reads the optional parameters to the PDU's end. A parameter that is cut off is dropped with a warning,
// those before it are kept. A stray NUL before the first one, which some centres put after short_message, is
// skipped where only that makes the rest readable.
func (f *fields) tlvs() []TLV {
	found, warning := readTLVs(f.buf)
	if warning != "" && f.buf[0] == 0 {
		if again, w := readTLVs(f.buf[1:]); w == "" {
			found, warning = again, warnTrailing
		}
	}
	if warning != "" {
		f.warn(warning)
	}
	for _, t := range found {
		if wrong := t.Tag.wrongLength(len(t.Value)); wrong != "" {
			f.warn(t.Tag.String() + " " + wrong)
		}
	}
	f.buf = nil
	return found
}

const warnTrailing = "trailing bytes"

func readTLVs(b []byte) (found []TLV, warning string) {
	for len(b) > 0 {
		if len(b) < 4 {
			return found, warnTrailing
		}
		tag, length := Tag(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint16(b[2:]))
		if length > len(b)-4 {
			return found, fmt.Sprintf("bad TLV %04X dropped", uint16(tag))
		}
		found = append(found, TLV{tag, b[4 : 4+length : 4+length]})
		b = b[4+length:]
	}
	return found, ""
}

// TLV returns the first value with the tag.
func (p *PDU) TLV(tag Tag) ([]byte, bool) {
	for _, t := range p.TLVs {
		if t.Tag == tag {
			return t.Value, true
		}
	}
	return nil, false
}

// TLVString returns the value of a C-octet string, with or without its NUL.
func (p *PDU) TLVString(tag Tag) (string, bool) {
	v, ok := p.TLV(tag)
	if i := bytes.IndexByte(v, 0); i >= 0 {
		v = v[:i]
	}
	return string(v), ok
}

// TLVUint returns the value of an integer of one, two or four octets; false for any other length.
func (p *PDU) TLVUint(tag Tag) (uint32, bool) {
	v, _ := p.TLV(tag)
	switch len(v) {
	case 1:
		return uint32(v[0]), true
	case 2:
		return uint32(binary.BigEndian.Uint16(v)), true
	case 4:
		return binary.BigEndian.Uint32(v), true
	}
	return 0, false
}

// AddOctet adds an integer of one octet.
func (p *PDU) AddOctet(tag Tag, v uint8) { p.TLVs = append(p.TLVs, TLV{tag, []byte{v}}) }

// Add adds an octet string.
func (p *PDU) Add(tag Tag, v []byte) { p.TLVs = append(p.TLVs, TLV{tag, v}) }

// AddUint16 adds an integer of two octets.
func (p *PDU) AddUint16(tag Tag, v uint16) {
	p.TLVs = append(p.TLVs, TLV{tag, binary.BigEndian.AppendUint16(nil, v)})
}

// AddString adds a C-octet string with its NUL.
func (p *PDU) AddString(tag Tag, s string) {
	p.TLVs = append(p.TLVs, TLV{tag, append([]byte(s), 0)})
}
