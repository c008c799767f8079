package message

// Outcome is what is known about the submission of one part of one attempt.
type Outcome uint8

// The outcomes, by their stored numbers.
const (
	OutcomeOpen      Outcome = 1
	OutcomeAccepted  Outcome = 2
	OutcomeRejected  Outcome = 3
	OutcomeThrottled Outcome = 4
	OutcomeNotSent   Outcome = 5
	OutcomeUnknown   Outcome = 6
)

var definite = []Outcome{OutcomeAccepted, OutcomeRejected, OutcomeThrottled, OutcomeNotSent}

var outcomes = []row[Outcome]{
	OutcomeOpen: {"open",
		"Committed, and perhaps on the wire. No answer yet.",
		append([]Outcome{OutcomeUnknown}, definite...)},
	OutcomeAccepted: {"accepted",
		"The provider took it.",
		nil},
	OutcomeRejected: {"rejected",
		"The provider refused it, for good.",
		nil},
	OutcomeThrottled: {"throttled",
		"The provider refused it for now. Nothing was sent.",
		nil},
	OutcomeNotSent: {"not_sent",
		"No byte was written.",
		nil},
	OutcomeUnknown: {"unknown",
		"Bytes may have left, and no definite answer came. Any later evidence settles it.",
		definite},
}

// String returns the outcome's spelling, or "" for a number that is none.
func (o Outcome) String() string { return spell(outcomes, o) }

// ParseOutcome reads a spelling.
func ParseOutcome(name string) (Outcome, bool) { return parse(outcomes, name) }

// Definite reports whether the outcome is a yes or a no.
func (o Outcome) Definite() bool {
	return o != OutcomeOpen && spell(outcomes, o) != "" && o != OutcomeUnknown
}

// Merge adds what was learned to what is known. An attempt takes its first definite outcome from whoever learns
// it; a later, different one is a conflict for a person and moves nothing. Unknown never replaces a definite
// outcome, and nothing becomes open again.
func Merge(have, learned Outcome) (next Outcome, conflict bool) {
	if moves(outcomes, have, learned) {
		return learned, false
	}
	return have, have.Definite() && learned.Definite() && have != learned
}
