package check

import (
	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// index finds things of a history by what names them.
type index struct {
	asks      map[string]*Ask // by name
	about     map[*Ask][]*Message
	asked     map[*Message]*Ask
	messages  map[ident.Message]*Message
	decisions map[ident.Decision]*store.Decision
	effects   map[ident.Receipt][]effect
	receipts  map[ident.Receipt]*store.LoggedReceipt
	lines     []line
	taken     map[string]*line // by the message id that the message centre gave
}

// effect is what a receipt did to a message.
type effect struct {
	message *Message
	kind    evidence.EventKind
}

// line is a line of the ledger with what it was about; nil where that is not known.
type line struct {
	*simulator.Entry
	ask     *Ask
	text    string
	message *Message
	attempt *store.Attempt
}

// find returns the history's index. It is made once: a history does not change any more when it is checked.
func (h *History) find() *index {
	if h.index != nil {
		return h.index
	}
	x := &index{
		asks: map[string]*Ask{}, about: map[*Ask][]*Message{}, asked: map[*Message]*Ask{}, messages: map[ident.Message]*Message{},
		decisions: map[ident.Decision]*store.Decision{}, effects: map[ident.Receipt][]effect{},
		receipts: map[ident.Receipt]*store.LoggedReceipt{}, taken: map[string]*line{},
	}
	h.index = x
	for _, d := range h.Decisions {
		x.decisions[d.ID] = d
	}
	for _, r := range h.Receipts {
		x.receipts[r.ID] = r
	}
	x.addAsks(h)
	x.addLedger(h)
	return x
}

func (x *index) addAsks(h *History) {
	byText := map[intent.Key]*Ask{}
	for _, a := range h.Asks {
		x.asks[a.Event] = a
		if a.Unnamed() {
			byText[h.textKey(a)] = a
		}
	}
	for _, m := range h.Messages {
		ask := x.asks[m.Event.ID]
		if d := x.decisions[m.Decision]; ask == nil && d != nil {
			ask = byText[d.TextKey]
		}
		x.messages[m.ID] = m
		if x.asked[m] = ask; ask != nil {
			x.about[ask] = append(x.about[ask], m)
		}
		for _, e := range m.Events {
			if !e.Receipt.IsZero() {
				x.effects[e.Receipt] = append(x.effects[e.Receipt], effect{m, e.Kind})
			}
		}
	}
}

func (x *index) addLedger(h *History) {
	x.lines = make([]line, len(h.Ledger))
	for i := range h.Ledger {
		l := &x.lines[i]
		l.Entry = &h.Ledger[i]
		event, text := Named(l.Entry)
		l.ask, l.text = x.asks[event], text
		x.carry(l)
		if l.Outcome == simulator.Accepted {
			x.taken[l.MessageID] = l
		}
	}
}

// carry finds the attempt that a line came from: of a message with that text and destination, of that part, with that
// reference, and committed before the line was written.
func (x *index) carry(l *line) {
	if l.ask == nil || l.Reference == nil {
		return
	}
	at := clock.FromTime(l.At)
	for _, m := range x.about[l.ask] {
		for i := range m.Attempts {
			a := &m.Attempts[i]
			fits := a.Part == number(l.Entry) && a.Reference == int32(*l.Reference) && sentTo(l.Entry, m.Destination) && a.OpenedAt <= at
			if fits && (l.attempt == nil || a.OpenedAt >= l.attempt.OpenedAt) {
				l.message, l.attempt = m, a
			}
		}
	}
}

// about lists the messages about an intent.
func (h *History) about(a *Ask) []*Message { return h.find().about[a] }

func (h *History) message(id ident.Message) *Message { return h.find().messages[id] }

func (h *History) decision(id ident.Decision) *store.Decision { return h.find().decisions[id] }

// accepted counts how often the message centre took each part of an intent's text.
func (h *History) accepted(a *Ask) map[uint16]int {
	parts := map[uint16]int{}
	for _, l := range h.find().lines {
		if l.ask == a && a != nil && l.Outcome == simulator.Accepted {
			parts[number(l.Entry)]++
		}
	}
	return parts
}

// acceptedOf counts how often the message centre took each part of a message.
func (h *History) acceptedOf(m *Message) map[uint16]int {
	parts := map[uint16]int{}
	for _, l := range h.find().lines {
		if l.message == m && l.Outcome == simulator.Accepted {
			parts[number(l.Entry)]++
		}
	}
	return parts
}
