package message

import (
	"fmt"
	"slices"
	"strings"
)

// What is final moves by no evidence that arrives. It moves by a rule that a connection documents, by a person's
// resolution, or by a rebuild after a parser or a setting was mended, each an event of its own (R6). These are the moves
// that they may make beside those of the tables: from anything of which an attempt was made, to what attempts and receipts can prove. Of a long message whose
// sending had stopped at a part that is there after all, the rest goes on.
var (
	correctedFrom = []State{Pending, Sending, Accepted, EnRoute, Delivered, Undelivered, Rejected, Failed, Expired, Replaced, Cancelled, RetryDue, Unknown}
	correctedTo   = []State{Pending, Sending, Accepted, EnRoute, Delivered, Undelivered, Rejected, Failed, Expired, Unknown}
)

// Corrects reports whether a rule, a person or a rebuild may take a message from one state to another.
func Corrects(from, to State) bool {
	return from != to && (Allowed(from, to) || slices.Contains(correctedFrom, from) && slices.Contains(correctedTo, to))
}

func correctionsText() string {
	names := func(all []State) string {
		words := make([]string, len(all))
		for i, s := range all {
			words[i] = s.String()
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("\n### Corrections\n\nA final receipt that a connection documents to replace an earlier one, a person's word on an exception or an attempt, or a\n"+
		"rebuild from the log of receipts after a parser or a setting was mended may also move what is final. Each is an event of\n"+
		"its own, *corrected*, *resolved* or *rebuilt*, and names what or who made it.\n\n"+
		"From: %s.\n\nTo: %s.\n\nOf an attempt they may change the outcome to accepted, rejected or unknown, and the reported delivery to any other.\n",
		names(correctedFrom), names(correctedTo))
}
