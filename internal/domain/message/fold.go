package message

import "slices"

// Part is what is known about one part of one attempt. Attempts of a part, and parts, count from 1.
type Part struct {
	Attempt, Part uint16
	Outcome       Outcome
	Delivery      Delivery
	HasExternalID bool // the provider gave it a message id
	NoReceipt     bool // none was asked for, and nobody let one stand: another part's speaks for it
}

// Base is what is known about a message beside its attempts.
type Base struct {
	Parts     int  // how many parts the message has; 0 counts as 1
	Cancelled bool // taken back while nothing was under way
	Expired   bool // its validity ended while nothing was under way
	Failed    bool // no attempt can ever succeed: nothing more is tried
	Leased    bool // a node has claimed it
}

// over reports that nothing more is sent, whatever is left.
func (b Base) over() bool { return b.Cancelled || b.Expired || b.Failed }

// Fold returns the message's state: a function of the facts alone, whatever the order in which they came.
//
// Of each part its last attempt counts, with two exceptions, without which a state could deny what is known. An
// attempt that was reported as delivered makes its part delivered. And when nothing more will be tried, a last
// attempt that certainly was not sent does not hide an earlier one that was, or may have been.
//
// A part that is refused, or reported as lost, ends the sending of the others: without it the text is not whole. One
// that is unknown does not, but for the first, which gates the rest.
func Fold(base Base, parts []Part) State {
	t := count(base, parts)
	switch {
	case t.open > 0:
		return Sending
	case t.complete():
		return Delivered
	case t.goesOn() && base.Leased:
		return Sending
	case t.goesOn():
		return Pending
	case t.unknown > 0:
		return Unknown
	case t.rejected > 0:
		return t.partly(Rejected)
	case t.undelivered > 0:
		return Undelivered
	case t.expired > 0:
		return Expired
	case t.due > 0:
		return t.partly(base.unsent())
	case t.enRoute > 0:
		return EnRoute
	}
	return Accepted
}

// unsent is the state of a message that is over before it was sent.
func (b Base) unsent() State {
	switch {
	case b.Failed:
		return Failed
	case b.Cancelled:
		return Cancelled
	}
	return Expired
}

// Owed lists the parts that may be sent now, in their order. The first part gates the rest: it has to be taken before
// they leave, unless all of them may go together.
func Owed(base Base, parts []Part, together bool) []uint16 {
	all := gather(base, parts)
	if !tallied(all, base).goesOn() {
		return nil
	}
	var owed []uint16
	for i, s := range all {
		if s.due() {
			owed = append(owed, uint16(i+1)) // at most 255 parts
		}
		if i == 0 && !together && !taken(s.counts(false)) {
			break
		}
	}
	return owed
}

// tally counts the parts of a message by where they stand; parts is their number.
type tally struct {
	parts, open, due, rejected, unknown, enRoute, delivered, undelivered, expired, silent int

	gated bool // it is not known whether the provider has the first part
	over  bool // nothing more is sent: a part is lost, or the message's time is over
}

// complete reports that every part is delivered: by its own receipt, or by that of the part that speaks for it.
func (t tally) complete() bool { return t.delivered > 0 && t.delivered+t.silent == t.parts }

// goesOn reports that parts are left to be sent, and may be.
func (t tally) goesOn() bool { return t.due > 0 && !t.gated && !t.over }

// partly is the state of a message of which a part will never be sent: a word that denies a hand-over is true only
// where the provider has no other part.
func (t tally) partly(otherwise State) State {
	if t.due+t.rejected < t.parts {
		return Failed
	}
	return otherwise
}

// count tallies each part once.
func count(base Base, parts []Part) tally { return tallied(gather(base, parts), base) }

func tallied(all []standing, base Base) tally {
	t := tally{parts: len(all), gated: !all[0].open && all[0].counts(false).unanswered(), over: base.over() || slices.ContainsFunc(all, standing.lost)}
	for _, s := range all {
		t.add(s)
	}
	return t
}

func (t *tally) add(s standing) {
	p := s.counts(t.over)
	switch {
	case s.open:
		t.open++
	case p.NoReceipt && taken(p) && p.Delivery != DeliveryDelivered:
		t.silent++ // whatever a receipt says that nobody asked for
	case reported(p):
		t.addReported(p.Delivery)
	case p.Outcome == OutcomeUnknown:
		t.unknown++
	case p.Outcome == OutcomeRejected:
		t.rejected++
	case p.Outcome != OutcomeAccepted: // none yet, throttled or not sent
		t.due++
	}
}

func (t *tally) addReported(d Delivery) {
	switch d {
	case DeliveryDelivered:
		t.delivered++
	case DeliveryUndelivered:
		t.undelivered++
	case DeliveryExpired:
		t.expired++
	case DeliveryEnRoute:
		t.enRoute++
	}
}
