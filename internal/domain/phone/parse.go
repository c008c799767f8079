package phone

import (
	"errors"
	"strings"

	plan "github.com/nyaruka/phonenumbers"
)

// What is wrong with a destination, and what would be right. The texts may be shown to anybody.
var (
	ErrNoDigits = errors.New("no phone number: write it like +12025550123, or in the local form with a region")
	ErrTooLong  = errors.New("too long: a number has at most 15 digits, country code included")
	ErrTooShort = errors.New("too short: a short code cannot be texted; write the full number, like +12025550123")
	// ErrIncomplete is for what is too long for a short code, or has a country code.
	ErrIncomplete = errors.New("too short for a number of its country: check it for missing digits; the full number is written like +12025550123")
	// ErrAmbiguous is for digits in local form that are another number if a plus sign is put in front of them.
	ErrAmbiguous = errors.New("two numbers can be meant, one with its country code and one in the local form: write it with + and the country code, like +12025550123")
	ErrLocal     = errors.New("the area code is missing: write the full number, like +12025550123")
	ErrLetters   = errors.New("letters are not allowed: write the number in digits, like +12025550123")
	ErrExtension = errors.New("an extension cannot be texted: leave it out")
	ErrSeveral   = errors.New("more than one number: a message goes to one, so send a request for each")
	ErrCharacter = errors.New("unexpected character: a number is written in digits, with spaces, dashes, dots or brackets between them, like +1 202 555 0123")
	ErrNoRegion  = errors.New("no country: begin with + and the country code, like +12025550123, or give the region of the local form")
	ErrRegion    = errors.New("unknown region: give two letters of ISO 3166-1, like DE or US")
	ErrCountry   = errors.New("no such country code: after + comes a country code, as in +12025550123")
	// ErrUnassigned is for whoever refuses what Assigned denies.
	ErrUnassigned = errors.New("no number plan has given this number out, and this gateway refuses such ones: check it for a slip of the finger")
	ErrLength     = errors.New("no number of its country has this many digits: write it like +12025550123")
)

// maxReadings bounds how often a number is read until it stays the same.
const maxReadings = 4

// maxDigits is the longest number that E.164 permits.
const maxDigits = 15

// minNational is the shortest national number that is believed without being assigned: what is shorter, and
// unknown to the number plan, is a short code or a part of a number.
const minNational = 7

// Parse reads a number as people write it: in international form, or in the local form of region (ISO 3166-1,
// two letters; "" if none is known). Invisible characters are dropped, digits of all scripts are read.
//
// A number whose length its country uses is taken, assigned or not: ranges for tests and fiction are
// unassigned, and number plans grow faster than their descriptions. Assigned tells them apart.
func Parse(raw, region string) (Number, error) {
	digits, err := clean(raw)
	if err != nil {
		return Number{}, err
	}
	n, err := parse(digits, region)
	if errors.Is(err, ErrTooShort) && (digits[0] == '+' || len(digits) >= minNational) {
		return Number{}, ErrIncomplete
	}
	return n, err
}

func parse(digits, region string) (n Number, err error) {
	if region, err = Region(region); err != nil {
		return Number{}, err
	}
	if region == "" && digits[0] != '+' {
		return Number{}, ErrNoRegion
	}
	// A number in local form may become another one when its international form is read: of one that begins
	// with several zeros, for example, one is lost each time. The form that stays is the number's.
	for range maxReadings {
		n, err := read(digits, region)
		if err != nil {
			return Number{}, planError(err)
		}
		if n, err = settled(n, digits); err != nil {
			return Number{}, err
		}
		n = oneForm(n)
		e164 := plan.Format(n, plan.E164)
		if e164 == digits {
			return checked(n, e164)
		}
		digits, region = e164, ""
	}
	return Number{}, ErrLength
}

// checked returns the number unless it cannot exist.
func checked(n *plan.PhoneNumber, e164 string) (Number, error) {
	if len(e164) > 1+maxDigits {
		return Number{}, ErrTooLong
	}
	if err := possible(n); err != nil {
		return Number{}, err
	}
	return Number{e164}, nil
}

// Region checks the name of a region, ISO 3166-1 in two letters of either case, and returns it in capitals. An
// empty one stays empty.
func Region(name string) (string, error) {
	name = strings.ToUpper(name)
	if name != "" && !plan.GetSupportedRegions()[name] {
		return "", ErrRegion
	}
	return name, nil
}

// planError translates the reader's errors, which repeat nothing but are about its own terms.
func planError(err error) error {
	switch {
	case errors.Is(err, plan.ErrInvalidCountryCode):
		return ErrCountry
	case errors.Is(err, plan.ErrNumTooLong):
		return ErrTooLong
	}
	return ErrTooShort
}

// possible checks the length against the country's number plan.
func possible(n *plan.PhoneNumber) error {
	switch plan.IsPossibleNumberWithReason(n) {
	case plan.INVALID_COUNTRY_CODE:
		return ErrCountry
	case plan.TOO_SHORT:
		return ErrTooShort
	case plan.TOO_LONG:
		return ErrTooLong
	case plan.IS_POSSIBLE_LOCAL_ONLY:
		if len(plan.GetNationalSignificantNumber(n)) < minNational {
			return ErrTooShort
		}
		return ErrLocal
	case plan.INVALID_LENGTH:
		return ErrLength
	}
	return complete(n)
}

// complete refuses what has a possible length and still is no whole number.
func complete(n *plan.PhoneNumber) error {
	national := plan.GetNationalSignificantNumber(n)
	switch {
	case len(national) < minNational && !plan.IsValidNumber(n):
		return ErrTooShort
	case n.GetCountryCode() == argentina && strings.HasPrefix(national, "15"):
		return ErrLocal // 15 marks a mobile after the area code; no area code begins so
	}
	return nil
}

// Assigned reports whether the number lies in a range that its country has given out, as far as the number plan
// in this release knows.
func (n Number) Assigned() bool {
	parsed, err := plan.Parse(n.e164, "")
	return err == nil && plan.IsValidNumber(parsed)
}

// Country codes with rules of their own.
const (
	mexico    = 52
	argentina = 54
)

// mexican are the prefixes that were dialled before the ten digits of a Mexican number until 2019 and live on in
// address books: 1 after the country code for mobiles, 01 for long distance, 044 and 045 for mobiles at home.
var mexican = []string{"1", "01", "044", "045"}

// oneForm gives a handset one number where the plan's reader leaves it several. Otherwise a text could go out
// once under each, and an opt-out given under one would not hold for the other.
func oneForm(n *plan.PhoneNumber) *plan.PhoneNumber {
	national := plan.GetNationalSignificantNumber(n)
	better := ""
	switch n.GetCountryCode() {
	case mexico:
		better = mexicanForm(national)
	case argentina:
		better = argentineForm(national)
	}
	if better == "" {
		return n
	}
	again, err := plan.Parse(better, "")
	if err != nil {
		return n
	}
	return again
}

// mexicanForm leaves out the prefixes of old; "" if there are none.
func mexicanForm(national string) string {
	for _, prefix := range mexican {
		if rest, ok := strings.CutPrefix(national, prefix); ok && len(rest) == 10 {
			return "+52" + rest
		}
	}
	return ""
}

// argentineForm adds the 9 of mobiles to a number that was given without it; "" if it has one, or is no number of an
// area. Area and number are unique without the mark, fixed lines take no texts, and people leave the 9 out: the two
// spellings are one handset.
func argentineForm(national string) string {
	if len(national) != 10 || !strings.ContainsAny(national[:1], "123") || strings.HasPrefix(national, "15") {
		return ""
	}
	return "+549" + national
}
