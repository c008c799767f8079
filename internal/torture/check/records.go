package check

import (
	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// I11AllOrNone checks that a message, its state, its first event, its place in the feed and its decision are there
// together or not at all; a refused request leaves neither message nor decision.
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
	refused := map[intent.Key]*Ask{}
	for _, a := range h.Refused {
		refused[h.textKey(a)] = a
	}
	for _, d := range h.Decisions {
		if d.Action == intent.Allow && h.message(d.Message.ID) == nil {
			f.add("%s allowed a message that does not exist", d.ID)
		}
		if a := refused[d.TextKey]; a != nil {
			f.add("%s was refused and has the decision %s", a.Event, d.ID)
		}
	}
	return f
}

// I11Runs checks that an answer has a record: a decision of its own, or its place in the count of a run. One with an
// idempotency key may be given again as often as it is asked for.
func I11Runs(h *History) []string {
	var f findings
	named := map[ident.Decision]int64{}
	for _, a := range h.Acks {
		if a.Key == "" && !h.forgotten(clock.FromTime(a.At)) {
			named[a.Decision]++
		}
	}
	for _, d := range h.Decisions {
		most := int64(1)
		if d.Run != nil {
			most = d.Run.Count
		}
		if n := named[d.ID]; n > most {
			f.add("%s was the answer to %d requests, and stands for %d", d.ID, n, most)
		}
	}
	return f
}
