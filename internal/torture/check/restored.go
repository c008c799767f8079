package check

import (
	"slices"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

func (r Restore) has(t clock.Micros) bool { return r.Copied <= t && t <= r.Back }

// doubted reports whether a message of the copy was not over when that was taken.
func (r Restore) doubted(m *Message) bool {
	if m.CreatedAt > r.Back || len(m.Events) == 0 {
		return false
	}
	return !m.Final || m.Events[len(m.Events)-1].At >= r.Copied
}

// doubted reports whether a restore has left the message in doubt.
func (h *History) doubted(m *Message) bool {
	return slices.ContainsFunc(h.Restores, func(r Restore) bool { return r.doubted(m) })
}

// Doubted counts the messages of copies that were not over, and of them those that left in the gap: a restore that
// meets neither is no test.
func (h *History) Doubted() (all, sent int) {
	for _, m := range h.Messages {
		if !h.doubted(m) {
			continue
		}
		all++
		if slices.ContainsFunc(h.find().lines, func(l line) bool {
			return l.Outcome == simulator.Accepted && h.forgotten(clock.FromTime(l.At)) && slices.Contains(h.about(l.ask), m)
		}) {
			sent++
		}
	}
	return all, sent
}

// Rest is the history without what restores explain, for the invariants that know of none. What is left was over
// before a copy was taken, or began after it was put back: it has to be as if nothing had happened. Messages of a copy
// that were not over are for I19NothingAgain; intents, answers and receipts that the store has forgotten are nobody's.
func (h *History) Rest() *History {
	r := *h
	r.Faults = h.faults() // also the cuts of lines that are left out
	r.index, r.Messages, r.Acks, r.Cancelled, r.Decisions, r.Ledger, r.Receipts = nil, nil, nil, nil, nil, nil, nil
	kept := map[ident.Message]bool{}
	for _, m := range h.Messages {
		if !h.doubted(m) {
			kept[m.ID] = true
			r.Messages = append(r.Messages, m)
		}
	}
	for _, a := range h.Acks {
		if kept[a.Message] || h.message(a.Message) == nil && !h.forgotten(clock.FromTime(a.At)) {
			r.Acks = append(r.Acks, a)
		}
	}
	for _, id := range h.Cancelled {
		if kept[id] {
			r.Cancelled = append(r.Cancelled, id)
		}
	}
	for _, d := range h.Decisions {
		if kept[d.Message.ID] || h.message(d.Message.ID) == nil {
			r.Decisions = append(r.Decisions, d)
		}
	}
	r.takeReceipts(h, r.takeLedger(h), kept)
	return &r
}

// takeLedger takes the lines that no restore explains and returns the message ids of the others.
func (h *History) takeLedger(from *History) (dropped map[string]bool) {
	dropped = map[string]bool{}
	for _, l := range from.find().lines {
		forgotten := l.attempt == nil && from.forgotten(clock.FromTime(l.At))
		if forgotten || l.message != nil && from.doubted(l.message) {
			dropped[l.MessageID] = true
			continue
		}
		h.Ledger = append(h.Ledger, *l.Entry)
	}
	return dropped
}

func (h *History) takeReceipts(from *History, dropped map[string]bool, kept map[ident.Message]bool) {
	gone := map[ident.Receipt]bool{}
	for _, one := range from.Receipts {
		if dropped[string(one.ExternalID)] {
			gone[one.ID] = true
			continue
		}
		h.Receipts = append(h.Receipts, one)
	}
	h.Exceptions = slices.DeleteFunc(slices.Clone(from.Exceptions), func(x *store.ExceptionView) bool {
		return gone[x.Receipt] || !x.Message.IsZero() && !kept[x.Message]
	})
}

// I19NothingAgain checks that nothing which the store knows was sent again after an older copy of it was put back: a
// message of the copy that was over never left again, one that was not left at most once, and not after the gap, and
// is called unsent only if it never left.
func I19NothingAgain(h *History) []string {
	var f findings
	for _, r := range h.Restores {
		for _, m := range h.Messages {
			ask := h.find().asked[m]
			if m.CreatedAt > r.Back || ask == nil || ask.Unnamed() && len(h.about(ask)) > 1 {
				continue // of after the restore, or one of several that look alike
			}
			f.leftOnce(h, r, m, ask)
			if !r.doubted(m) {
				continue
			}
			if m.State == message.Pending || m.State == message.Sending {
				f.add("%s is %s after the release", m.ID, m.State)
			}
			if folded := fold(m); m.State != folded {
				f.add("%s is %s, and its attempts make it %s", m.ID, m.State, folded)
			}
		}
	}
	return f
}

func (f *findings) leftOnce(h *History, r Restore, m *Message, ask *Ask) {
	for _, l := range h.find().lines {
		at := clock.FromTime(l.At)
		switch {
		case l.ask != ask:
		case at > r.Back && resends(m) == 0:
			f.add("%s of the copy left after the restore", m.ID)
		case r.has(at) && !r.doubted(m):
			f.add("%s was over when the copy was taken, and left after that", m.ID)
		}
	}
	accepted := h.accepted(ask)
	for part, n := range accepted {
		if n > 1+resends(m) {
			f.add("part %d of %s, which the copy holds, was accepted %d times", part, m.ID, n)
		}
	}
	switch m.State {
	case message.Rejected, message.Cancelled, message.Expired:
		if len(accepted) > 0 && r.doubted(m) {
			f.add("%s is %s and was accepted", m.ID, m.State)
		}
	}
}
