package cli

import (
	"slices"

	"github.com/einmal/einmal/internal/edge/api"
)

// sendingStates say what is known of a message's sending. That the gateway took it, that a provider accepted it
// and that a receipt reported its delivery are different facts, and each is said in its own word (D16).
var sendingStates = map[string]string{
	"held":        "held for a person's review; not sent",
	"declined":    "declined in review; it is not sent",
	"pending":     "waiting to be sent",
	"sending":     "being handed to the provider at this moment",
	"accepted":    "accepted by the provider; no delivery is reported",
	"en_route":    "accepted by the provider, which reports that it is on its way",
	"delivered":   "reported delivered",
	"undelivered": "accepted by the provider, and reported undelivered",
	"rejected":    "rejected by the provider",
	"failed":      "failed: not sent, and nothing more will be tried",
	"expired":     "expired before it was sent",
	"replaced":    "replaced by a newer version before it was sent",
	"cancelled":   "cancelled before it was sent",
	"retry_due":   "not delivered by the attempt so far; another one is due",
	"unknown":     "unknown: it may have left, and no answer came; nothing is sent again before that is settled",
}

// sendingWords are those of the message's state. A validity may also have ended at the provider, and a message
// that waits may have been tried before.
func sendingWords(m *api.MessageView) string {
	words, known := sendingStates[m.State]
	switch {
	case !known:
		return "the state is " + clean(m.State)
	case m.State == "expired" && slices.ContainsFunc(m.Attempts, accepted):
		return "accepted by the provider, where it expired, as a receipt reports"
	case m.State == "pending" && len(m.Attempts) > 0:
		return words + " again: no provider has taken it yet"
	}
	return words
}

func accepted(t api.AttemptView) bool { return t.Outcome == "accepted" }
