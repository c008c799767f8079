package phone

import (
	"regexp"
	"strconv"
	"sync"

	plan "github.com/nyaruka/phonenumbers"
)

// read takes a cleaned number apart. Most come in international form already and lose nothing when they are read:
// the plan's reader, which also looks for extensions and dialling prefixes in them, takes ten times as long.
func read(digits, region string) (*plan.PhoneNumber, error) {
	if n, ok := international(digits); ok {
		return n, nil
	}
	return plan.Parse(digits, region)
}

// The shortest and the longest national number that international reads. All others are left to the plan's reader.
const (
	shortestPlain = 5
	longestPlain  = 15
)

// international reads a number in international form if its national part has no prefix of its country's that might
// be dropped, and no zeros in front.
func international(digits string) (*plan.PhoneNumber, bool) {
	const longestCode = 3
	if digits[0] != '+' {
		return nil, false
	}
	for i := 2; i <= 1+longestCode && i < len(digits); i++ {
		code, err := strconv.Atoi(digits[1:i])
		if err != nil || code == 0 {
			return nil, false
		}
		if c, known := countries()[code]; known {
			return c.plain(code, digits[i:])
		}
	}
	return nil, false
}

// country is what of a calling code's plan matters here.
type country struct {
	prefix   string // of national numbers, as a pattern; "": they have none
	compiled func() *regexp.Regexp
}

func (c *country) plain(code int, national string) (*plan.PhoneNumber, bool) {
	if len(national) < shortestPlain || len(national) > longestPlain || national[0] == '0' || c.prefix != "" && c.compiled().MatchString(national) {
		return nil, false
	}
	value, err := strconv.ParseUint(national, 10, 64)
	code32 := int32(code) // three digits
	return &plan.PhoneNumber{CountryCode: &code32, NationalNumber: &value}, err == nil
}

// countries are the calling codes, each with the plan of its main country, which is the one that reads numbers.
var countries = sync.OnceValue(func() map[int]*country {
	all := map[int]*country{}
	collection, err := plan.MetadataCollection()
	if err != nil {
		return all // everything is left to the plan's reader
	}
	for _, m := range collection.GetMetadata() {
		code := int(m.GetCountryCode())
		if main := plan.GetRegionCodeForCountryCode(code); main == m.GetId() {
			prefix := m.GetNationalPrefixForParsing()
			all[code] = &country{prefix, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?:" + prefix + ")") })}
		}
	}
	return all
})
