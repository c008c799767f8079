package cli

import (
	"fmt"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

// explainDecision says what was asked, what it was compared with, which rule of which policy decided, until when,
// what would have made it different, and what becomes of the message.
func explainDecision(env *Env, one *api.OneDecisionView, m *api.OneMessageView) {
	s, d := env.style(), &one.DecisionView
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
	env.paragraph(clean(one.Otherwise))
	env.paragraph("")
	env.paragraph(nowSentence(s, m))
	env.paragraph(s.faint("\nnext: einmal timeline " + clean(m.ID)))
}

// explainRefusal says what was asked, which rule refused it, and what deduplication would have done.
func explainRefusal(env *Env, one *api.OneDecisionView) {
	s, d := env.style(), &one.DecisionView
	env.paragraph(s.bold("Not sent: a rule beside deduplication refused this request, and it made no message."))
	env.paragraph("")
	env.paragraph(askedSentence(d))
	env.paragraph(comparedSentence(d))
	words := "It was " + s.state(d.Action) + " by the rule " + clean(d.Rule)
	if d.Would != nil {
		words += fmt.Sprintf("; deduplication, under the policy %s, would have said %s (%s, %s)", clean(d.PolicyVersion), clean(*d.Would), clean(d.Class), clean(d.Reason))
	}
	env.paragraph(words + ".")
	env.paragraph(clean(one.Otherwise))
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
		words += ", found under another key (of an older policy version, of this very text, or of an answer on its way)"
	}
	if d.PreviousState != nil {
		words += ", which at that moment was " + clean(*d.PreviousState) + clean(sourceWords(d.StateSource))
	}
	if d.SameText != nil && !*d.SameText {
		return words + "; its text is another one."
	}
	return words + "; the text is the same."
}

// sourceWords say by what a message had come to its state.
func sourceWords(by *api.StateSource) string {
	switch {
	case by == nil:
		return ""
	case by.Receipt != nil:
		return ", as the receipt " + *by.Receipt + " says"
	case by.Attempt > 0:
		return fmt.Sprintf(", as the answer to attempt %d says", by.Attempt)
	}
	return ""
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

func nowSentence(s style, m *api.OneMessageView) string {
	return fmt.Sprintf("Message %s: %s, since %s UTC. %s", clean(m.ID), s.state(m.State), clock(m.Since), clean(m.Outlook))
}
