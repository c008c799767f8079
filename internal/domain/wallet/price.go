package wallet

import (
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Price is what a part costs to destinations that begin with a prefix, from a time on.
type Price struct {
	Tenant  ident.Partition // 0: every tenant that has no price of its own for the destination
	Prefix  string          // digits of E.164 without the plus sign; "": every destination
	PerPart MicroUSD
	From    clock.Micros
}

// maxPrefix is the longest prefix: as long as a number can be.
const maxPrefix = 15

// Book finds prices. It is not changed once it is made, and is used by many at once.
type Book struct{ prices map[bookKey][]Price }

type bookKey struct {
	tenant ident.Partition
	prefix string
}

// NewBook returns a book of prices.
func NewBook(all []Price) *Book {
	b := &Book{map[bookKey][]Price{}}
	for _, p := range all {
		k := bookKey{p.Tenant, p.Prefix}
		b.prices[k] = append(b.prices[k], p)
	}
	for _, list := range b.prices {
		slices.SortFunc(list, func(a, b Price) int { return int(min(max(b.From-a.From, -1), 1)) }) // the newest first
	}
	return b
}

// Offer is what a part to one number may cost a tenant, in the order in which prices count: the first that has begun holds.
// Which one that is depends on the clock of whoever decides, and on nothing else.
type Offer []Price

// At is the price at a time.
func (o Offer) At(now clock.Micros) (MicroUSD, bool) {
	for _, p := range o {
		if p.From <= now {
			return p.PerPart, true
		}
	}
	return 0, false
}

// Offer returns the prices of a part to a number in E.164, for a tenant. The tenant's own come before the common ones, however
// short their prefix; among them the longest prefix, and of one prefix the newest. Behind one that holds at any time
// there is none.
func (b *Book) Offer(tenant ident.Partition, e164 string) (all Offer) {
	digits := e164
	if digits != "" && digits[0] == '+' {
		digits = digits[1:]
	}
	for _, t := range []ident.Partition{tenant, 0} {
		for n := min(len(digits), maxPrefix); n >= 0; n-- {
			all = append(all, b.prices[bookKey{t, digits[:n]}]...)
			if len(all) > 0 && all[len(all)-1].From == 0 {
				return all
			}
		}
	}
	return all
}

// Prefix checks a prefix as a price list gives it: digits, with or without a plus sign. ok is false for anything else, and
// for one that begins with 0, as no country code does: it would never fit.
func Prefix(s string) (prefix string, ok bool) {
	if len(s) > 1 && s[0] == '+' {
		s = s[1:]
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return "", false
		}
	}
	return s, len(s) <= maxPrefix && !strings.HasPrefix(s, "0")
}
