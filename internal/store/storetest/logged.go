package storetest

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testSettleLogged stores receipts and gives them their effect in one transaction, together with an answer.
//
// covers: R1, R2, R5, I13
func testSettleLogged(t *testing.T, h Harness) {
	w := newWorld(t, h)
	ctx := context.Background()
	a, b := w.attempt(ask{event: "SL", version: "1", to: 60}), w.attempt(ask{event: "SL", version: "2", to: 61})
	w.settle(w.outcome(a, message.OutcomeAccepted, "sl-a"))
	first, ofA := w.call("sl-a", -1, "delivered", 60)
	second, ofB := w.call("sl-b", -1, "delivered", 61)
	early, ofNobody := w.call("sl-early", -1, "delivered", 62)
	inbound := &store.LoggedReceipt{ID: ident.NewReceipt(0), Connection: w.conn, IDSpace: w.space, Kind: "inbound", Payload: []byte("sealed"), Reference: -1}
	out, err := w.SettleLogged(ctx, []*store.LoggedReceipt{first, second, early, inbound}, []store.News{w.outcome(b, message.OutcomeAccepted, "sl-b"), ofA, ofB, ofNobody, ofA}, w.rules)
	must(t, err)
	if out[1].Message != a.Message || out[2].Message != b.Message || !out[3].Waiting || !out[4].Known {
		t.Fatalf("settled as %+v", out)
	}
	w.state(a.Message, message.Delivered)
	w.state(b.Message, message.Delivered)
	for _, r := range []*store.LoggedReceipt{first, second, early, inbound} {
		if got, err := w.Receipt(ctx, w.tenant, r.ID); err != nil || got.Seq != r.Seq || got.ReceivedAt != r.ReceivedAt || r.Seq == 0 {
			t.Errorf("a %s is in the log as %+v: %v", r.Kind, got, err)
		}
	}
	// Only what waits is on the list of work, until its message id is known.
	for id, n := range map[ident.Receipt]store.News{first.ID: ofA, second.ID: ofB} {
		if again := w.settle(n); !again[0].Known {
			t.Errorf("%s is still on the list of work", id)
		}
	}
	c := w.attempt(ask{event: "SL", version: "3", to: 62})
	w.settle(w.outcome(c, message.OutcomeAccepted, "sl-early"))
	w.state(c.Message, message.Delivered)
	w.exceptions()
	t.Run("Lost", func(t *testing.T) { testSettleLoggedLost(t, h) })
}

// testSettleLoggedLost loses the commit: the same receipts are not stored twice and have their effect once. What cannot
// be stored leaves nothing.
//
// covers: R1, R10, I13
func testSettleLoggedLost(t *testing.T, h Harness) {
	if h.Fragile == nil {
		return
	}
	f := h.Fragile(t)
	w := worldOn(t, h, f)
	ctx := context.Background()
	o := w.attempt(ask{event: "SLL", version: "1", to: 63})
	w.settle(w.outcome(o, message.OutcomeAccepted, "sll"))
	r, n := w.call("sll", -1, "delivered", 63)
	early, waits := w.call("sll-early", -1, "delivered", 64)
	f.Arm(true)
	_, err := w.SettleLogged(ctx, []*store.LoggedReceipt{r, early}, []store.News{n, waits}, w.rules)
	must(t, err)
	if f.Cut() != 1 {
		t.Fatal("no commit was broken: the test proves nothing")
	}
	w.state(o.Message, message.Delivered)
	events, err := w.Events(ctx, w.tenant, o.Message, 0, 10)
	must(t, err)
	if len(events) != 3 || events[2].Kind != evidence.EventReceipt {
		t.Errorf("the history is %+v", events)
	}
	c := w.attempt(ask{event: "SLL", version: "2", to: 64})
	w.settle(w.outcome(c, message.OutcomeAccepted, "sll-early"))
	w.state(c.Message, message.Delivered)
	bad, ofBad := w.call("bad", -1, "delivered", 65)
	bad.Status = "a text that no column takes\x00"
	if _, err := w.SettleLogged(ctx, []*store.LoggedReceipt{bad}, []store.News{ofBad}, w.rules); fault.CodeOf(err) != fault.Internal {
		t.Errorf("what cannot be stored: %v", err)
	}
	if _, err := w.Receipt(ctx, w.tenant, bad.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("it is in the log: %v", err)
	}
}
