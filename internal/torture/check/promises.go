package check

import (
	"cmp"
	"slices"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// I1AckedExists checks that an acked message exists ever after, with the same tenant, destination, content and key;
// an acked cancellation stays one.
func I1AckedExists(h *History) []string {
	var f findings
	for _, a := range h.Acks {
		if m := h.message(a.Message); m != nil || !h.forgotten(clock.FromTime(a.At)) {
			f.acked(h, &a, m, h.decision(a.Decision))
		}
	}
	for _, id := range h.Cancelled {
		if m := h.message(id); (m != nil || len(h.Restores) == 0) && (m == nil || m.State != message.Cancelled) {
			f.add("%s was acked as cancelled and is not", id)
		}
	}
	return f
}

func (f *findings) acked(h *History, a *Ack, m *Message, d *store.Decision) {
	purpose, event := a.Ask.Purpose, a.Ask.Event
	if a.Ask.Unnamed() {
		purpose, event = policy.UnnamedPurpose, ""
	}
	switch {
	case m == nil:
		f.add("%s was acked for %s and does not exist", a.Message, a.Ask.Event)
	case m.Tenant != h.Tenant || m.Destination != a.Ask.To || m.Purpose != purpose || m.Event.ID != event:
		f.add("%s was acked for %s and is about something else", a.Message, a.Ask.Event)
	case d == nil || d.Message.ID != a.Message:
		f.add("the decision %s was acked for %s and does not exist, or names another message", a.Decision, a.Ask.Event)
	case d.TextKey != h.textKey(a.Ask):
		f.add("the decision %s was taken on another text than %s has", a.Decision, a.Ask.Event)
	case a.Key != "" && d.IdempotencyKey != h.idempotencyKey(a.Key), a.Key == "" && d.Run == nil && !d.IdempotencyKey.IsZero():
		f.add("the decision %s has another idempotency key than %s was sent with", a.Decision, a.Ask.Event)
	}
}

func (h *History) textKey(a *Ask) intent.Key {
	return h.Keyer(intent.TextForm(&intent.Request{Tenant: h.Tenant}, a.Text))
}

// idempotencyOperation is what the API scopes keys of POST /v1/messages to.
const idempotencyOperation = "messages.send"

func (h *History) idempotencyKey(key string) intent.Key {
	return h.Keyer(intent.IdempotencyForm(uint64(h.Tenant), idempotencyOperation, key))
}

// I2OneMessage checks that for each idempotency key and for each intent there is at most one message that nobody
// authorised, and all answers name it. A repeat that mode monitor let through has the record of that, which
// authorises it; a request that names no intent and is sent again by a client that has its answer is meant.
func I2OneMessage(h *History) []string {
	var f findings
	for _, a := range h.Asks {
		f.oneMessage(h, a)
	}
	held := map[intent.Key]*Message{}
	for _, m := range h.Messages {
		if h.letThrough(m.Decision) {
			continue
		}
		other := held[m.IntentKey]
		if other != nil && !(m.Purpose == policy.UnnamedPurpose && apart(m, other)) {
			f.add("%s and %s have the same intent key", other.ID, m.ID)
		}
		held[m.IntentKey] = m
	}
	byKey, byEvent := map[string]ident.Message{}, map[*Ask]ident.Message{}
	for _, a := range h.Acks {
		if h.forgotten(clock.FromTime(a.At)) {
			continue
		}
		if first, ok := byEvent[a.Ask]; ok && first != a.Message && !a.Ask.Unnamed() && !h.letThrough(a.Decision) {
			f.add("answers about %s name %s and %s", a.Ask.Event, first, a.Message)
		}
		if first, ok := byKey[a.Key]; ok && a.Key != "" && first != a.Message {
			f.add("answers under one idempotency key name %s and %s", first, a.Message)
		}
		if byKey[a.Key] = a.Message; !h.letThrough(a.Decision) {
			byEvent[a.Ask] = a.Message
		}
	}
	return append(f, h.decidedTwice()...)
}

// letThrough reports that a decision has let a repeat through that it would have suppressed.
func (h *History) letThrough(id ident.Decision) bool {
	d := h.decision(id)
	return d != nil && d.Action == intent.Allow && d.Would != 0
}

// oneMessage counts the messages about an intent: those that nobody authorised, and for one that names nothing those
// that were neither meant nor let through long after the first.
func (f *findings) oneMessage(h *History, a *Ask) {
	all := slices.SortedFunc(slices.Values(h.about(a)), func(x, y *Message) int { return cmp.Compare(x.CreatedAt, y.CreatedAt) })
	repeats, unauthorised := 0, 0
	for i, m := range all {
		if !h.letThrough(m.Decision) {
			unauthorised++
		}
		switch {
		case i == 0:
		case !a.Unnamed() || !apart(m, all[i-1]):
			repeats++
		}
	}
	switch {
	case !a.Unnamed() && unauthorised > 1:
		f.add("%s has %d messages", a.Event, unauthorised)
	case a.Unnamed() && repeats > a.Meant:
		f.add("%s names no intent and has %d messages; its clients that had an answer asked again %d times", a.Event, len(all), a.Meant)
	}
}

// apart reports that two requests that name no intent came too far from each other to be called a repeat (D18).
func apart(m, other *Message) bool {
	return max(m.CreatedAt, other.CreatedAt) >= min(m.CreatedAt, other.CreatedAt).Add(policy.UnnamedWindow)
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
