package api

import (
	"fmt"
	"strings"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// Ranks of lines with one time: what causes comes before what it caused.
const (
	rankDecision = iota
	rankAttempt
	rankEvent
	rankException
)

func decisionLine(d *store.Decision) TimelineView {
	v := TimelineView{
		At: at(d.At), Kind: "decision", Decision: orNull(d.ID.String()),
		Action: d.Action.String(), Class: d.Class.String(), Reason: string(d.Reason), Rule: d.Rule,
		PolicyVersion: d.PolicyID, SameText: d.SameText, Would: d.Would.String(), MappedBy: d.MappedBy, place: place{int64(d.At), rankDecision, d.ID.String()},
	}
	v.Summary = decisionSentence(d)
	return v
}

func decisionSentence(d *store.Decision) string {
	what := "The same request came again and was not sent a second time."
	switch {
	case d.Would != 0:
		what = "The request was a repeat and let through, and this message was made."
	case d.Action == intent.Allow:
		what = "The request was allowed, and this message was made."
	case d.Run != nil:
		what = fmt.Sprintf("The same request came again, %d times until %s, and was not sent a second time.", d.Run.Count, clockWords(d.Run.Last))
	}
	return fmt.Sprintf("%s %s (Rule %s of the policy %s%s.)", what, d.Explanation, d.Rule, d.PolicyID, windowWords(d.WindowEnds))
}

func windowWords(ends clock.Micros) string {
	if ends == 0 {
		return ""
	}
	return ", whose window ends " + clockWords(ends)
}

// clockWords writes a moment for people.
func clockWords(t clock.Micros) string { return t.Time().Format("2006-01-02 15:04:05 MST") }

func attemptLine(t *store.Attempt, s *story) TimelineView {
	v := TimelineView{
		At: at(t.OpenedAt), Kind: "attempt", Attempt: int(t.Attempt.Attempt), Part: int(t.Part), Connection: s.names[t.Connection],
		place: place{int64(t.OpenedAt), rankAttempt, fmt.Sprintf("%05d.%05d", t.Attempt.Attempt, t.Part)},
	}
	which := s.which(t.Attempt.Attempt, t.Part)
	if t.Node.IsZero() { // see evidence.Restored
		v.Summary = "Nobody knows whether " + which + " was made after the copy of the store was taken, which does not remember it."
		return v
	}
	v.Summary = strings.ToUpper(which[:1]) + which[1:] + " was stored before its first byte leaves, for the connection " + v.Connection
	if t.Reference >= 0 {
		v.Reference = &t.Reference
		v.Summary += fmt.Sprintf(" and under our own reference %d", t.Reference)
	}
	v.Summary += "."
	return v
}

func exceptionLine(x *store.ExceptionView) TimelineView {
	summary := "A person should look: " + x.Detail + "."
	if x.State != exception.Open {
		summary = fmt.Sprintf("A person was told: %s. It is %s by now.", x.Detail, x.State)
	}
	return TimelineView{
		At: at(x.At), Kind: "exception", Exception: orNull(x.ID.String()), Reason: string(x.Kind),
		Attempt: int(x.Attempt), Part: int(x.Part), Receipt: orNull(x.Receipt.String()), Detail: x.Detail,
		Summary: summary, place: place{int64(x.At), rankException, x.ID.String()},
	}
}

// effects says what a receipt did, by the kind of its event.
var effects = map[evidence.EventKind]string{
	evidence.EventReceipt: "applied", evidence.EventRepeated: "repeated",
	evidence.EventOvertaken: "late", evidence.EventConflict: "conflicting", evidence.EventCorrected: "corrected",
}

func eventLine(e *evidence.Event, s *story) TimelineView {
	v := TimelineView{
		At: at(e.At), Kind: string(e.Kind), N: int(e.N), From: orNull(e.From.String()), State: orNull(e.To.String()),
		Attempt: int(e.Attempt), Part: int(e.Part), Receipt: orNull(e.Receipt.String()), Summary: s.sentence(e),
		Outcome: e.Detail["outcome"], Code: e.Detail["code"], CodeName: e.Detail["name"],
		ExternalID: externalID([]byte(e.Detail["external_id"])), Detail: e.Detail["detail"], Bind: e.Detail["bind"],
		Match: e.Detail["match"], Status: e.Detail["status"], Reported: e.Detail["state"], ErrorCode: e.Detail["error_code"],
		By: e.Detail["by"], Reason: e.Detail["reason"],
		place: place{int64(e.At), rankEvent, fmt.Sprintf("%010d", e.N)},
	}
	if !e.Receipt.IsZero() {
		v.Effect = effects[e.Kind]
	}
	return v
}
