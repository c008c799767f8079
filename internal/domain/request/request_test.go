package request

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/policy"
)

func TestWholeNumbers(t *testing.T) {
	for digits, want := range map[string]bool{
		"0": true, "1": true, "-3": true, "20260101": true, "01": false, "1.0": false, "1e3": false, "1_000": false, "0x1F": false, "+1": false, "": false,
	} {
		if got := WholeNumber(digits); got != want {
			t.Errorf("%q: %t", digits, got)
		}
	}
}

// Whatever is wrong with a member, what is said of it does not repeat it.
//
// covers: D15
func TestNothingRepeatsAValue(t *testing.T) {
	const secret = "2718281828"
	m := Members{
		To: secret + "x", Region: secret, Purpose: secret, Sender: strings.Repeat(secret, 2), Text: strings.Repeat(secret, 200), ValidFor: secret,
		CorrelationID: strings.Repeat(secret, 20), Metadata: map[string]string{strings.Repeat(secret, 10): secret},
	}
	m.Event.ID, m.Template.Version = secret+"\u200b", strings.Repeat(secret, 20)
	_, wrong := m.Check(Caller{}, policy.Builtin(), Gateway{Limits: func(*Checked) Limits { return Limits{DefaultMostParts, gsm.Reference8} }})
	if len(wrong) != 9 {
		t.Errorf("%d mistakes: %v", len(wrong), wrong)
	}
	for _, f := range wrong {
		if strings.Contains(f.Pointer+f.Detail, secret) {
			t.Errorf("%s: %s", f.Pointer, f.Detail)
		}
	}
}
