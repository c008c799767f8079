package gsm

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// ReferenceBits is how wide the number is that ties the parts of a long message together (3GPP TS 23.040, 9.2.3.24.1
// and 9.2.3.24.8). The wider one takes an octet more of every part.
type ReferenceBits int

// The widths.
const (
	Reference8  ReferenceBits = 8
	Reference16 ReferenceBits = 16
)

// MaxParts is how many parts a long message can have: their number is an octet.
const MaxParts = 255

// Capacity is how many octets of text one part has room for: septets, an octet each, or two octets for each unit of
// UTF-16. A part has 140 octets on air, which are 160 septets or 70 units; of a long message each part gives six or
// seven of them to its header. bits is 0 for a text that is whole.
func Capacity(coding uint8, bits ReferenceBits) int {
	const onAir, septets = 140, 160
	header := 0
	switch bits {
	case Reference8:
		header = 6
	case Reference16:
		header = 7
	}
	if coding == CodingUCS2 {
		return (onAir - header) / 2 * 2
	}
	return septets - (header*8+6)/7 // the header ends at a septet
}

// units is Capacity in the units of the coding.
func units(coding uint8, bits ReferenceBits) int { return Capacity(coding, bits) / width(coding) }

// width is how many octets a unit takes.
func width(coding uint8) int {
	if coding == CodingUCS2 {
		return 2
	}
	return 1
}

// Part is what one short message carries of a text, ready for the wire.
type Part struct {
	Text       string
	DataCoding uint8
	Octets     []byte
}

// Message is a text cut into its parts. All of them have the same data coding.
type Message struct {
	DataCoding uint8
	Units      int // septets or units of UTF-16 in all parts, an extension character counting two
	Parts      []Part
}

// Left is how many units the last part still has room for.
func (m Message) Left(bits ReferenceBits) int {
	if len(m.Parts) == 1 {
		bits = 0
	}
	return units(m.DataCoding, bits) - len(m.Parts[len(m.Parts)-1].Octets)/width(m.DataCoding)
}

// Split cuts a text into the parts of one message: in the default alphabet if every character is in it, else in
// UCS-2. An escape is never cut from its code, nor a surrogate from its pair. The number of parts is not bounded
// here. The only error is ErrNotText.
func Split(text string, bits ReferenceBits) (Message, error) {
	if !utf8.ValidString(text) {
		return Message{}, ErrNotText
	}
	if fitsDefault(text) {
		return split(text, CodingDefault, bits, septets), nil
	}
	return split(text, CodingUCS2, bits, utf16.RuneLen), nil
}

func split(text string, coding uint8, bits ReferenceBits, width func(rune) int) Message {
	m := Message{DataCoding: coding}
	for _, r := range text {
		m.Units += width(r)
	}
	if m.Units <= units(coding, 0) {
		m.Parts = []Part{encode(text, coding)}
		return m
	}
	begin, used, each := 0, 0, units(coding, bits)
	for i, r := range text {
		w := width(r)
		if used+w > each {
			m.Parts = append(m.Parts, encode(text[begin:i], coding))
			begin, used = i, 0
		}
		used += w
	}
	m.Parts = append(m.Parts, encode(text[begin:], coding))
	return m
}

func encode(text string, coding uint8) Part {
	if coding == CodingUCS2 {
		return Part{text, coding, appendUCS2(nil, text)}
	}
	return Part{text, coding, EncodeDefault(text)}
}

// EncodeAs writes a text, or a part of one, in a data coding that Split has chosen before. ErrCoding: it is not one
// of those, or has no place for a character.
func EncodeAs(text string, coding uint8) ([]byte, error) {
	switch {
	case !utf8.ValidString(text):
		return nil, ErrNotText
	case coding == CodingUCS2, coding == CodingDefault && fitsDefault(text):
		return encode(text, coding).Octets, nil
	}
	return nil, ErrCoding
}

// TooLongError says that a text does not fit in one part.
type TooLongError struct{ Parts int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("gsm: the text needs %d parts, one is possible", e.Parts)
}

// Encode writes a text of one part. A longer one is a *TooLongError.
func Encode(text string) (Part, error) {
	m, err := Split(text, Reference8)
	switch {
	case err != nil:
		return Part{}, err
	case len(m.Parts) > 1:
		return Part{}, &TooLongError{len(m.Parts)}
	}
	return m.Parts[0], nil
}
