package phone

import (
	"strconv"
	"strings"

	plan "github.com/nyaruka/phonenumbers"
)

// settled returns the number that digits in local form stand for. They may be an international form whose plus sign was
// left out: where a country's numbers have many lengths, the plan's reader takes the country code for an area's. What
// only the international form explains is read as that. What could be either is refused: to choose would be to text
// somebody else.
func settled(n *plan.PhoneNumber, digits string) (*plan.PhoneNumber, error) {
	// Almost no local number gets past these two, and reading is what a request's number costs.
	if !strings.HasPrefix(digits, strconv.Itoa(int(n.GetCountryCode()))) {
		return n, nil
	}
	if plan.GetNationalSignificantNumber(n) != digits { // a prefix was dropped, or the country code
		return n, nil
	}
	other, err := read("+"+digits, "")
	if err != nil || !textable(other) {
		return n, nil
	}
	if plan.IsValidNumber(n) {
		return nil, ErrAmbiguous
	}
	return other, nil
}

// textable reports whether the number is assigned, and may be a mobile's.
func textable(n *plan.PhoneNumber) bool {
	kind := plan.GetNumberType(n) // of an unassigned number it is unknown
	return kind == plan.MOBILE || kind == plan.FIXED_LINE_OR_MOBILE
}
