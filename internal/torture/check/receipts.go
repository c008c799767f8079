package check

import (
	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// I13ReceiptsHaveEffect checks that a receipt that was answered with success is stored, has its effect once, and on
// the message that it is about alone. The message centre repeats a receipt until it is answered with success, so in
// the end each is stored: what it reports must be known, and nothing may be left for a person.
func I13ReceiptsHaveEffect(h *History) []string {
	var f findings
	stored := map[string]bool{}
	taken := map[string]*simulator.Entry{}
	for i := range h.Ledger {
		if h.Ledger[i].Outcome == simulator.Accepted {
			taken[h.Ledger[i].MessageID] = &h.Ledger[i]
		}
	}
	for _, r := range h.Receipts {
		stored[string(r.ExternalID)] = true
		f.touches(h, r, taken[string(r.ExternalID)])
	}
	for id, e := range taken {
		if m, a := h.carried(e); a != nil {
			f.reported(m, a, stored[id])
		}
	}
	for _, x := range h.Exceptions {
		f.add("an exception was opened for a person (%s: %s)", x.Kind, x.Detail)
	}
	return f
}

// touches holds a stored receipt against the message that it is about.
func (f *findings) touches(h *History, r *store.LoggedReceipt, about *simulator.Entry) {
	if about == nil {
		f.add("%s is about nothing that the message centre accepted", r.ID)
		return
	}
	applied := 0
	for _, e := range h.find().effects[r.ID] {
		if ask := h.ask(about); ask == nil || ask.Event != e.message.Event.ID {
			f.add("%s touched %s, which it is not about", r.ID, e.message.ID)
		}
		if e.kind == evidence.EventReceipt {
			applied++
		}
	}
	if applied > 1 {
		f.add("%s was applied %d times", r.ID, applied)
	}
}

// reported holds an attempt that was accepted against the receipt that the message centre sends for it.
func (f *findings) reported(m *Message, a *store.Attempt, stored bool) {
	want := Report(m.Destination)
	applied := map[ident.Receipt]bool{}
	for _, e := range m.Events {
		if e.Kind == evidence.EventReceipt && e.Part == a.Part {
			applied[e.Receipt] = true
		}
	}
	switch {
	case want == message.DeliveryNone:
	case !stored:
		f.add("no receipt of part %d of %s is stored", a.Part, m.ID)
	case a.Delivery != want:
		f.add("receipts report part %d of %s as %s; %s is stored", a.Part, m.ID, want, a.Delivery)
	case len(applied) != 1:
		f.add("part %d of %s has %d receipts applied, want 1", a.Part, m.ID, len(applied))
	}
}
