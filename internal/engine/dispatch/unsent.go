package dispatch

import (
	"context"
	"errors"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/provider"
)

// Codes of outcomes that the gateway itself is the author of.
const (
	CodeContentDestroyed  = "content_destroyed"  // the text's key is destroyed
	CodeContentUnreadable = "content_unreadable" // the text does not fit its key
	CodeContentWaits      = "content_waits"      // the text's key could not be read just now
	CodeValidityOver      = "validity_over"      // the message is not wanted any more
	CodeSlotLost          = "slot_lost"          // the node may not use the connection's bind now
)

// hopeless reports that no later attempt could open the text.
func hopeless(code string) bool { return code == CodeContentDestroyed || code == CodeContentUnreadable }

func unopened(err error) provider.Outcome {
	code := fault.CodeOf(err)
	switch {
	case code == fault.Unavailable, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return provider.Outcome{Kind: provider.NotSent, Code: CodeContentWaits, Detail: "the key of the text could not be read"}
	case code == fault.NotFound:
		return provider.Outcome{Kind: provider.NotSent, Code: CodeContentDestroyed, Detail: "the key of the text is destroyed; nothing was sent"}
	}
	return provider.Outcome{Kind: provider.NotSent, Code: CodeContentUnreadable, Detail: "the text could not be opened; nothing was sent"}
}

var (
	validityOver = provider.Outcome{Kind: provider.NotSent, Code: CodeValidityOver, Detail: "the message's validity was over before it was sent"}
	slotLost     = provider.Outcome{Kind: provider.NotSent, Code: CodeSlotLost, Detail: "this node did not hold the connection's bind slot any more"}
)
