package phone

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	plan "github.com/nyaruka/phonenumbers"
)

// Digits that begin with the region's own country code are the international form if nothing else explains them, and
// refused if they are a number in the local form, too.
//
// covers: D2
func TestTheCountryCodeWithoutItsPlusSign(t *testing.T) {
	for _, c := range []struct {
		raw, region, want string
		err               error
	}{
		{"49 151 23456780", "DE", "", ErrAmbiguous}, {"491701234567", "DE", "", ErrAmbiguous}, {"49-176-1234567", "DE", "", ErrAmbiguous},
		{"+49 151 23456780", "DE", "+4915123456780", nil}, {"0049 151 23456780", "DE", "+4915123456780", nil}, {"0151 23456780", "DE", "+4915123456780", nil},
		{"151 23456780", "DE", "+4915123456780", nil}, {"0491 5123456", "DE", "+494915123456", nil}, {"+49 491 5123456", "DE", "+494915123456", nil},
		{"447700900123", "GB", "+447700900123", nil}, {"43 664 1234567", "AT", "+436641234567", nil}, {"41 79 123 45 67", "CH", "+41791234567", nil},
		{"33 6 12 34 56 78", "FR", "+33612345678", nil}, {"34 612 34 56 78", "ES", "+34612345678", nil}, {"39 312 345 6789", "IT", "+393123456789", nil},
		{"393 123 4567", "IT", "+393931234567", nil}, {"390 212 3456", "IT", "+393902123456", nil}, {"91 98765 43210", "IN", "+919876543210", nil},
		{"91987 65432", "IN", "+919198765432", nil}, {"55 11 91234 5678", "BR", "+5511912345678", nil}, {"55 99123 4567", "BR", "+5555991234567", nil},
		{"1 202 555 0143", "US", "+12025550143", nil}, {"7 912 345 67 89", "RU", "+79123456789", nil}, {"47 12 34 56", "NO", "+4747123456", nil},
	} {
		got, err := Parse(c.raw, c.region)
		if c.err != nil && (!errors.Is(err, c.err) || !got.IsZero()) || c.err == nil && got.E164() != c.want {
			t.Errorf("%q in %s: %q, %v; want %q %v", c.raw, c.region, got.E164(), err, c.want, c.err)
		}
	}
}

// Of no country is an assigned mobile, written without its plus sign, read as another number; and what a country writes
// in its own form is read as before.
//
// covers: D2
func TestNoMobileBecomesAnotherNumber(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	refused, whole := map[string]int{}, map[string]int{}
	for region := range plan.GetSupportedRegions() {
		example := plan.GetExampleNumberForType(region, plan.MOBILE)
		if example == nil {
			continue
		}
		code, national := strconv.Itoa(plan.GetCountryCodeForRegion(region)), plan.GetNationalSignificantNumber(example)
		for range 40 {
			for i := range 4 { // its end, at random
				at := len(national) - 1 - i
				national = national[:at] + strconv.Itoa(rng.IntN(10)) + national[at+1:]
			}
			want, err := Parse("+"+code+national, "")
			if err != nil || !want.Assigned() {
				continue
			}
			whole[region]++
			got, err := Parse(code+national, region)
			switch {
			case errors.Is(err, ErrAmbiguous):
				refused[region]++
			case err != nil || got != want:
				t.Fatalf("%s: %s without its plus sign is %s, %v", region, want.E164(), got.E164(), err)
			}
			// Argentine ones are not written with their 15 and 9 as people do.
			if local := plan.Format(mustPlan(t, want), plan.NATIONAL); region != "AR" && !strings.HasPrefix(local, code) {
				if got, err := Parse(local, region); err != nil || got != want {
					t.Fatalf("%s: %s in the local form, %s, is %s, %v", region, want.E164(), local, got.E164(), err)
				}
			}
		}
	}
	if len(whole) < 200 || refused["DE"] == 0 || len(refused) > 20 {
		t.Errorf("of %d regions these refuse some: %v", len(whole), refused)
	}
}

func mustPlan(t *testing.T, n Number) *plan.PhoneNumber {
	t.Helper()
	p, err := plan.Parse(n.E164(), "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}
