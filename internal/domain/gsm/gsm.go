// Package gsm turns text into the octets of one short message and back: the default alphabet of 3GPP TS
// 23.038, unpacked as SMPP carries it (an octet a septet), and UCS-2, in practice UTF-16 big-endian.
package gsm

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Data codings that Encode chooses from (SMPP 3.4, section 5.2.19).
const (
	CodingDefault uint8 = 0
	CodingASCII   uint8 = 1
	CodingLatin1  uint8 = 3
	CodingUCS2    uint8 = 8
)

// Limits of one part: 140 octets on air. A part of several loses six of them to its header with an 8-bit
// reference.
const (
	oneSeptets  = 160
	partSeptets = 153
	oneUnits    = 70
	partUnits   = 67
)

// ErrNotText says that a text is not UTF-8.
var ErrNotText = errors.New("gsm: the text is not UTF-8")

// TooLongError says that a text does not fit in one part.
type TooLongError struct{ Parts int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("gsm: the text needs %d parts, one is possible", e.Parts)
}

// Part is a text ready for the wire.
type Part struct {
	DataCoding uint8
	Octets     []byte
}

// Encode writes a text of one part: in the default alphabet if every character is in it, else in UCS-2. A
// longer text is a *TooLongError.
func Encode(text string) (Part, error) {
	if !utf8.ValidString(text) {
		return Part{}, ErrNotText
	}
	if n := Parts(text); n > 1 {
		return Part{}, &TooLongError{n}
	}
	if octets, ok := appendDefault(nil, text); ok {
		return Part{CodingDefault, octets}, nil
	}
	return Part{CodingUCS2, appendUCS2(nil, text)}, nil
}

// EncodeDefault writes a text in the default alphabet, with a question mark for each character that is not
// in it: for texts that only quote another.
func EncodeDefault(text string) []byte {
	octets := make([]byte, 0, len(text))
	for _, r := range text {
		octets = append(octets, septets(r)...)
	}
	return octets
}

// Parts says how many parts a text needs. An escape is never cut from its code, nor a surrogate from its pair,
// so the number is counted and not divided.
func Parts(text string) int {
	if fitsDefault(text) {
		return count(text, oneSeptets, partSeptets, func(r rune) int { return len(septets(r)) })
	}
	return count(text, oneUnits, partUnits, utf16.RuneLen)
}

func count(text string, one, each int, width func(rune) int) int {
	total, parts, used := 0, 1, 0
	for _, r := range text {
		w := width(r)
		total += w
		if used+w > each {
			parts, used = parts+1, 0
		}
		used += w
	}
	if total <= one {
		return 1
	}
	return parts
}

// Prefix returns at most n characters from the start of a text: whole ones, so that neither an escape nor a
// surrogate pair is cut when they are encoded.
func Prefix(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

func fitsDefault(text string) bool {
	for _, r := range text {
		if _, ok := basicCode[r]; ok {
			continue
		}
		if _, ok := extensionCode[r]; !ok {
			return false
		}
	}
	return true
}

// septets returns a character's codes, or a question mark's.
func septets(r rune) []byte {
	if code, ok := basicCode[r]; ok {
		return []byte{code}
	}
	if code, ok := extensionCode[r]; ok {
		return []byte{escape, code}
	}
	return []byte{'?'}
}

func appendDefault(dst []byte, text string) ([]byte, bool) {
	if !fitsDefault(text) {
		return dst, false
	}
	return append(dst, EncodeDefault(text)...), true
}

func appendUCS2(dst []byte, text string) []byte {
	for _, r := range text {
		for _, u := range utf16.AppendRune(nil, r) {
			dst = append(dst, byte(u>>8), byte(u))
		}
	}
	return dst
}
