package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// try is an attempt of a part.
func try(part, attempt uint16, o message.Outcome, d message.Delivery) store.Attempt {
	a := store.Attempt{Attempt: evidence.Attempt{Attempt: attempt, Part: part, Outcome: o, Delivery: d, Reference: -1}}
	if o == message.OutcomeAccepted {
		a.ExternalID = fmt.Appendf(nil, "11%d", part)
	}
	if d != message.DeliveryNone {
		a.DeliveredAt = 1
	}
	return a
}

// What of a long message has come how far, as a client sees it.
//
// covers: D5, D16
func TestPartsAreShown(t *testing.T) {
	const (
		none      = message.DeliveryNone
		delivered = message.DeliveryDelivered
		accepted  = message.OutcomeAccepted
	)
	at := func(d time.Duration) clock.Micros { return clock.FromTime(epoch.Add(d)) }
	var b strings.Builder
	for _, c := range []struct {
		state    message.State
		final    bool
		attempts []store.Attempt
	}{
		{message.Pending, false, nil},
		{message.Pending, false, []store.Attempt{try(1, 1, accepted, none), try(2, 1, message.OutcomeThrottled, none)}},
		{message.Accepted, false, []store.Attempt{try(1, 1, accepted, none), try(2, 1, accepted, none), try(3, 1, accepted, none)}},
		{message.Accepted, false, []store.Attempt{try(1, 1, accepted, delivered), try(2, 1, accepted, none), try(3, 1, accepted, none)}},
		{message.Unknown, false, []store.Attempt{try(1, 1, message.OutcomeUnknown, none)}},
		{message.Undelivered, true, []store.Attempt{try(1, 1, accepted, delivered), try(2, 1, accepted, message.DeliveryUndelivered), try(3, 1, accepted, delivered)}},
		{message.Failed, false, []store.Attempt{try(1, 1, accepted, none), try(2, 1, message.OutcomeRejected, none), try(3, 1, accepted, none)}},
		{message.Failed, true, []store.Attempt{try(1, 1, accepted, delivered), try(2, 1, message.OutcomeRejected, none), try(3, 1, accepted, delivered)}},
		{message.Delivered, true, []store.Attempt{try(1, 1, message.OutcomeThrottled, none), try(1, 2, accepted, delivered), try(2, 1, accepted, delivered), try(3, 1, accepted, delivered)}},
	} {
		m := &store.Message{
			State: c.state, Final: c.final, Attempts: c.attempts, Text: message.Layout{Parts: 3, DataCoding: 8, JoinedBy: "udh8"},
			Since: at(2 * time.Second), ValidUntil: at(time.Hour), ReceiptUntil: at(73 * time.Hour),
		}
		parts, err := json.Marshal(partsOf(m))
		must(t, err)
		fmt.Fprintf(&b, "%s, reported %q\n%s\n%s\n\n", c.state, m.Delivery(), parts, outlook(m))
	}
	golden(t, "parts.golden", b.String())
}
