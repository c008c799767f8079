package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
)

// What would have made a difference is the purpose's, under the version that decided, and not today's; of one that
// cannot be read nothing is claimed.
//
// covers: D14
func TestDecisionsSayWhatWouldHaveMadeADifference(t *testing.T) {
	w := newWorld(t)
	w.fill()
	var b strings.Builder
	for _, purpose := range []string{"order_confirmation", "login_code", policy.UnnamedPurpose, "gone"} {
		for _, action := range []intent.Action{intent.Allow, intent.Suppress} {
			for _, version := range []string{"builtin@1", "lost@7"} {
				if version == "lost@7" && purpose != "gone" {
					continue
				}
				d := w.store.decisions[0]
				d.Purpose, d.Action, d.PolicyID = purpose, action, version
				d.Mode = policy.Enforce
				if purpose == policy.UnnamedPurpose {
					d.Mode = policy.Monitor
				}
				if d.WindowEnds = 0; action == intent.Suppress {
					d.WindowEnds = sampleDecision().WindowEnds
				}
				var got OneDecisionView
				w.get("/v1/decisions/"+d.ID.String(), 200, &got)
				fmt.Fprintf(&b, "%-10s %-18s %s\n", version, purpose, got.Otherwise)
				if got.ID != d.ID.String() || got.Action != action.String() {
					t.Errorf("%+v", got)
				}
			}
		}
	}
	golden(t, "otherwise.golden", b.String())
	unnamed, _ := policy.Builtin().Unnamed()
	for _, part := range unnamed.Key { // all that there are
		if keyWords[part] == "" {
			t.Errorf("the key's part %s has no words", part)
		}
	}
}
