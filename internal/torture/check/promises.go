package check

import (
	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

// I1AckedExists checks that an acked message exists ever after, with the same tenant, destination, content and key;
// an acked cancellation stays one.
func I1AckedExists(h *History) []string {
	var f findings
	for _, a := range h.Acks {
		m, d := h.message(a.Message), h.decision(a.Decision)
		switch {
		case m == nil:
			f.add("%s was acked for %s and does not exist", a.Message, a.Ask.Event)
		case m.Tenant != h.Tenant || m.Destination != a.Ask.To || m.Purpose != a.Ask.Purpose || m.Event.ID != a.Ask.Event:
			f.add("%s was acked for %s and is about something else", a.Message, a.Ask.Event)
		case d == nil || d.Message.ID != a.Message:
			f.add("the decision %s was acked for %s and does not exist, or names another message", a.Decision, a.Ask.Event)
		case d.TextKey != h.textKey(a.Ask):
			f.add("the decision %s was taken on another text than %s has", a.Decision, a.Ask.Event)
		case d.IdempotencyKey != h.idempotencyKey(a.Key):
			f.add("the decision %s has another idempotency key than %s was sent with", a.Decision, a.Ask.Event)
		}
	}
	for _, id := range h.Cancelled {
		if m := h.message(id); m == nil || m.State != message.Cancelled {
			f.add("%s was acked as cancelled and is not", id)
		}
	}
	return f
}

func (h *History) textKey(a *Ask) intent.Key {
	return h.Keyer(intent.TextForm(&intent.Request{Tenant: h.Tenant}, a.Text))
}

// idempotencyOperation is what the API scopes keys of POST /v1/messages to.
const idempotencyOperation = "messages.send"

func (h *History) idempotencyKey(key string) intent.Key {
	if key == "" {
		return intent.Key{}
	}
	return h.Keyer(intent.IdempotencyForm(uint64(h.Tenant), idempotencyOperation, key))
}

// I2OneMessage checks that for each idempotency key and for each intent there is at most one message, and all
// answers name it. A repeat that mode monitor let through has the record of that, which authorises it.
func I2OneMessage(h *History) []string {
	var f findings
	for _, a := range h.Asks {
		if n := len(h.about(a.Event)); n > 1 {
			f.add("%s has %d messages", a.Event, n)
		}
	}
	held := map[intent.Key]ident.Message{}
	for _, m := range h.Messages {
		if d := h.decision(m.Decision); d != nil && d.Would != 0 {
			continue
		}
		if other, twice := held[m.IntentKey]; twice {
			f.add("%s and %s have the same intent key", other, m.ID)
		}
		held[m.IntentKey] = m.ID
	}
	byKey, byEvent := map[string]ident.Message{}, map[string]ident.Message{}
	for _, a := range h.Acks {
		if first, ok := byEvent[a.Ask.Event]; ok && first != a.Message {
			f.add("answers about %s name %s and %s", a.Ask.Event, first, a.Message)
		}
		if first, ok := byKey[a.Key]; ok && a.Key != "" && first != a.Message {
			f.add("answers under one idempotency key name %s and %s", first, a.Message)
		}
		byEvent[a.Ask.Event], byKey[a.Key] = a.Message, a.Message
	}
	return append(f, h.decidedTwice()...)
}

// decidedTwice finds idempotency keys under which more than one decision was stored: the second one had to be
// answered with the first.
func (h *History) decidedTwice() []string {
	var f findings
	first := map[intent.Key]ident.Decision{}
	for _, d := range h.Decisions {
		if other, twice := first[d.IdempotencyKey]; twice && !d.IdempotencyKey.IsZero() {
			f.add("%s and %s were decided under one idempotency key", other, d.ID)
		}
		first[d.IdempotencyKey] = d.ID
	}
	return f
}

// I11AllOrNone checks that a message, its state, its first event, its place in the feed and its decision are there
// together or not at all; a refused request leaves no message.
func I11AllOrNone(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		d := h.decision(m.Decision)
		switch {
		case d == nil || d.Action != intent.Allow || d.Message.ID != m.ID:
			f.add("%s has no decision that allowed it", m.ID)
		case m.State == 0:
			f.add("%s has no state", m.ID)
		case len(m.Events) == 0 || m.Events[0].Kind != evidence.EventTaken || m.Events[0].To != message.Pending:
			f.add("the history of %s does not begin with its taking", m.ID)
		}
		for _, e := range m.Events {
			if n := h.Feed[FeedEvent{m.ID, e.N}]; n != 1 {
				f.add("event %d of %s is in the feed %d times", e.N, m.ID, n)
			}
		}
	}
	for _, d := range h.Decisions {
		if d.Action == intent.Allow && h.message(d.Message.ID) == nil {
			f.add("%s allowed a message that does not exist", d.ID)
		}
	}
	for _, event := range h.Refused {
		if len(h.about(event)) > 0 {
			f.add("%s was refused and has a message", event)
		}
	}
	return f
}
