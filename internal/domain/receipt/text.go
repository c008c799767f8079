// Package receipt reads delivery receipts: the text form of SMPP 3.4 appendix B as SMSCs really write it, and
// the tables from reported states to the gateway's own.
//
// It reads and never judges: fields stay as received, and what a state does to a message is package message's.
package receipt

import (
	"strings"
	"time"
)

// Parser is the name and version of this reading. It changes whenever the same text would be read otherwise, so
// that a stored reading says what made it.
const Parser = "smpp-receipt/1"

// Text is the reading of a receipt's text. Fields are as received; empty means: not there, or there without a
// value.
type Text struct {
	ID         string // message id, neither trimmed of zeros nor changed in case
	Sub        string // number of messages submitted
	Dlvrd      string // number of messages delivered
	SubmitDate string // 10, 12 or 14 digits, in the SMSC's own zone
	DoneDate   string
	Stat       string // such as DELIVRD
	Err        string // the network's or the operator's code; letters occur
	// Quoted is what follows the key "text:", normally the first twenty characters of the message: a secret
	// wherever the message is one. HasQuoted tells an empty quotation from a missing key.
	Quoted    string
	HasQuoted bool
	// End is where reading ended: the octets of the text from here on are the sender's.
	End int
	// Problem says why this cannot be used as a receipt; empty if id and stat are readable. It never repeats
	// the text.
	Problem string
}

// Problems of a text.
const (
	problemNoReceipt = "not a receipt: it does not begin with one of the keys id, sub, dlvrd, submit date, done date, stat, err"
	problemNoID      = "no message id: the key id is missing or empty"
	problemNoStat    = "no status: the key stat is missing or empty"
)

// blank is what separates fields; SMSCs end texts with NUL or CR LF.
const blank = " \t\r\n\x00"

// ParseText reads a receipt's text from left to right. Keys and their order are free, letter case too; of a key
// that occurs twice the first counts. Reading stops at the key "text:" and, since some SMSCs quote the message
// without that key, at the first word that is neither a field nor a value: what follows is the sender's and may
// look like fields.
func ParseText(text string) Text {
	var t Text
	whole := strings.TrimRight(text, blank)
	rest := strings.TrimLeft(whole, blank)
	for first := true; rest != ""; first = false {
		f, n := keyAt(rest)
		t.End = len(whole) - len(rest)
		switch {
		case f == nil && first:
			return Text{Problem: problemNoReceipt, End: t.End}
		case f == nil:
			word, after := cutWord(rest)
			if endsFields(word) {
				return t.judged()
			}
			rest = after
			continue
		case f.key == "text":
			t.Quoted, t.HasQuoted, t.End = rest[n:], true, t.End+n
			return t.judged()
		}
		value, after := valueAt(rest[n:])
		if at := f.at(&t); *at == "" {
			*at = value
		}
		rest = after
	}
	t.End = len(text)
	return t.judged()
}

// judged fills in Problem.
func (t Text) judged() Text {
	switch {
	case t.ID == "":
		t.Problem = problemNoID
	case t.Stat == "":
		t.Problem = problemNoStat
	}
	return t
}

// Submitted reads the submit date. The SMSC names no zone and none is invented: the time is that of its clock,
// given in UTC only because Go wants a location. False: there is none, or it does not exist.
func (t Text) Submitted() (time.Time, bool) { return readDate(t.SubmitDate) }

// Done reads the done date in the same way.
func (t Text) Done() (time.Time, bool) { return readDate(t.DoneDate) }

// readDate reads YYMMDDhhmm, YYMMDDhhmmss or YYYYMMDDhhmmss.
func readDate(s string) (time.Time, bool) {
	layout := "20060102150405"
	switch len(s) {
	case 10:
		layout, s = layout[:12], "20"+s
	case 12:
		s = "20" + s
	case 14:
	default:
		return time.Time{}, false
	}
	at, err := time.Parse(layout, s)
	return at, err == nil
}
