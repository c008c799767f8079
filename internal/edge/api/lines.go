package api

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/store"
)

// Ranks of lines with one time: what causes comes before what it caused.
const (
	rankDecision = iota
	rankAttempt
	rankEvent
	rankException
)

func decisionLine(d *store.Decision) TimelineView {
	v := TimelineView{
		At: at(d.At), Kind: "decision", Decision: orNull(d.ID.String()),
		Action: d.Action.String(), Class: d.Class.String(), Reason: string(d.Reason), Rule: d.Rule,
		PolicyVersion: d.PolicyID, SameText: d.SameText, Would: d.Would.String(), MappedBy: d.MappedBy, place: place{int64(d.At), rankDecision, d.ID.String()},
	}
	switch {
	case d.Would != 0:
		v.Summary = "The request was a repeat and let through, and this message was made. " + d.Explanation
	case d.Action == intent.Allow:
		v.Summary = "The request was allowed, and this message was made. " + d.Explanation
	default:
		v.Summary = "The same request came again and was not sent a second time. " + d.Explanation
	}
	return v
}

func attemptLine(t *store.Attempt, names map[int64]string) TimelineView {
	v := TimelineView{
		At: at(t.OpenedAt), Kind: "attempt", Attempt: int(t.Attempt.Attempt), Part: int(t.Part), Connection: names[t.Connection],
		place: place{int64(t.OpenedAt), rankAttempt, fmt.Sprintf("%05d.%05d", t.Attempt.Attempt, t.Part)},
	}
	v.Summary = fmt.Sprintf("Attempt %d was stored, to be handed to the connection %s", t.Attempt.Attempt, v.Connection)
	if t.Reference >= 0 {
		v.Reference = &t.Reference
		v.Summary += fmt.Sprintf(" under our reference %d", t.Reference)
	}
	v.Summary += "."
	return v
}

func exceptionLine(x *store.ExceptionView) TimelineView {
	return TimelineView{
		At: at(x.At), Kind: "exception", Exception: orNull(x.ID.String()), Reason: string(x.Kind),
		Attempt: int(x.Attempt), Part: int(x.Part), Receipt: orNull(x.Receipt.String()), Detail: x.Detail,
		Summary: "A person should look: " + x.Detail + ".", place: place{int64(x.At), rankException, x.ID.String()},
	}
}

// effects says what a receipt did, by the kind of its event.
var effects = map[evidence.EventKind]string{
	evidence.EventReceipt: "applied", evidence.EventRepeated: "repeated",
	evidence.EventOvertaken: "late", evidence.EventConflict: "conflicting",
}

func eventLine(e *evidence.Event) TimelineView {
	v := TimelineView{
		At: at(e.At), Kind: string(e.Kind), N: int(e.N), From: orNull(e.From.String()), State: orNull(e.To.String()),
		Attempt: int(e.Attempt), Part: int(e.Part), Receipt: orNull(e.Receipt.String()), Summary: eventWords(e),
		Outcome: e.Detail["outcome"], Code: e.Detail["code"], CodeName: e.Detail["name"],
		ExternalID: externalID([]byte(e.Detail["external_id"])), Detail: e.Detail["detail"],
		Match: e.Detail["match"], Status: e.Detail["status"], Reported: e.Detail["state"], ErrorCode: e.Detail["error_code"],
		By: e.Detail["by"], Reason: e.Detail["reason"],
		place: place{int64(e.At), rankEvent, fmt.Sprintf("%010d", e.N)},
	}
	if !e.Receipt.IsZero() {
		v.Effect = effects[e.Kind]
	}
	return v
}

// outcomeWords say what an answer means; the provider's code follows them.
var outcomeWords = map[string]string{
	"accepted":  "The provider accepted attempt %d",
	"rejected":  "The provider rejected attempt %d",
	"throttled": "The provider asked for patience; attempt %d was not taken and will be followed by another",
	"not_sent":  "Attempt %d ended before its first byte left",
	"unknown":   "No answer came to attempt %d, so it is not known whether the provider has it; it is not sent again",
}

// eventWords says in a sentence what happened.
func eventWords(e *evidence.Event) string {
	switch e.Kind {
	case evidence.EventTaken:
		return "The gateway took the message. No provider knows of it yet."
	case evidence.EventOutcome:
		return outcomeSentence(e)
	case evidence.EventLate:
		return "A late answer came. " + outcomeSentence(e)
	case evidence.EventReceipt:
		return fmt.Sprintf("A receipt reports %s for attempt %d%s.", reported(e), e.Attempt, settled(e))
	case evidence.EventRepeated:
		return fmt.Sprintf("A receipt reported %s again; it changes nothing.", reported(e))
	case evidence.EventOvertaken:
		return fmt.Sprintf("A receipt reported %s after a final one; it changes nothing.", reported(e))
	case evidence.EventConflict:
		return "Evidence contradicts what is known. It is kept, changes nothing, and was handed to a person."
	case evidence.EventOrphaned:
		return "The worker that had the message is gone. What it had begun to send has an unknown outcome."
	case evidence.EventExpired:
		return "It waited longer than it was valid, and was not sent."
	case evidence.EventFailed:
		return failedSentence(e)
	case evidence.EventCancelled:
		return "It was cancelled before it was sent."
	case evidence.EventClosed:
		return "No receipt is awaited any more. The state keeps its name and is final."
	case evidence.EventRestored:
		return "The store went back in time while this was not finished: it may have been sent since the copy was taken, and is not sent again."
	case evidence.EventRequeued:
		return "A person said that it was not sent after the copy was taken. It is sent like any message that waits."
	}
	return "Event " + string(e.Kind) + "."
}

func outcomeSentence(e *evidence.Event) string {
	words, ok := outcomeWords[e.Detail["outcome"]]
	if !ok {
		words = "The outcome of attempt %d is " + e.Detail["outcome"]
	}
	s := fmt.Sprintf(words, e.Attempt)
	if id := externalID([]byte(e.Detail["external_id"])); id != nil {
		s += " under its message id " + *id
	}
	if code := e.Detail["code"]; code != "" {
		s += fmt.Sprintf(" (%s)", joined(code, e.Detail["name"]))
	}
	return s + "."
}

// lostTexts are the codes of texts that cannot be opened any more, in words.
var lostTexts = map[string]string{
	"content_destroyed":  "the key it was sealed with is destroyed",
	"content_unreadable": "it does not fit the key it was sealed with",
}

// failedSentence says why a message never can be sent. The text's codes are the gateway's own and not a
// provider's.
func failedSentence(e *evidence.Event) string {
	code := e.Detail["code"]
	words, lost := lostTexts[code]
	switch {
	case lost:
		return fmt.Sprintf("It was not sent: its text cannot be opened any more (%s).", words)
	case code == "":
		return "It was not sent, and nothing more will be tried."
	}
	return fmt.Sprintf("It was not sent, and nothing more will be tried (%s).", joined(code, e.Detail["name"]))
}

func joined(code, name string) string {
	if name == "" {
		return code
	}
	return name + ", " + code
}

// reported is what a receipt says: its meaning where one is documented, and its own word.
func reported(e *evidence.Event) string {
	state, status := e.Detail["state"], e.Detail["status"]
	switch {
	case state == "":
		return "the status " + status
	case status == "":
		return state
	}
	return state + " (" + status + ")"
}

// settled says that a receipt was also the answer that had been lost.
func settled(e *evidence.Event) string {
	if e.Detail["match"] == string(evidence.ByReference) {
		return ", which it names by our own reference: the provider has the message, although its answer had not come"
	}
	return ""
}
