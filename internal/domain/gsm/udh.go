package gsm

import "errors"

// ErrUDH says that a user data header's elements do not fill it exactly. No element of such a header counts
// (3GPP TS 23.040, 9.2.3.24).
var ErrUDH = errors.New("gsm: the user data header is malformed")

// Identifiers of elements (9.2.3.24).
const (
	ieConcat8         = 0x00
	ieConcat16        = 0x08
	ieLanguageSingle  = 0x24
	ieLanguageLocking = 0x25
)

// Element is one information element of a user data header.
type Element struct {
	ID   uint8
	Data []byte
}

// UDH is a user data header's elements in their order.
type UDH []Element

// ParseUDH reads a header, its length octet included. What an unknown element means is left to others; that its
// length is true is not.
func ParseUDH(header []byte) (UDH, error) {
	if len(header) == 0 || int(header[0]) != len(header)-1 {
		return nil, ErrUDH
	}
	var all UDH
	for rest := header[1:]; len(rest) > 0; {
		if len(rest) < 2 || int(rest[1]) > len(rest)-2 {
			return nil, ErrUDH
		}
		end := 2 + int(rest[1])
		all = append(all, Element{rest[0], rest[2:end:end]})
		rest = rest[end:]
	}
	return all, nil
}

// Concat says which part of a long message this is. Parts belong together where Reference, Wide and Total are equal,
// and sender and recipient.
type Concat struct {
	Reference uint16
	Wide      bool // a 16-bit reference: 0x0002 is another one than the 8-bit 0x02
	Total     uint8
	Sequence  uint8 // from 1 to Total
}

// Header writes the user data header of this part, its length octet included.
func (c Concat) Header() []byte {
	if c.Wide {
		return []byte{6, ieConcat16, 4, byte(c.Reference >> 8), byte(c.Reference), c.Total, c.Sequence}
	}
	return []byte{5, ieConcat8, 3, byte(c.Reference), c.Total, c.Sequence}
}

// Concat returns the concatenation, if the header has one. An element that numbers no part (a total or a number of 0,
// a number above the total, another length than its own) is ignored, and a later one takes the place of an earlier.
func (h UDH) Concat() (last Concat, ok bool) {
	for _, e := range h {
		if c, valid := e.concat(); valid {
			last, ok = c, true
		}
	}
	return last, ok
}

func (e Element) concat() (c Concat, ok bool) {
	d := e.Data
	switch {
	case e.ID == ieConcat8 && len(d) == 3:
		c = Concat{Reference: uint16(d[0]), Total: d[1], Sequence: d[2]}
	case e.ID == ieConcat16 && len(d) == 4:
		c = Concat{Reference: uint16(d[0])<<8 | uint16(d[1]), Wide: true, Total: d[2], Sequence: d[3]}
	default:
		return Concat{}, false
	}
	return c, c.Total > 0 && c.Sequence > 0 && c.Sequence <= c.Total
}

// OtherLanguage reports whether the text is in a national language table (3GPP TS 23.038, 6.2.1.2), which Decode does
// not read: it takes some characters for others.
func (h UDH) OtherLanguage() bool {
	for _, e := range h {
		if e.ID == ieLanguageSingle || e.ID == ieLanguageLocking {
			return true
		}
	}
	return false
}
