package intent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
)

// stateWords say what a state means for whoever asks why a second message was not sent.
var stateWords = map[message.State]string{
	message.Held:        "is held for review",
	message.Declined:    "was declined in review",
	message.Pending:     "is waiting to be sent",
	message.Sending:     "is being sent",
	message.Accepted:    "was accepted by the provider",
	message.EnRoute:     "is on its way, as the provider reports",
	message.Delivered:   "was reported delivered",
	message.Undelivered: "was reported undelivered",
	message.Rejected:    "was rejected by the provider",
	message.Failed:      "was not sent",
	message.Expired:     "expired",
	message.Replaced:    "was replaced",
	message.Cancelled:   "was cancelled",
	message.RetryDue:    "is due to be sent again",
	message.Unknown:     "became unknown",
}

// nextWords say what happens next, where a repeat needs to know (D9).
var nextWords = map[message.State]string{
	message.Pending:  "It will be sent; asking for it again changes nothing.",
	message.Sending:  "Its outcome will be known shortly.",
	message.Unknown:  "It is not sent a second time: a receipt, the provider's late answer or a person can settle it.",
	message.Accepted: "A delivery receipt may still come.",
	message.EnRoute:  "A final delivery receipt may still come.",
}

func explainRepeat(r *Request, held match, sameText, sent bool, now clock.Micros) string {
	var b strings.Builder
	m := held.Message
	fmt.Fprintf(&b, "Message %s for the same %s %s.", m.ID, keyWords(held.purpose), standing(m, now))
	if r.Purpose.Unnamed && !held.purpose.Unnamed {
		fmt.Fprintf(&b, " The request names no purpose and no rule is for it any more, but an earlier version of the policy takes it for %s, whose window still runs.", held.purpose.Name)
	}
	if failed(m.State) {
		fmt.Fprintf(&b, " Its window is still open, and the purpose %s permits no retry.", held.purpose.Name)
	} else if next := nextWords[m.State]; next != "" && !sent {
		b.WriteString(" " + next)
	}
	switch {
	case !sameText && sent:
		b.WriteString(" The text of this request differs from the one that was taken.")
	case !sameText:
		fmt.Fprintf(&b, " The text of this request differs from the one that was taken: it %s. If it is meant as another message, give %s.",
			r.says("was not sent", "would not be sent"), another(held.purpose))
	}
	if sent {
		b.WriteString(explainMonitor(r, held.purpose))
	}
	return b.String()
}

func explainAllow(r *Request, reason Reason, compared match, now clock.Micros) string {
	switch {
	case reason == ReasonOtherText:
		return fmt.Sprintf("Message %s for the same %s has another text, and the purpose %s makes every text a version of its own.",
			compared.Message.ID, keyWords(compared.purpose), compared.purpose.Name)
	case r.Purpose.Unnamed:
		return "The request names no purpose, so nothing tells a repeat from a second message that is meant: it " + r.says("is", "would be") + " sent."
	case reason == ReasonWindowEnded:
		return fmt.Sprintf("Message %s for the same %s was taken before and %s; its window of the purpose %s is over.",
			compared.Message.ID, keyWords(compared.purpose), standing(compared.Message, now), compared.purpose.Name)
	}
	return fmt.Sprintf("No message for the same %s is known to this purpose.", keyWords(r.Purpose))
}

// explainMonitor says why a repeat is sent all the same, and what would change that.
func explainMonitor(r *Request, decides policy.Purpose) string {
	sent, held := r.says("was", "would be"), r.says("would have been", "would be")
	if decides.Unnamed {
		return fmt.Sprintf(" A request that names no purpose is only monitored: this one %s sent all the same. With a purpose and an event it %s held back.", sent, held)
	}
	return fmt.Sprintf(" The policy %s only monitors: this request %s sent all the same. Under mode enforce it %s held back.", r.PolicyID, sent, held)
}

// explainRefusal says what is wrong, and what deduplication would have made of the request (D4). d is its word.
func explainRefusal(r *Request, d *Decision, by *Guard) string {
	would := "Apart from that it would have been sent."
	if d.Action == Suppress {
		would = "Apart from that it is a repeat, which is only monitored here and sent all the same."
	}
	return fmt.Sprintf("%s Nothing %s reserved or sent. %s %s", by.Words, r.says("was", "would be"), would, d.Explanation)
}

// supposed is the request as one of which nothing comes: what is said of it is what would be.
func (r *Request) supposed() *Request {
	one := *r
	one.DryRun = true
	return &one
}

// says chooses between the words for what is done with the request, and those for what would be.
func (r *Request) says(done, would string) string {
	if r.DryRun {
		return would
	}
	return done
}

// partWords are the parts of a key in plain words.
var partWords = map[policy.KeyPart]string{
	policy.KeyEventType: "event type", policy.KeyEventID: "event", policy.KeyEventVersion: "event version",
	policy.KeySender: "sender", policy.KeyTemplateID: "template", policy.KeyTemplateVersion: "template version",
	policy.KeyCorrelationID: "correlation id", policy.KeyText: "text",
}

func keyWords(p policy.Purpose) string {
	if p.Unnamed { // all that there is
		return "destination, text and whatever else it names"
	}
	words := []string{"purpose", "destination"}
	for _, part := range p.Key {
		words = append(words, partWords[part])
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// another says what would make a request another intent of the purpose: the event's version if the key has one, else
// what names the intent.
func another(p policy.Purpose) string {
	if slices.Contains(p.Key, policy.KeyEventVersion) {
		return "the event another version"
	}
	for _, part := range p.Key {
		if part != policy.KeySender {
			return "it another " + partWords[part]
		}
	}
	return "it another event" // no policy has such a key
}

// standing says in which state a message is, and since when.
func standing(m MessageFacts, now clock.Micros) string {
	d := now.Sub(m.Since)
	switch m.State {
	case message.Unknown: // for want of an answer, or by a restore: then nobody knows whether it was handed over at all
		return stateWords[m.State] + ago(d) + ": it may have left, and nobody knows whether the provider has it"
	case message.Held, message.Pending, message.Sending, message.EnRoute, message.RetryDue:
		if d < time.Second {
			return stateWords[m.State]
		}
		return stateWords[m.State] + ", since" + strings.TrimSuffix(ago(d), " ago")
	}
	return stateWords[m.State] + ago(d)
}

// ago writes " 42 s ago", in one unit, rounded down.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return " just now"
	case d < 2*time.Minute:
		return fmt.Sprintf(" %d s ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf(" %d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf(" %d h ago", int(d.Hours()))
	}
	return fmt.Sprintf(" %d days ago", int(d.Hours()/24))
}
