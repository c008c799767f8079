package phone

import (
	"slices"
	"strings"
	"unicode"
)

// shownHead is how many digits of a spelling are shown at its beginning: the country code, or the zeros in front of it.
const shownHead = 2

// MaskWritten shows how the number was written, with its middle hidden as by Mask: no more of its end is shown, and what
// is hidden has no length. Characters that cannot be seen are left out.
func (n Number) MaskWritten(raw string) string {
	tail := 2
	if len(n.e164) > 10 {
		tail = 4
	}
	spelling := slices.DeleteFunc([]rune(raw), func(r rune) bool { return unseen(r) || unicode.IsControl(r) })
	var digits []int
	for i, r := range spelling {
		if unicode.IsDigit(r) {
			digits = append(digits, i)
		}
	}
	if n.IsZero() || len(digits) <= tail {
		return "•••"
	}
	head := digits[0]
	if len(digits) >= 10 { // with fewer there is no country code, and each tells too much
		head = digits[shownHead-1] + 1
	}
	return strings.TrimSpace(string(spelling[:head]) + "•••" + string(spelling[digits[len(digits)-tail]:]))
}
