package check

import (
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// I13ReceiptsHaveEffect checks that a receipt that was answered with success is stored, has its effect once, and on
// the message that it is about alone. The message centre repeats a receipt until it is answered with success, so in
// the end each is stored, and what it reports must be known.
func I13ReceiptsHaveEffect(h *History) []string {
	var f findings
	stored := map[string][]string{} // normalised states by message id
	for _, r := range h.Receipts {
		if id := string(r.ExternalID); id != "" {
			stored[id] = append(stored[id], r.State)
			f.touches(h, r)
		}
	}
	for id, l := range h.find().taken {
		for _, d := range Reports("+" + l.Destination) {
			if !slices.Contains(stored[id], d.String()) && !h.forgetful(l) {
				f.add("no receipt is stored that reports line %s as %s", id, d)
			}
		}
		if l.attempt != nil && len(Reports(l.message.Destination)) > 0 && h.matches(l) {
			f.reported(h, l)
		}
	}
	return append(f, h.unreadable()...)
}

// lastReceipt is how long after a submission its last receipt is answered, at the very most.
const lastReceipt = time.Minute

// forgetful reports whether a receipt about the line may have been answered in the gap of a restore: then it was stored
// in what is gone, and the message centre does not send it again.
func (h *History) forgetful(l *line) bool {
	return slices.ContainsFunc(h.Restores, func(r Restore) bool {
		at := clock.FromTime(l.At)
		return r.Copied.Add(-lastReceipt) <= at && at <= r.Back
	})
}

// matches reports whether receipts find the attempt: they carry its own reference, or its message id is known.
func (h *History) matches(l *line) bool { return h.Echo || len(l.attempt.ExternalID) > 0 }

// touches holds a stored receipt against the message that it is about.
func (f *findings) touches(h *History, r *store.LoggedReceipt) {
	about := h.find().taken[string(r.ExternalID)]
	if about == nil {
		f.add("%s is about nothing that the message centre accepted", r.ID)
		return
	}
	applied := 0
	for _, e := range h.find().effects[r.ID] {
		if about.ask == nil || h.find().asked[e.message] != about.ask {
			f.add("%s touched %s (event %s), which it is not about: it reports a message to %s, and that is one to %s", r.ID, e.message.ID, e.kind,
				about.Destination, e.message.Destination)
		}
		if e.kind == evidence.EventReceipt {
			applied++
		}
	}
	if applied > 1 {
		f.add("%s was applied %d times", r.ID, applied)
	}
}

// reported holds an attempt that was accepted against the receipts that the message centre sends for it. The first
// final one that was applied counts, which is whichever came first where two contradict each other: across a kill
// the second may be settled before the first. A person may have given another its place.
func (f *findings) reported(h *History, l *line) {
	m, a := l.message, l.attempt
	want := slices.DeleteFunc(slices.Clone(Reports(m.Destination)), func(d message.Delivery) bool { return !d.Final() })
	moves := 0
	for _, e := range m.Events {
		if e.Attempt != a.Attempt.Attempt || e.Part != a.Part {
			continue
		}
		switch said, _ := message.ParseDelivery(e.Detail["state"]); {
		case e.Kind == evidence.EventReceipt && said.Final():
			moves++
		case e.Kind == evidence.EventResolved && e.Detail["action"] == string(exception.Attach):
			want, moves = []message.Delivery{said}, max(moves, 1)
		}
	}
	if !slices.Contains(want, a.Delivery) {
		f.add("receipts report part %d of %s as %s; %q is stored", a.Part, m.ID, want, a.Delivery)
	}
	if moves != 1 {
		f.add("part %d of %s has %d final receipts applied, want 1", a.Part, m.ID, moves)
	}
}

// unreadable checks that of the receipts that cannot be read each is stored and was told of.
func (h *History) unreadable() []string {
	var f findings
	sent, events, told := 0, map[[16]byte]bool{}, 0
	for _, l := range h.find().taken {
		if Unreadable("+" + l.Destination) {
			sent++
		}
	}
	for _, r := range h.Receipts {
		if len(r.ExternalID) == 0 {
			events[r.EventKey] = true
		}
	}
	for _, x := range h.Exceptions {
		if x.Kind == exception.Unreadable {
			told++
		}
	}
	if len(events) != sent || told != sent {
		f.add("%d receipts that cannot be read were sent, %d are stored, and %d exceptions tell of them", sent, len(events), told)
	}
	return f
}

// I13ExceptionsAreTrue checks that a person is told of what only a person can settle, of each thing once, and of
// nothing else.
func I13ExceptionsAreTrue(h *History) []string {
	var f findings
	told := map[*line]int{} // of a conflict
	for _, x := range h.Exceptions {
		r := h.find().receipts[x.Receipt]
		switch {
		case x.Kind == exception.Unreadable && r != nil && len(r.ExternalID) == 0:
		case r == nil:
			f.add("an exception was opened for a person (%s: %s)", x.Kind, x.Detail)
		default:
			l := h.find().taken[string(r.ExternalID)]
			if l == nil || !h.justified(x, l) {
				f.add("an exception was opened for a person (%s: %s)", x.Kind, x.Detail)
			}
			if x.Kind == exception.Conflicting {
				told[l]++
			}
		}
	}
	for _, l := range h.find().taken {
		contradicted := len(Reports("+"+l.Destination)) > 1 && Reports("+" + l.Destination)[1].Final()
		if n := told[l]; l.attempt != nil && contradicted && h.Echo && n != 1 && !(n == 0 && h.forgetful(l)) {
			f.add("contradicting receipts about %s have %d exceptions, want 1", l.message.ID, n)
		}
	}
	return f
}

// justified reports whether an exception about a receipt is one that the message centre gives reason for.
func (h *History) justified(x *store.ExceptionView, l *line) bool {
	switch x.Kind {
	case exception.Conflicting:
		all := Reports("+" + l.Destination)
		return len(all) > 1 && all[1].Final()
	case exception.LostAnswer, exception.Unmatched: // what came too late to be found is settled by itself then
		return !h.Echo && (l.attempt == nil || len(l.attempt.ExternalID) == 0 || x.State != exception.Open)
	}
	return false
}
