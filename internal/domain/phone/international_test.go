package phone

import (
	"fmt"
	"math/rand/v2"
	"testing"

	plan "github.com/nyaruka/phonenumbers"
)

// What is read the short way is what the plan's reader reads: for every calling code, over numbers of all lengths, and
// the examples of every region.
func TestTheShortWayReadsTheSame(t *testing.T) {
	short, long := 0, 0
	compare := func(digits string) {
		t.Helper()
		got, ok := international(digits)
		if !ok {
			long++
			return
		}
		short++
		want, err := plan.Parse(digits, "")
		if err != nil || got.String() != want.String() {
			t.Errorf("%s: %v, the plan's reader says %v %v", digits, got, want, err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for code := range 1000 {
		for length := 1; length <= 16; length++ {
			for range 20 {
				digits := fmt.Sprintf("+%d", code)
				for range length {
					digits += string(rune('0' + rng.IntN(10)))
				}
				compare(digits)
			}
		}
	}
	for region := range plan.GetSupportedRegions() {
		for _, kind := range []plan.PhoneNumberType{plan.FIXED_LINE, plan.MOBILE, plan.TOLL_FREE, plan.VOIP} {
			if n := plan.GetExampleNumberForType(region, kind); n != nil {
				compare(plan.Format(n, plan.E164))
			}
		}
	}
	if short < long/10 {
		t.Errorf("only %d numbers were read the short way, and %d were not", short, long)
	}
}
