package api

import (
	"fmt"
	"strings"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store"
)

// outlooks say, by a message's state, what is known of it, what is still owed and what happens next.
var outlooks = map[message.State]func(*store.Message) string{
	message.Held:        heldOutlook,
	message.Declined:    always("A person looked at it and declined it. Nothing was sent."),
	message.Pending:     pendingOutlook,
	message.Sending:     always("It is being handed to the provider at this moment. Its answer, or the lack of one, is known within the connection's time to answer."),
	message.Accepted:    acceptedOutlook,
	message.EnRoute:     enRouteOutlook,
	message.Delivered:   always("The provider reports it delivered. That does not mean that somebody has read it."),
	message.Undelivered: undeliveredOutlook,
	message.Rejected:    always("The provider refused it, so nothing was sent."),
	message.Failed:      failedOutlook,
	message.Expired:     expiredOutlook,
	message.Replaced:    always("A newer version of the same event took its place before it was sent."),
	message.Cancelled:   always("It was taken back before it was sent."),
	message.RetryDue:    retryOutlook,
	message.Unknown:     unknownOutlook,
}

// outlook is the sentence for a message; one of a state that this release does not know says as much.
func outlook(m *store.Message) string {
	say, ok := outlooks[m.State]
	if !ok {
		return "Its state is " + m.State.String() + "."
	}
	words := say(m) + partWords(m)
	if m.Final {
		words += " Nothing more is owed."
	}
	return words
}

func failedOutlook(m *store.Message) string {
	switch {
	case m.Progress().Taken == 0:
		return "It was not sent, and nothing more is tried."
	case m.Final:
		return "It was sent in part, and the rest never will be."
	}
	return "It was sent in part, and the rest never will be. Receipts of what was sent may come until " + clockWords(m.ReceiptUntil) + "."
}

func always(words string) func(*store.Message) string {
	return func(*store.Message) string { return words }
}

func heldOutlook(m *store.Message) string {
	return "A person has to approve it before it is sent; that can be done until " + clockWords(m.ValidUntil) + "."
}

func pendingOutlook(m *store.Message) string {
	until := " until " + clockWords(m.ValidUntil) + " at the latest; then it expires."
	if len(m.Attempts) == 0 {
		return "It waits to be sent," + until
	}
	if m.Progress().Taken > 0 {
		return "It was sent in part. The rest follows by itself, until " + clockWords(m.ValidUntil) + " at the latest; then it has failed."
	}
	return "No provider has taken it yet. Another attempt follows by itself," + until
}

func retryOutlook(m *store.Message) string {
	return "It was not delivered yet. Another attempt is due, until " + clockWords(m.ValidUntil) + " at the latest; then it expires."
}

func acceptedOutlook(m *store.Message) string {
	switch some := m.Progress().Delivered > 0; {
	case some && m.Final:
		return "The provider had it, and receipts came for some of its parts alone: whether all of it was delivered is not known."
	case some:
		return "The provider has it. " + mayCome(m) + "it ends as accepted."
	case m.Final:
		return "The provider had it, and no receipt came while one could: whether it was delivered is not known."
	}
	return "The provider has it and has reported no delivery. " + mayCome(m) + "it ends as accepted."
}

func enRouteOutlook(m *store.Message) string {
	if m.Final {
		return "The provider reported that it was on its way, and no final receipt came while one could."
	}
	return "The provider reports that it is on its way. " + mayCome(m) + "it ends as that."
}

func mayCome(m *store.Message) string {
	return "A receipt may come until " + clockWords(m.ReceiptUntil) + "; without one "
}

func undeliveredOutlook(m *store.Message) string {
	if m.Final {
		return "The provider reports it undelivered, and nothing more is tried."
	}
	return "The provider reports it undelivered. Other receipts of it may still come until " + clockWords(m.ReceiptUntil) + "."
}

func expiredOutlook(m *store.Message) string {
	for i := range m.Attempts {
		if m.Attempts[i].Outcome == message.OutcomeAccepted {
			return "The provider had it, and reports that its validity ended there."
		}
	}
	return "It waited longer than it was valid, and was not sent."
}

// unknownOutlook says since when, and what settles it (D9).
func unknownOutlook(m *store.Message) string {
	begins := fmt.Sprintf("Since %s it is not known whether the provider has it", clockWords(m.Since))
	if m.Final {
		return begins + ", and no evidence came while it could."
	}
	return fmt.Sprintf("%s, and so it is not sent again. What settles it: the provider's late answer, %sor a person. "+
		"If nothing comes until %s, it ends as unknown.", begins, referenceWords(m), clockWords(m.ReceiptUntil))
}

// referenceWords name the references by which a receipt can settle what has no answer.
func referenceWords(m *store.Message) string {
	var references []string
	for i := range m.Attempts {
		if a := &m.Attempts[i]; a.Outcome == message.OutcomeUnknown && a.Reference >= 0 {
			references = append(references, fmt.Sprint(a.Reference))
		}
	}
	if len(references) == 0 {
		return ""
	}
	return "a receipt that carries our own reference " + strings.Join(references, " or ") + ", "
}
