// Package webhook says which events an endpoint of a tenant is told of, what its answers mean, when it is tried again,
// and whose turn it is.
package webhook

import (
	"cmp"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
)

// The first words of event types: what happened to the message as a whole, and to an attempt alone.
const (
	ofMessage = "message."
	ofAttempt = "attempt."
)

// All is the filter that takes every event.
const All = "*"

// TypeOf names an event for tenants. An event that moved the message is named by the state that it took; one that did
// not, by what it says of an attempt, or by its kind. An attempt that ended badly and is to be followed by another is the
// attempt's alone: message.undelivered and message.rejected are told when no retry is due.
func TypeOf(e evidence.Event) string {
	moved := e.From != e.To && e.To != message.RetryDue
	if moved || e.Kind == evidence.EventTaken {
		return ofMessage + e.To.String()
	}
	switch e.Kind {
	case evidence.EventOutcome, evidence.EventLate:
		return ofAttempt + known(attemptWords, e.Detail["outcome"], string(e.Kind))
	case evidence.EventReceipt:
		return ofAttempt + known(attemptWords, cmp.Or(e.Detail["reported"], e.Detail["state"]), string(e.Kind))
	}
	return ofMessage + string(e.Kind)
}

// known is the word, if it is one of the list.
func known(words []string, word, otherwise string) string {
	if slices.Contains(words, word) {
		return word
	}
	return otherwise
}

// attemptWords are what is said of an attempt: the outcome of its submission, or what a receipt reports.
var attemptWords = []string{"accepted", "rejected", "throttled", "not_sent", "unknown", "en_route", "delivered", "undelivered", "expired"}

// stayingKinds are the kinds of events that leave the message where it is and are about no attempt's answer.
var stayingKinds = []evidence.EventKind{
	evidence.EventRepeated, evidence.EventOvertaken, evidence.EventConflict, evidence.EventCorrected, evidence.EventOrphaned,
	evidence.EventFailed, evidence.EventExpired, evidence.EventCancelled, evidence.EventClosed, evidence.EventRestored,
	evidence.EventRequeued, evidence.EventResolved, evidence.EventRebuilt,
}

// Types lists what TypeOf can say in this release, in order.
func Types() []string {
	var all []string
	for _, s := range message.States() {
		all = append(all, ofMessage+s.String())
	}
	for _, k := range stayingKinds {
		all = append(all, ofMessage+string(k))
	}
	for _, w := range append([]string{string(evidence.EventOutcome), string(evidence.EventLate), string(evidence.EventReceipt)}, attemptWords...) {
		all = append(all, ofAttempt+w)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Filter is what an endpoint wants to be told of: types, "message.*", "attempt.*", or "*". An empty one wants nothing.
type Filter []string

// ParseFilter reads the stored form, with spaces between. What another release has written is kept as it is.
func ParseFilter(stored string) Filter { return strings.Fields(stored) }

// String is the stored form.
func (f Filter) String() string { return strings.Join(f, " ") }

// Wants reports whether an event of the type is told.
func (f Filter) Wants(eventType string) bool {
	return slices.ContainsFunc(f, func(want string) bool {
		prefix, all := strings.CutSuffix(want, All)
		return want == eventType || all && strings.HasPrefix(eventType, prefix)
	})
}

// Wrong returns the first entry that takes no event of this release; "": there is none. A slip of the finger would
// otherwise be an endpoint that is never told anything.
func (f Filter) Wrong() string {
	groups := []string{All, ofMessage + All, ofAttempt + All}
	for _, want := range f {
		if !slices.Contains(groups, want) && !slices.Contains(Types(), want) {
			return want
		}
	}
	return ""
}
