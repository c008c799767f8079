package api

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

// sentences say in plain words what happened, a function for each kind of event. They hold no number and no text.
var sentences = map[evidence.EventKind]func(*story, *evidence.Event) string{
	evidence.EventTaken:     takenSentence,
	evidence.EventOutcome:   outcomeSentence,
	evidence.EventLate:      lateSentence,
	evidence.EventReceipt:   receiptSentence,
	evidence.EventRepeated:  repeatedSentence,
	evidence.EventOvertaken: overtakenSentence,
	evidence.EventConflict:  conflictSentence,
	evidence.EventCorrected: correctedSentence,
	evidence.EventOrphaned:  orphanedSentence,
	evidence.EventFailed:    failedSentence,
	evidence.EventExpired:   expiredSentence,
	evidence.EventCancelled: cancelledSentence,
	evidence.EventClosed:    closedSentence,
	evidence.EventRestored:  restoredSentence,
	evidence.EventRequeued:  requeuedSentence,
	evidence.EventResolved:  resolvedSentence,
	evidence.EventRebuilt:   rebuiltSentence,
}

// story is what a sentence needs to know beside its event.
type story struct {
	names map[int64]string // of connections
	parts uint16           // of the message: 1 unless it is a long one
}

func storyOf(m *store.Message, names map[int64]string) *story {
	return &story{names: names, parts: uint16(partsOf(m).Parts)} // at most 255
}

// which names an attempt, and of a long message its part.
func (s *story) which(attempt, part uint16) string {
	if s.parts > 1 && part > 0 {
		return fmt.Sprintf("part %d of attempt %d", part, attempt)
	}
	return fmt.Sprintf("attempt %d", attempt)
}

func (s *story) sentence(e *evidence.Event) string {
	if say, ok := sentences[e.Kind]; ok {
		return say(s, e)
	}
	return "Event " + string(e.Kind) + "."
}

func takenSentence(*story, *evidence.Event) string {
	return "The gateway took the message. No provider knows of it yet."
}

// outcomeWords say what an answer means for an attempt.
var outcomeWords = map[string]string{
	message.OutcomeAccepted.String():  "The provider accepted %s%s. That is a hand-over; nothing is known of a handset.",
	message.OutcomeRejected.String():  "The provider rejected %s%s, so nothing of it was sent.",
	message.OutcomeThrottled.String(): "The provider asked for patience and did not take %s%s. Another attempt follows by itself.",
	message.OutcomeNotSent.String():   "The connection ended before the first byte of %s left%s, so nothing of it was sent.",
	message.OutcomeUnknown.String():   "No answer came to %s%s. Whether the provider has it is not known, and so it is not sent again.",
}

func outcomeSentence(s *story, e *evidence.Event) string {
	words, ok := outcomeWords[e.Detail["outcome"]]
	if !ok {
		words = "The outcome of %s is " + e.Detail["outcome"] + "%s."
	}
	return fmt.Sprintf(words, s.which(e.Attempt, e.Part), answerWords(e))
}

// answerWords are what the provider's answer holds: its message id, or its code and what that means.
func answerWords(e *evidence.Event) string {
	id, code := externalID([]byte(e.Detail["external_id"])), e.Detail["code"]
	switch {
	case id != nil:
		return " under its message id " + *id
	case code == "" && e.Detail["detail"] == "":
		return ""
	case code == "":
		return " (" + e.Detail["detail"] + ")"
	case e.Detail["detail"] == "":
		return " (" + joined(code, e.Detail["name"]) + ")"
	}
	return " (" + joined(code, e.Detail["name"]) + ": " + e.Detail["detail"] + ")"
}

func joined(code, name string) string {
	if name == "" {
		return code
	}
	return name + ", " + code
}

func lateSentence(s *story, e *evidence.Event) string {
	return "The answer came after all, late. " + outcomeSentence(s, e)
}

// matchWords say by what a receipt was matched with an attempt.
var matchWords = map[string]string{
	string(evidence.ByExternalID):   ". It was matched by the provider's message id",
	string(evidence.ByNormalisedID): ". It was matched by the provider's message id, in the form that is declared",
	string(evidence.ByReference):    ". It was matched by our own reference: the provider has the message, although its answer had not come",
}

func receiptSentence(s *story, e *evidence.Event) string {
	return fmt.Sprintf("A receipt reports %s for %s%s.", reported(e), s.which(e.Attempt, e.Part), matchWords[e.Detail["match"]])
}

func repeatedSentence(s *story, e *evidence.Event) string {
	return fmt.Sprintf("A receipt reported %s for %s again. It is kept and changes nothing.", reported(e), s.which(e.Attempt, e.Part))
}

func overtakenSentence(s *story, e *evidence.Event) string {
	return fmt.Sprintf("A receipt reported %s for %s late, after a final one. It is kept and changes nothing.", reported(e), s.which(e.Attempt, e.Part))
}

func correctedSentence(s *story, e *evidence.Event) string {
	return fmt.Sprintf("A receipt reports %s for %s. It replaces %s, which was reported before: the connection documents that it does.",
		reported(e), s.which(e.Attempt, e.Part), e.Detail["was"])
}

