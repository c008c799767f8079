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

// A part has 140 octets on air: 160 septets, or 70 units of UTF-16. Of a long message each part gives six or seven
// of them to its header.
const (
	oneSeptets = 160
	oneUnits   = 70
)

func (b ReferenceBits) partSeptets() int {
	if b == Reference16 {
		return 152
	}
	return 153
}

func (b ReferenceBits) partUnits() int {
	if b == Reference16 {
		return 66
	}
	return 67
}

// Part is what one short message carries of a text, ready for the wire.
type Part struct {
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
	one, each, width := oneSeptets, bits.partSeptets(), 1
	if m.DataCoding == CodingUCS2 {
		one, each, width = oneUnits, bits.partUnits(), 2
	}
	used := len(m.Parts[len(m.Parts)-1].Octets) / width
	if len(m.Parts) == 1 {
		return one - used
	}
	return each - used
}

// Split cuts a text into the parts of one message: in the default alphabet if every character is in it, else in
// UCS-2. An escape is never cut from its code, nor a surrogate from its pair. The number of parts is not bounded
// here. The only error is ErrNotText.
func Split(text string, bits ReferenceBits) (Message, error) {
	if !utf8.ValidString(text) {
		return Message{}, ErrNotText
	}
	if fitsDefault(text) {
		return split(text, CodingDefault, oneSeptets, bits.partSeptets(), septets), nil
	}
	return split(text, CodingUCS2, oneUnits, bits.partUnits(), utf16.RuneLen), nil
}

func split(text string, coding uint8, one, each int, width func(rune) int) Message {
	m := Message{DataCoding: coding}
	for _, r := range text {
		m.Units += width(r)
	}
	if m.Units <= one {
		m.Parts = []Part{encode(text, coding)}
		return m
	}
	begin, used := 0, 0
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
		return Part{coding, appendUCS2(nil, text)}
	}
	return Part{coding, EncodeDefault(text)}
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
