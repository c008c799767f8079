package intent

import (
	"fmt"
	"slices"

	"github.com/einmal/einmal/internal/domain/message"
)

// ReasonUnanswered suppresses a request without a purpose that came before the answer to an equal one is known to
// have got out: who hears nothing asks again, and means the same message (D18). Once the answer got out, the same
// request is meant, and is sent.
const ReasonUnanswered Reason = "answer_not_received"

// askedAgain answers a caller who asks again with the message that the first request made.
func askedAgain(r *Request, f *Facts, held match) Result {
	d := suppress(r, f, held, true, false)
	d.Class, d.Reason = TechnicalDuplicate, ReasonUnanswered
	d.Explanation = explainAskedAgain(r, held, f)
	res := Result{Kind: Decided, Decision: d}
	f.repeat(held.key, r, &res)
	return res
}

// explainAskedAgain tells a caller who asks again from one whose call has the same message twice.
func explainAskedAgain(r *Request, held match, f *Facts) string {
	if slices.Contains(r.Before, held.Message.ID) {
		return fmt.Sprintf("Message %s is for the same %s, and is asked for before this one in the same batch: it %s made once. If a second one is meant, give each an event or a correlation id of its own.",
			held.Message.ID, keyWords(r.Purpose), r.says("is", "would be"))
	}
	return fmt.Sprintf("Message %s for the same %s %s, and the answer to its request is not known to have got out. This request %s taken for its caller asking again: nothing %s sent a second time.",
		held.Message.ID, keyWords(r.Purpose), standing(held.Message, f.Now), r.says("is", "would be"), r.says("is", "would be"))
}

// awaitAnswer holds the key until the answer to the message that is made got out, or its time is over.
func (res *Result) awaitAnswer(r *Request, f *Facts) {
	if r.Keys.Unanswered.IsZero() {
		return
	}
	res.hold(f, r.Keys.Unanswered, &Holder{Ends: WindowBound(r.Purpose.Window, f.Now), Message: MessageFacts{
		ID: r.Message, Connection: r.Connection, State: message.Pending, Since: f.Now, TextKey: r.TextKey,
	}})
}
