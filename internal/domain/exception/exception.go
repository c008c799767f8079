// Package exception names what the gateway could not settle by itself and hands to a person.
package exception

import (
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Kind says what is wrong. The spellings are stored and public.
type Kind string

// The kinds.
const (
	Unmatched   Kind = "unmatched"   // a receipt that belongs to no known attempt
	Ambiguous   Kind = "ambiguous"   // a receipt that fits several attempts, or one that an address contradicts
	Conflicting Kind = "conflicting" // evidence against a final status, or against a definite answer
	Unreadable  Kind = "unreadable"  // an event in an unknown format, or with an unknown status
	LostAnswer  Kind = "lost_answer" // a receipt without a match, and an attempt without an answer, that may be a pair
	Missing     Kind = "missing"     // receipts for some parts of a message and none for others, and none is awaited any more
)

// Kinds are all of them.
var Kinds = []Kind{Unmatched, Ambiguous, Conflicting, Unreadable, LostAnswer, Missing}

// Exception is one thing for a person to settle. Exceptions of one connection, kind and hour are a group.
type Exception struct {
	ID         ident.Exception
	Kind       Kind
	Tenant     ident.Partition
	Connection int64
	At         clock.Micros
	Message    ident.Message // none, if no message is concerned
	Attempt    uint16
	Part       uint16
	Receipt    ident.Receipt // none, if no receipt is concerned
	Event      uint32        // number of the message's event that it came with; 0: none
	Detail     string        // in plain words; no number, no text of a message
	// Candidates are the attempts that a receipt without a match may belong to, all of Tenant; Message is the first's.
	Candidates []Part

	State      State // Open, when it is made
	Resolution Resolution
}

// Part names one part of one attempt.
type Part struct {
	Message       ident.Message
	Attempt, Part uint16
}

// Means reports whether somebody who names p, with zero for what is left out, may mean a part.
func (p Part) Means(full Part) bool {
	return (p.Message.IsZero() || p.Message == full.Message) && (p.Attempt == 0 || p.Attempt == full.Attempt) && (p.Part == 0 || p.Part == full.Part)
}

// Resolution is what became of an exception, and by whom.
type Resolution struct {
	At         clock.Micros
	By, Reason string
	To         Part   // what it was attached to
	State      string // what the person said that it stands for; "": what it says itself
}

// Own is the part that the evidence named by itself, by its message id or our reference. There is none where nothing
// is known under its ids, or too much: the candidates of a lost answer are only guessed, by their number.
func (e *Exception) Own() (part Part, known bool) {
	return Part{e.Message, e.Attempt, e.Part}, !e.Message.IsZero() && e.Kind != LostAnswer
}

// GroupHour is the start of the hour that an exception is grouped under.
func (e *Exception) GroupHour() clock.Micros {
	const hour = clock.Micros(3_600_000_000)
	return e.At - e.At%hour
}

// MaxPerGroup is how many exceptions of one group are kept one by one. A flood of foreign receipts beyond it
// is counted only: every one of them is in the receipt log all the same.
const MaxPerGroup = 1000
