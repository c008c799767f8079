package evidence

import (
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

var lateDelivery = []message.Correction{{From: message.DeliveryExpired, To: message.DeliveryDelivered}}

// documented is a receipt of a connection that documents that a delivery may come after the expiry.
func documented(e Evidence) Evidence {
	e.Receipt.Corrections = lateDelivery
	return e
}

// Where a connection documents that one final report replaces another, it does, and the event says so. Every other
// pair is a conflict as ever, and so is the way back.
//
// covers: R6
func TestDocumentedCorrections(t *testing.T) {
	c := sent(message.OutcomeAccepted).apply(t, documented(numbered(1, report("EXPIRED"))), documented(numbered(2, report("DELIVRD"))))
	wantState(t, c, message.Delivered, true)
	wantKinds(t, c, EventOutcome, EventReceipt, EventCorrected)
	wantExceptions(t, c)
	if e, a := c.Events[2], c.Attempts[0]; e.Detail["was"] != "expired" || e.Detail["state"] != "delivered" || a.StatusRaw != "DELIVRD" || a.DeliveredAt != e.At {
		t.Errorf("%+v makes %+v", e, a)
	}
	c.apply(t, documented(numbered(3, report("EXPIRED"))))
	wantState(t, c, message.Delivered, true)
	wantExceptions(t, c, exception.Conflicting)
	c = sent(message.OutcomeAccepted).apply(t, documented(numbered(1, report("UNDELIV"))), documented(numbered(2, report("DELIVRD"))))
	wantState(t, c, message.Undelivered, true)
	wantExceptions(t, c, exception.Conflicting)
}

// A repeat corrects nothing, and neither does an intermediate notification or a receipt for what was refused.
//
// covers: R6, R10
func TestWhatCorrectsNothing(t *testing.T) {
	expired := func() *Case {
		return sent(message.OutcomeAccepted).apply(t, documented(numbered(1, report("EXPIRED"))))
	}
	c := expired().apply(t, repeated(documented(report("DELIVRD"))))
	wantState(t, c, message.Expired, true)
	c = expired().apply(t, intermediate(documented(report("DELIVRD"))))
	wantState(t, c, message.Expired, true)
	wantExceptions(t, c)
	c = sent(message.OutcomeRejected).apply(t, documented(report("DELIVRD")))
	wantState(t, c, message.Rejected, true)
	wantExceptions(t, c, exception.Conflicting)
}

// A rule that is declared later has its effect when the receipts are read again, and one that is taken back has none.
//
// covers: R6, R9
func TestCorrectionsThatAreDeclaredLater(t *testing.T) {
	c := sent(message.OutcomeAccepted).apply(t, numbered(1, report("EXPIRED")), numbered(2, report("DELIVRD")))
	wantState(t, c, message.Expired, true)
	wantExceptions(t, c, exception.Conflicting)
	read := all(as(1, "EXPIRED", "expired"), as(2, "DELIVRD", "delivered"))
	read[ident.Receipt{2}].Corrections = lateDelivery
	c.apply(t, reread(c, read, 2))
	wantState(t, c, message.Delivered, true)
	if c.Effects[ident.Receipt{2}] != message.Applied {
		t.Errorf("the effects are %v", c.Effects)
	}
	c.apply(t, reread(c, all(as(1, "EXPIRED", "expired"), as(2, "DELIVRD", "delivered")), 2))
	wantState(t, c, message.Expired, true)
	wantKinds(t, c, EventOutcome, EventReceipt, EventConflict, EventRebuilt, EventRebuilt)
}
