package cli

import (
	"fmt"
	"strings"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/edge/api"
)

// explainDecision says what was asked, what it was compared with, which rule of which policy decided, until when,
// what would have made it different, and what becomes of the message.
func explainDecision(env *Env, d *api.DecisionView, m *api.OneMessageView) {
	s := env.style()
	head := "Taken: this request made a message."
	switch {
	case d.Would != nil:
		head = "Taken, though it was a repeat: this request made a message of its own."
	case d.Action != "allow":
		head = "Not sent a second time: this request was a repeat."
	}
	env.paragraph(s.bold(head))
	env.paragraph("")
	env.paragraph(askedSentence(d))
	env.paragraph(comparedSentence(d))
	env.paragraph(ruleSentence(s, d))
	env.paragraph(otherwiseSentence(d))
	env.paragraph("")
	env.paragraph(nowSentence(s, m))
	env.paragraph(s.faint("\nnext: einmal timeline " + clean(m.ID)))
}

func askedSentence(d *api.DecisionView) string {
	words := fmt.Sprintf("The API key %s asked at %s UTC for %s to %s", d.Caller, clock(d.At), d.Purpose, d.To)
	if e := d.Event; e != nil {
		words += ", " + strings.TrimSpace(e.Type+" "+e.ID)
		if e.Version != "" {
			words += " version " + e.Version
		}
	}
	if d.Sender != "" {
		words += ", sender " + d.Sender
	}
	if d.CorrelationID != "" {
		words += ", correlation id " + d.CorrelationID
	}
	if d.MappedBy != nil {
		words += ", as the policy's rule " + *d.MappedBy + " maps what it sends"
	}
	if d.Run != nil {
		words += fmt.Sprintf("; until %s UTC the same was asked %d times", clock(d.Run.Last), d.Run.Count)
	}
	return clean(words + ".")
}

func comparedSentence(d *api.DecisionView) string {
	words := clean(d.Explanation)
	if d.ComparedWith == nil {
		return words
	}
	words += " It was compared with message " + clean(*d.ComparedWith)
	if d.MatchedKey != nil {
		words += ", found under another key (of an older policy version, or of this very text)"
	}
	if d.PreviousState != nil {
		words += ", which was " + clean(*d.PreviousState) + " at that moment"
	}
	if d.SameText != nil && !*d.SameText {
		return words + "; its text is another one."
	}
	return words + "; the text is the same."
}

func ruleSentence(s style, d *api.DecisionView) string {
	words := fmt.Sprintf("The rule %s of the policy %s says %s (%s, %s)", clean(d.Rule), clean(d.PolicyVersion), s.state(d.Action), clean(d.Class), clean(d.Reason))
	if d.Would != nil {
		words += ", in mode monitor, which did not " + clean(*d.Would)
	}
	switch {
	case d.WindowEnds == nil:
		return words + ". When its window ends is not known yet: it stays open while the message is owed something."
	case d.Action == "allow":
		return words + "; the same request again is a repeat until " + clock(*d.WindowEnds) + " UTC at the latest, and longer while an attempt's outcome is open."
	}
	return words + " until " + clock(*d.WindowEnds) + " UTC at the latest, and longer while an attempt's outcome is open."
}

// partWords are the parts of a key in plain words.
var partWords = map[policy.KeyPart]string{
	policy.KeyEventType: "event type", policy.KeyEventID: "event id", policy.KeyEventVersion: "event version", policy.KeySender: "sender",
	policy.KeyTemplateID: "template", policy.KeyTemplateVersion: "template version", policy.KeyCorrelationID: "correlation id",
}

// otherwiseSentence says what would have made a difference. Which fields count, and whether the text does, is the
// purpose's; of a policy that this program does not know, the explanation above names the fields.
func otherwiseSentence(d *api.DecisionView) string {
	fields, same := "another destination or purpose, or another of the fields named above", "Another idempotency key"
	builtin := policy.Builtin()
	if purpose, ok := builtin.Purposes[d.Purpose]; ok && builtin.ID() == d.PolicyVersion {
		words := []string{"destination", "purpose"}
		for _, part := range purpose.Key {
			words = append(words, partWords[part])
		}
		last := len(words) - 1
		fields = "another " + strings.Join(words[:last], ", ") + " or " + words[last]
		if purpose.OnOtherText == policy.OtherTextSuppress {
			same += " or another text"
		}
	}
	if d.Action == "allow" {
		return "A request with " + fields + " is another message. " + same + " alone makes none."
	}
	words := "With " + fields + " it would have been a new message"
	if d.WindowEnds != nil {
		words += ", and so it would after the window's end"
	}
	return words + ". " + same + " alone changes nothing."
}

func nowSentence(s style, m *api.OneMessageView) string {
	return fmt.Sprintf("Message %s: %s, since %s UTC. %s", clean(m.ID), s.state(m.State), clock(m.Since), clean(m.Outlook))
}
