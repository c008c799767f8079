package intent

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/policy"
)

// mappedNoMore is a request that an earlier version mapped to a purpose, as the version without that rule sees it.
func mappedNoMore(before *Request, text string, mode policy.Mode) *Request {
	r := *before
	r.Purpose, _ = policy.Builtin().Unnamed()
	r.Event = Event{} // which the rule gave
	seal(&r, text)
	then := before.Purpose
	then.Mode = mode
	r.Keys.Older = []OlderKey{{before.Keys.Intent, then}}
	if then.OnOtherText == policy.OtherTextAllow {
		r.Keys.OlderVariants = []OlderKey{{hashed(VariantForm(before.Keys.Intent, r.TextKey)), then}}
	}
	return &r
}

// A rule that is taken out of the policy reopens no window: what it made of a request is decided by its purpose, in the
// mode that is in force now.
//
// covers: D6, D18, X3
func TestWhatIsMappedNoMore(t *testing.T) {
	for name, c := range map[string]struct {
		purpose policy.Purpose
		text    string
		mode    policy.Mode
		want    string // action, would, rule
		says    string
	}{
		"the same":               {purposes[1], "text", policy.Enforce, "suppress  alert.window", "earlier version of the policy takes it for alert"},
		"with another text":      {purposes[1], "other", policy.Enforce, "suppress  alert.window", "text of this request differs"},
		"in mode monitor":        {purposes[1], "text", policy.Monitor, "allow suppress alert.window", "only monitors"},
		"the same code":          {purposes[2], "text", policy.Enforce, "suppress  code.window", "earlier version of the policy takes it for code"},
		"another code is served": {purposes[2], "other", policy.Enforce, "allow  unnamed.window", "the purpose code makes every text a version"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			before := &Request{Tenant: 1, Purpose: c.purpose, To: number("+12025550143"), Event: Event{ID: "a", Version: "1"}, Sender: "s"}
			w.decide(seal(before, "text"))
			r := mappedNoMore(before, c.text, c.mode)
			d := w.decide(r)[0].Decision
			if got := strings.Join([]string{d.Action.String(), d.Would.String(), d.Rule}, " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if d.Compared != before.Message || !strings.Contains(d.Explanation, c.says) {
				t.Errorf("compared with %s: %s", d.Compared, d.Explanation)
			}
			if h := w.holders[r.Keys.Intent]; d.Class == LegitimateRepeat && (h == nil || h.Message.ID != r.Message) {
				t.Error("a text of its own holds no key: its repeat would not be known")
			}
		})
	}
}
