// Package gsm turns text into the octets of short messages and back: the default alphabet of 3GPP TS
// 23.038, unpacked as SMPP carries it (an octet a septet), and UCS-2, in practice UTF-16 big-endian.
package gsm

import (
	"errors"
	"unicode/utf16"
)

// Data codings that Split chooses from, and others that Decode reads (SMPP 3.4, section 5.2.19).
const (
	CodingDefault uint8 = 0
	CodingASCII   uint8 = 1
	CodingLatin1  uint8 = 3
	CodingUCS2    uint8 = 8
)

// Errors of texts.
var (
	ErrNotText = errors.New("gsm: the text is not UTF-8")
	ErrCoding  = errors.New("gsm: the text does not fit the data coding that was chosen for it")
)

// EncodeDefault writes a text in the default alphabet, with a question mark for each character that is not
// in it: for texts that only quote another.
func EncodeDefault(text string) []byte {
	octets := make([]byte, 0, len(text))
	for _, r := range text {
		octets = appendSeptets(octets, r)
	}
	return octets
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
		if septets(r) == 0 {
			return false
		}
	}
	return true
}

// septets is how many septets a character takes in the default alphabet; 0: it is not in it.
func septets(r rune) int {
	if _, ok := basicCode[r]; ok {
		return 1
	}
	if _, ok := extensionCode[r]; ok {
		return 2
	}
	return 0
}

// appendSeptets writes a character's codes, or a question mark's.
func appendSeptets(dst []byte, r rune) []byte {
	if code, ok := basicCode[r]; ok {
		return append(dst, code)
	}
	if code, ok := extensionCode[r]; ok {
		return append(dst, escape, code)
	}
	return append(dst, '?')
}

func appendUCS2(dst []byte, text string) []byte {
	for _, r := range text {
		for _, u := range utf16.AppendRune(nil, r) {
			dst = append(dst, byte(u>>8), byte(u))
		}
	}
	return dst
}
