package gsm

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Decode reads octets of an inbound message or a receipt. It is false where the data coding is not text, or
// is one that this package does not read; nothing is guessed then. Octets that are no character become U+FFFD.
func Decode(dataCoding uint8, octets []byte) (string, bool) {
	switch alphabet(dataCoding) {
	case alphabetDefault:
		return decodeDefault(octets), true
	case alphabetLatin1:
		return decodeLatin1(octets), true
	case alphabetUCS2:
		return decodeUCS2(octets), true
	}
	return "", false
}

type alphabetKind int

const (
	alphabetNone alphabetKind = iota
	alphabetDefault
	alphabetLatin1
	alphabetUCS2
)

// alphabet reads a data_coding: SMPP's own values below 0x10 and the groups of TS 23.038 above.
func alphabet(dc uint8) alphabetKind {
	switch {
	case dc == CodingDefault:
		return alphabetDefault
	case dc == CodingASCII, dc == CodingLatin1:
		return alphabetLatin1
	case dc == CodingUCS2:
		return alphabetUCS2
	case dc < 0x10:
		return alphabetNone
	case dc < 0x20: // general data coding with a class: flash
		return generalAlphabet(dc)
	case dc >= 0xC0 && dc < 0xE0: // message waiting
		return alphabetDefault
	case dc >= 0xE0 && dc < 0xF0: // message waiting, UCS-2
		return alphabetUCS2
	case dc >= 0xF0 && dc&0x04 == 0: // class, default alphabet; with bit 2 it is 8-bit data
		return alphabetDefault
	}
	return alphabetNone
}

func generalAlphabet(dc uint8) alphabetKind {
	switch dc >> 2 & 3 {
	case 0:
		return alphabetDefault
	case 2:
		return alphabetUCS2
	}
	return alphabetNone
}

// decodeDefault reads unpacked septets. Octets above 127 and an escape before an unknown code become U+FFFD,
// the code after such an escape is kept, as phones do (6.2.1.1).
func decodeDefault(octets []byte) string {
	out := make([]rune, 0, len(octets))
	for i := 0; i < len(octets); i++ {
		c := octets[i]
		switch {
		case c > 127:
			out = append(out, utf8.RuneError)
		case c != escape:
			out = append(out, basic[c])
		case i+1 < len(octets) && extension[octets[i+1]] != 0:
			i++
			out = append(out, extension[octets[i]])
		default:
			out = append(out, utf8.RuneError)
		}
	}
	return string(out)
}

func decodeLatin1(octets []byte) string {
	out := make([]rune, len(octets))
	for i, c := range octets {
		out[i] = rune(c)
	}
	return string(out)
}

// decodeUCS2 reads UTF-16 big-endian; an odd octet at the end becomes U+FFFD.
func decodeUCS2(octets []byte) string {
	units := make([]uint16, 0, len(octets)/2)
	for i := 0; i+1 < len(octets); i += 2 {
		units = append(units, uint16(octets[i])<<8|uint16(octets[i+1]))
	}
	text := string(utf16.Decode(units))
	if len(octets)%2 == 1 {
		text += string(utf8.RuneError)
	}
	return text
}
