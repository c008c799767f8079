package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
)

// testStateSource asks by what the message that a decision was compared with had come to its state. What comes
// afterwards changes nothing of it.
//
// covers: D14
func testStateSource(t *testing.T, h Harness) {
	w := newWorld(t, h)
	a := ask{event: "S-1", version: "1", to: 48}
	made := w.decide(a)[0].Decision
	pending := w.decide(a)[0].Decision
	opened := w.open(w.claim(1))[0]
	sending := w.decide(a)[0].Decision
	w.settle(w.outcome(opened, message.OutcomeAccepted, "s1"))
	accepted := w.decide(a)[0].Decision
	receipt := w.receipt("s1", -1, "delivered", 48)
	w.settle(receipt)
	delivered := w.decide(a)[0].Decision
	w.settle(w.receipt("s1", -1, "delivered", 48))
	again := w.decide(a)[0].Decision
	for name, c := range map[string]struct {
		d       intent.Decision
		kind    evidence.EventKind // "": none
		attempt uint16
	}{
		"a new intent": {made, "", 0}, "pending": {pending, evidence.EventTaken, 0}, "sending": {sending, "", 0},
		"accepted": {accepted, evidence.EventOutcome, 1}, "delivered": {delivered, evidence.EventReceipt, 1}, "a repeated receipt": {again, evidence.EventReceipt, 1},
	} {
		stored, err := w.Store.Decision(context.Background(), w.tenant, c.d.ID)
		must(t, err)
		e := stored.StateSource
		switch {
		case c.kind == "" && e != nil:
			t.Errorf("%s: %+v", name, e)
		case c.kind == "":
		case e == nil || e.Kind != c.kind || e.Attempt != c.attempt || e.To != stored.PreviousState || e.At > stored.At:
			t.Errorf("%s: %+v", name, e)
		case c.kind == evidence.EventReceipt && e.Receipt != receipt.Receipt.ID:
			t.Errorf("%s: by the receipt %s", name, e.Receipt)
		}
	}
}
