package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/message"
)

// A receipt has an effect on messages of the connection that brought it, and on no other's: neither by an id that is
// the same by chance nor by a reference.
//
// covers: R4, R6, I13
func testForeignReceipts(t *testing.T, h Harness) {
	w := newWorld(t, h)
	other := *w
	var err error
	other.conn, other.space, err = w.EnsureConnection(context.Background(), "other carrier", "")
	must(t, err)
	o := w.attempt(ask{event: "OURS", version: "1", to: 60})
	w.settle(w.outcome(o, message.OutcomeAccepted, "SAME"))
	lost := w.attempt(ask{event: "OURS", version: "2", to: 61})
	w.settle(w.outcome(lost, message.OutcomeUnknown, ""))
	byID, byReference := other.over("SAME", "undelivered", 60), other.receipt("", lost.Reference, "undelivered", 61)
	byReference.GraceOver = true
	other.settle(byReference)
	w.state(o.Message, message.Accepted)
	w.state(lost.Message, message.Unknown)
	for _, x := range w.exceptions("unmatched", "unmatched") {
		if x.Connection != other.conn || !x.Message.IsZero() {
			t.Errorf("the exception is %+v", x)
		}
	}
	if r := w.logged(byID.Receipt.ID); r.IDSpace != other.space {
		t.Errorf("the log has it as %+v", r)
	}
	w.settle(w.receipt("SAME", -1, "delivered", 60))
	w.state(o.Message, message.Delivered)
}

// A carrier gives an id a second time: a receipt for another number than the message's moves nothing, and one that
// fits several messages moves none of them.
//
// covers: R4, R6
func testRecycledIDs(t *testing.T, h Harness) {
	w := newWorld(t, h)
	old := w.attempt(ask{event: "OLD", version: "1", to: 62})
	w.settle(w.outcome(old, message.OutcomeAccepted, "AGAIN"))
	w.over("AGAIN", "undelivered", 63)
	w.state(old.Message, message.Accepted)
	w.exceptions("ambiguous")
	fresh := w.attempt(ask{event: "NEW", version: "1", to: 62})
	w.settle(w.outcome(fresh, message.OutcomeAccepted, "AGAIN"))
	w.over("AGAIN", "delivered", 62)
	w.state(old.Message, message.Accepted)
	w.state(fresh.Message, message.Accepted)
	w.exceptions("ambiguous", "ambiguous")
}
