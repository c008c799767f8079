package phone

import (
	"errors"
	"strings"
	"unicode"

	"github.com/einmal/einmal/internal/domain/gsm"
)

// SenderKind says how a sender is addressed.
type SenderKind uint8

// The kinds.
const (
	Alphanumeric  SenderKind = iota + 1 // a name
	ShortCode                           // 3 to 8 digits, within one country
	International                       // a number with country code
)

// Sender is what a message says it comes from. It is comparable; the zero value is "none". A sender is public
// and not masked.
type Sender struct {
	kind SenderKind
	text string
}

// ErrSender says what a sender may be.
var ErrSender = errors.New("not a sender: use a name of at most 11 characters of the GSM alphabet with a letter among them, a short code of 3 to 8 digits, or a number with its country code of at most 15 digits")

// Limits of senders. A name's is that of the address field on air (3GPP TS 23.040, 9.1.2.5: 11 septets).
const (
	maxName      = 11
	minShortCode = 3
	maxShortCode = 8
)

// Kind returns how the sender is addressed, or 0 for none.
func (s Sender) Kind() SenderKind { return s.kind }

// String returns the sender: a name as given, else its digits, with a plus sign only where they would be a short code
// without it. ParseSender reads it back as the same sender. "" is none.
func (s Sender) String() string { return s.text }

// IsZero reports whether there is no sender.
func (s Sender) IsZero() bool { return s.kind == 0 }

// ParseSender reads a sender. With a letter it is a name, kept in its letter case; else it is digits, a number
// if a plus sign comes first or there are more than eight. A number has its country code: one in local form
// would mean another sender abroad, and is refused where it shows, by a leading zero.
func ParseSender(raw string) (Sender, error) {
	if len(raw) > maxRaw {
		return Sender{}, ErrSender
	}
	if strings.ContainsFunc(raw, unicode.IsLetter) {
		return parseName(raw)
	}
	cleaned, err := clean(raw)
	if err != nil {
		return Sender{}, ErrSender
	}
	digits, plus := strings.CutPrefix(cleaned, "+")
	n := len(digits)
	switch {
	case !plus && minShortCode <= n && n <= maxShortCode:
		return Sender{ShortCode, digits}, nil
	case n >= minNational && n <= maxDigits && digits[0] != '0':
		if n <= maxShortCode {
			digits = "+" + digits
		}
		return Sender{International, digits}, nil
	}
	return Sender{}, ErrSender
}

// parseName reads an alphanumeric sender. Control characters of the alphabet are refused: line breaks and form
// feeds have no place in a name.
func parseName(raw string) (Sender, error) {
	name := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, raw))
	part, err := gsm.Encode(name)
	if err != nil || part.DataCoding != gsm.CodingDefault || len(part.Octets) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return Sender{}, ErrSender
	}
	return Sender{Alphanumeric, name}, nil
}
