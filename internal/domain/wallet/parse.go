package wallet

import (
	"strconv"
	"strings"
)

// ParseUSD reads an amount in US dollars as people write it: "50", "-12.5", "0.0075"; ok is false for anything else, and for
// what is finer than a millionth or larger than Largest.
func ParseUSD(s string) (m MicroUSD, ok bool) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, cents, _ := strings.Cut(digits, ".")
	const places = 6
	if whole == "" || len(cents) > places || strings.HasSuffix(digits, ".") {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+cents+strings.Repeat("0", places-len(cents)), 10, 63)
	if err != nil || MicroUSD(n) > Largest {
		return 0, false
	}
	if negative {
		return -MicroUSD(n), true
	}
	return MicroUSD(n), true
}
