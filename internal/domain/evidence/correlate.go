package evidence

import (
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Quality says by what a receipt was matched (R4).
type Quality string

// The qualities.
const (
	ByExternalID   Quality = "external_id"   // the provider's message id, as received
	ByNormalisedID Quality = "normalised_id" // the same id in the form that the connection declares
	ByReference    Quality = "own_reference" // our own reference as echoed, with an equal destination
)

// Candidate is one part of one attempt that a receipt may belong to.
type Candidate struct {
	Message       ident.Message
	Attempt, Part uint16
	Destination   string // E.164
	Outcome       message.Outcome
	HasExternalID bool
	Normalised    bool // its id is the receipt's in the declared form alone, not to the letter
}

// Match is what correlation found: the attempt, or why there is none.
type Match struct {
	Found     bool
	Candidate Candidate
	Quality   Quality
	// Kind and Detail are for an exception; Kind is Unmatched while nothing is known under the receipt's ids.
	Kind   exception.Kind
	Detail string
}

// NoMatch is that of a receipt under whose ids no attempt is known.
var NoMatch = Match{Kind: exception.Unmatched, Detail: "no attempt has the message id of this receipt"}

// Correlate matches a receipt with the attempts under its identifiers. Addresses only ever contradict: they
// never stand in for an identifier.
func Correlate(r *ReceiptFacts, byID, byReference []Candidate) Match {
	byID = exactFirst(byID, r.TwoBases)
	switch {
	case len(byID) > 1:
		return Match{Kind: exception.Ambiguous, Detail: "several attempts have the message id of this receipt"}
	case len(byID) == 1 && contradicts(r.Handset, byID[0].Destination):
		return Match{Kind: exception.Ambiguous, Detail: "the attempt with the message id of this receipt went to another number"}
	case len(byID) == 1 && byID[0].Normalised:
		return Match{Found: true, Candidate: byID[0], Quality: ByNormalisedID}
	case len(byID) == 1:
		return Match{Found: true, Candidate: byID[0], Quality: ByExternalID}
	}
	return correlateByReference(r, byReference)
}

// exactFirst leaves out ids that are the receipt's in another form only, where there is one that is its to the
// letter. On a connection with two bases the letters are no better evidence than the value ("10" is two numbers):
// there all stay, and two that differ are ambiguous.
func exactFirst(byID []Candidate, twoBases bool) []Candidate {
	normalised := func(c Candidate) bool { return c.Normalised }
	if twoBases || !slices.ContainsFunc(byID, func(c Candidate) bool { return !c.Normalised }) {
		return byID
	}
	return slices.DeleteFunc(slices.Clone(byID), normalised)
}

// correlateByReference is the way to settle a lost answer: only where the connection declares the echo, only
// among attempts without a message id, and only with an equal destination, since a reference has 16 bits.
func correlateByReference(r *ReceiptFacts, candidates []Candidate) Match {
	if !r.EchoDeclared {
		return NoMatch
	}
	var fits []Candidate
	for _, c := range candidates {
		definitelyNot := c.Outcome.Definite() && c.Outcome != message.OutcomeAccepted
		if !c.HasExternalID && !definitelyNot && equalAddress(r.Handset, c.Destination) {
			fits = append(fits, c)
		}
	}
	switch len(fits) {
	case 0:
		return NoMatch
	case 1:
		return Match{Found: true, Candidate: fits[0], Quality: ByReference}
	}
	return Match{Kind: exception.Ambiguous, Detail: "several attempts have the reference of this receipt"}
}

// sameAddress compares an address as a provider writes it with an E.164 number. Providers leave out the plus,
// write 00, or write the national form: the one without its leading zeros must end the other.
func sameAddress(received, e164 string) bool {
	a, b := bareDigits(received), bareDigits(e164)
	const shortest = 6 // below it an ending says nothing
	if len(a) < shortest || len(b) < shortest {
		return a == b && a != ""
	}
	return strings.HasSuffix(a, b) || strings.HasSuffix(b, a)
}

// equalAddress compares whole international numbers: a national form could be another country's.
func equalAddress(received, e164 string) bool {
	a := wholeDigits(received)
	return a != "" && a == wholeDigits(e164)
}

// contradicts reports that both addresses are readable and differ. An address that was left out, or replaced
// by something that is no number, contradicts nothing.
func contradicts(received, e164 string) bool {
	return bareDigits(received) != "" && !sameAddress(received, e164)
}

// MayBelong reports whether a person may give a receipt to a part that the receipt does not name by itself. byID are
// the parts under its message id. Its address may contradict only one of these, and only where no other of them fits
// better: then the id or the address is wrong, and the person says which.
func MayBelong(r *ReceiptFacts, to Candidate, byID []Candidate) bool {
	if !contradicts(r.Handset, to.Destination) {
		return true
	}
	named := false
	for _, c := range byID {
		if !contradicts(r.Handset, c.Destination) {
			return false
		}
		named = named || c.Message == to.Message && c.Attempt == to.Attempt && c.Part == to.Part
	}
	return named
}

func bareDigits(s string) string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "+")
	for _, r := range s {
		if r < '0' || r > '9' {
			return ""
		}
	}
	return strings.TrimLeft(s, "0")
}

// wholeDigits are the digits of an international number, written with a plus, with 00 or with neither. A number
// that then begins with a zero is a national form, and gives none.
func wholeDigits(s string) string {
	s = strings.TrimSpace(s)
	digits := bareDigits(s)
	if prefix := strings.TrimSuffix(s, digits); prefix != "" && prefix != "+" && prefix != "00" {
		return ""
	}
	return digits
}
