// Package phone turns destinations as people write them into one form, E.164, and refuses what cannot be one.
// It also reads senders.
//
// A number is personal data. Number therefore shows a masked form to everything that prints, logs or marshals
// it; the clear text is asked for by name. Errors never repeat what was given.
package phone

import (
	"fmt"
	"io"
)

// Number is a telephone number in E.164. It is comparable; the zero value is "none".
type Number struct{ e164 string }

// E164 returns the number in clear text, with the plus sign, or "" for none.
func (n Number) E164() string { return n.e164 }

// IsZero reports whether there is no number.
func (n Number) IsZero() bool { return n.e164 == "" }

// Mask returns the number with its middle hidden, such as "+1202•••0143". The dots do not tell how many digits
// they stand for, and of a short number fewer are shown.
func (n Number) Mask() string {
	digits := len(n.e164) - 1
	switch {
	case digits < 1:
		return ""
	case digits < 10:
		return n.e164[:3] + "•••" + n.e164[digits-1:]
	}
	return n.e164[:5] + "•••" + n.e164[digits-3:]
}

// String returns the masked form.
func (n Number) String() string { return n.Mask() }

// Format writes the masked form for every verb, so that neither %#v nor %d shows what is inside.
func (n Number) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, n.Mask()) }

// MarshalText returns the masked form; encoding/json and the handlers of log/slog use it. There is no reading
// back: whoever wants to store or send a number asks for E164.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.Mask()), nil }