func conflictSentence(s *story, e *evidence.Event) string {
	what := "Evidence about " + s.which(e.Attempt, e.Part)
	switch {
	case !e.Receipt.IsZero():
		what = fmt.Sprintf("A receipt that reports %s for %s", reported(e), s.which(e.Attempt, e.Part))
	case e.Detail["outcome"] != "":
		what = fmt.Sprintf("An answer that says %s to %s", e.Detail["outcome"], s.which(e.Attempt, e.Part))
	}
	return what + " contradicts what is known. It is kept, changes nothing, and a person was told."
}

func orphanedSentence(s *story, e *evidence.Event) string {
	if open := e.Detail["open"]; open == "" || open == "0" {
		return "The worker that had the message is gone. It had begun nothing, so another one takes over."
	}
	return fmt.Sprintf("The worker that had the message is gone in the middle of %s, whose outcome is therefore unknown.", s.which(e.Attempt, e.Part))
}

// lostTexts are the codes of texts that cannot be opened any more, in words.
var lostTexts = map[string]string{
	"content_destroyed":  "the key it was sealed with is destroyed",
	"content_unreadable": "it does not fit the key it was sealed with",
}

// failedSentence says why a message never can be sent. The text's codes are the gateway's own and not a
// provider's.
func failedSentence(s *story, e *evidence.Event) string {
	code, what := e.Detail["code"], "It was not sent"
	if s.parts > 1 && e.Part > 0 {
		what = "Nothing of " + s.which(e.Attempt, e.Part) + " was sent"
	}
	words, lost := lostTexts[code]
	switch {
	case lost:
		return fmt.Sprintf("%s: the text cannot be opened any more (%s).", what, words)
	case code == "":
		return what + ", and nothing more will be tried."
	}
	return fmt.Sprintf("%s, and nothing more will be tried (%s).", what, joined(code, e.Detail["name"]))
}

func expiredSentence(_ *story, e *evidence.Event) string {
	if e.To == message.Failed {
		return "Parts of it waited longer than it was valid, and were not sent."
	}
	return "It waited longer than it was valid, and was not sent."
}

func cancelledSentence(_ *story, e *evidence.Event) string {
	if e.Detail["by"] == "" || e.Detail["reason"] == "" {
		return "It was cancelled before it was sent."
	}
	return fmt.Sprintf("%s cancelled it before it was sent: %s.", e.Detail["by"], e.Detail["reason"])
}

func closedSentence(_ *story, e *evidence.Event) string {
	return fmt.Sprintf("The time in which receipts may come is over. The message stays %s, and that is final.", e.To)
}

func restoredSentence(*story, *evidence.Event) string {
	return "The store went back in time while this was not finished: it may have been sent since the copy was taken, and is not sent again."
}

func requeuedSentence(_ *story, e *evidence.Event) string {
	const said = "A person said that it was not sent after the copy was taken. "
	if e.To == message.Expired || e.To == message.Failed {
		return said + "It never will be: it is " + e.To.String() + "."
	}
	return said + "It is sent like any message that waits."
}

// resolvedSentence says what a person made of evidence that the gateway could not settle by itself.
func resolvedSentence(s *story, e *evidence.Event) string {
	what := "Evidence about " + s.which(e.Attempt, e.Part)
	switch {
	case e.Declared() && e.Detail["outcome"] == message.OutcomeAccepted.String():
		return fmt.Sprintf("%s said that the provider took %s (%s).", e.Detail["by"], s.which(e.Attempt, e.Part), e.Detail["reason"])
	case e.Declared():
		return fmt.Sprintf("%s said that the provider did not take %s (%s). It is not sent again.", e.Detail["by"], s.which(e.Attempt, e.Part), e.Detail["reason"])
	case !e.Receipt.IsZero():
		what = "A receipt that reports " + reported(e)
	case e.Detail["outcome"] != "":
		what = fmt.Sprintf("An answer that says %s to %s", e.Detail["outcome"], s.which(e.Attempt, e.Part))
	case e.Attempt == 0:
		what = "What a person was told of the message as a whole"
	}
	verdict := "nothing follows from it"
	if e.Detail["action"] == string(exception.Attach) {
		verdict = "it stands for " + s.which(e.Attempt, e.Part)
	}
	return fmt.Sprintf("%s was looked at by %s: %s (%s).", what, e.Detail["by"], verdict, e.Detail["reason"])
}

// rebuiltSentence says what follows from reading receipts again.
func rebuiltSentence(s *story, e *evidence.Event) string {
	what := "Receipts of " + s.which(e.Attempt, e.Part) + " were read again"
	if e.Detail["moved"] != "" {
		what = "Read again, a receipt does not belong to " + s.which(e.Attempt, e.Part)
	}
	return fmt.Sprintf("%s (%s, by %s): it was reported %s, and is reported %s now.", what, e.Detail["reason"], e.Detail["by"], e.Detail["was"], e.Detail["delivery"])
}

// reported is what a receipt says: its meaning where one is documented, and its own word.
func reported(e *evidence.Event) string {
	state, status := e.Detail["state"], e.Detail["status"]
	if code := e.Detail["error_code"]; code != "" && code != "000" {
		status += ", error " + code
	}
	switch {
	case state == "":
		return "the status " + status
	case status == "":
		return state
	}
	return state + " (" + status + ")"
}
