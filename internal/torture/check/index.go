package check

import (
	"strings"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// index finds things of a history by what names them.
type index struct {
	asks      map[Segment]*Ask
	about     map[string][]*Message
	messages  map[ident.Message]*Message
	decisions map[ident.Decision]*store.Decision
	ledger    map[string][]*simulator.Entry // by event
	effects   map[ident.Receipt][]effect
}

// effect is what a receipt did to a message.
type effect struct {
	message *Message
	kind    evidence.EventKind
}

// find returns the history's index. It is made once: a history does not change any more when it is checked.
func (h *History) find() *index {
	if h.index != nil {
		return h.index
	}
	x := &index{
		asks: SegmentsOf(h.Asks), about: map[string][]*Message{}, messages: map[ident.Message]*Message{},
		decisions: map[ident.Decision]*store.Decision{}, ledger: map[string][]*simulator.Entry{},
		effects: map[ident.Receipt][]effect{},
	}
	for _, m := range h.Messages {
		x.about[m.Event.ID] = append(x.about[m.Event.ID], m)
		x.messages[m.ID] = m
		for _, e := range m.Events {
			if !e.Receipt.IsZero() {
				x.effects[e.Receipt] = append(x.effects[e.Receipt], effect{m, e.Kind})
			}
		}
	}
	for _, d := range h.Decisions {
		x.decisions[d.ID] = d
	}
	for i := range h.Ledger {
		if a := x.asks[SegmentOf(&h.Ledger[i])]; a != nil {
			x.ledger[a.Event] = append(x.ledger[a.Event], &h.Ledger[i])
		}
	}
	h.index = x
	return x
}

// ask finds the intent that a ledger entry is about, by its text; nil: a text that nobody asked for.
func (h *History) ask(e *simulator.Entry) *Ask { return h.find().asks[SegmentOf(e)] }

// about lists the messages about an event.
func (h *History) about(event string) []*Message { return h.find().about[event] }

func (h *History) message(id ident.Message) *Message { return h.find().messages[id] }

func (h *History) decision(id ident.Decision) *store.Decision { return h.find().decisions[id] }

// accepts counts how often the message centre took each segment of the message about an event.
func (h *History) accepts(event string) map[int]int {
	n := map[int]int{}
	for _, e := range h.find().ledger[event] {
		if e.Outcome == simulator.Accepted {
			n[SegmentOf(e).Number]++
		}
	}
	return n
}

// carried finds the attempt that a ledger entry came from: of that part of a message with that text and destination,
// with that reference, and committed before the entry was written. nil: there is none.
func (h *History) carried(e *simulator.Entry) (m *Message, a *store.Attempt) {
	ask := h.ask(e)
	if ask == nil || e.Reference == nil {
		return nil, nil
	}
	at := clock.FromTime(e.At)
	for _, one := range h.about(ask.Event) {
		for i := range one.Attempts {
			t := &one.Attempts[i]
			fits := int(t.Part) == SegmentOf(e).Number && t.Reference == int32(*e.Reference) && strings.TrimPrefix(one.Destination, "+") == e.Destination && t.OpenedAt <= at
			if fits && (a == nil || t.OpenedAt >= a.OpenedAt) {
				m, a = one, t
			}
		}
	}
	return m, a
}

// ending is what chooses the message centre's behaviour.
func ending(to string) string { return to[max(0, len(to)-2):] }

// Report is the final delivery that the message centre's receipts report for a destination: none where it sends
// no receipt, or takes no message.
func Report(to string) message.Delivery {
	switch ending(to) {
	case "02", "05", "13", "14":
		return message.DeliveryNone
	case "01":
		return message.DeliveryUndelivered
	}
	return message.DeliveryDelivered
}

// ambiguous reports that the message centre neither takes nor answers messages to this destination.
func ambiguous(to string) bool { return ending(to) == "05" || ending(to) == "13" }
