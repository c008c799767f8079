package evidence

import "testing"

func TestHandsetE164(t *testing.T) {
	for source, want := range map[string]string{
		"+12025550100": "+12025550100", "12025550100": "+12025550100", "0012025550100": "+12025550100",
		"02025550100": "", "4711": "", "SHOP": "", "": "", "+0012025550100": "", "1202555010012345678": "", "1202555O100": "",
	} {
		if got := HandsetE164(source); got != want {
			t.Errorf("%q is read as %q, want %q", source, got, want)
		}
	}
}
