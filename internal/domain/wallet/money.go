// Package wallet says what a prepaid tenant may spend, what a charge is and how it moves.
//
// Everything here is pure. A wallet is a fold over transfers, each of which takes an amount from one account and gives
// it to another, so that they sum to zero by construction; the store keeps the sums beside them, and holds them to it.
package wallet

import "fmt"

// MicroUSD is an amount of money in millionths of a US dollar.
type MicroUSD int64

// Dollar is one US dollar.
const Dollar MicroUSD = 1_000_000

// String writes the amount for people: "0.0125 USD". Trailing zeros beyond cents are left out.
func (m MicroUSD) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprintf("%s%d.%06d", sign, n/uint64(Dollar), n%uint64(Dollar))
	for range 4 {
		if s[len(s)-1] != '0' {
			break
		}
		s = s[:len(s)-1]
	}
	return s + " USD"
}

// Largest is the largest amount that is taken at once: sums of as many as a store can hold stay far from an overflow.
const Largest = 1_000_000 * Dollar
