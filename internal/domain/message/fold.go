package message

// Part is what is known about one part of one attempt. Attempts and parts count from 1.
type Part struct {
	Attempt, Part uint16
	Outcome       Outcome
	Delivery      Delivery
	HasExternalID bool // the provider gave it a message id
}

// Base is what is known about a message beside its attempts.
type Base struct {
	Parts     int  // how many parts the message has; 0 counts as 1
	Cancelled bool // taken back while nothing was under way
	Expired   bool // its validity ended while nothing was under way
	Leased    bool // a node has claimed it
}

// Fold returns the message's state: a function of the facts alone, whatever the order in which they came.
//
// Of each part its last attempt counts, with two exceptions, without which a state could deny what is known. An
// attempt that was reported as delivered makes its part delivered. And when nothing more will be tried, a last
// attempt that certainly was not sent does not hide an earlier one that was, or may have been.
func Fold(base Base, parts []Part) State {
	t := count(base, parts)
	switch {
	case t.open > 0:
		return Sending
	case t.delivered == t.parts:
		return Delivered
	case t.unknown > 0:
		return Unknown
	case t.rejected > 0:
		return Rejected
	case t.due > 0 && base.Cancelled:
		return Cancelled
	case t.undelivered > 0:
		return Undelivered
	case t.expired > 0 || t.due > 0 && base.Expired:
		return Expired
	case t.due > 0 && base.Leased:
		return Sending
	case t.due > 0:
		return Pending
	case t.enRoute > 0:
		return EnRoute
	}
	return Accepted
}

// tally counts the parts of a message by where they stand; parts is their number.
type tally struct {
	parts, open, due, rejected, unknown, enRoute, delivered, undelivered, expired int
}

// count tallies each part once.
func count(base Base, parts []Part) tally {
	byPart := make([]standing, max(base.Parts, 1))
	for _, p := range parts {
		for len(byPart) < int(p.Part) {
			byPart = append(byPart, standing{})
		}
		byPart[max(int(p.Part), 1)-1].add(p)
	}
	t := tally{parts: len(byPart)}
	for _, s := range byPart {
		t.add(s, base)
	}
	return t
}

// standing gathers the attempts of one part.
type standing struct {
	last            Part // the latest attempt
	taken           Part // the latest attempt that the provider took or may have taken
	open, delivered bool // any of them
}

func (s *standing) add(p Part) {
	if p.Attempt >= s.last.Attempt {
		s.last = p
	}
	if mayBeTaken(p) && p.Attempt >= s.taken.Attempt {
		s.taken = p
	}
	s.open = s.open || p.Outcome == OutcomeOpen
	s.delivered = s.delivered || p.Delivery == DeliveryDelivered
}

// mayBeTaken reports whether the provider may have the part. A receipt is evidence that it has.
func mayBeTaken(p Part) bool {
	return p.Outcome == OutcomeAccepted || p.Outcome == OutcomeUnknown || reported(p)
}

// reported reports whether a receipt said something about the part.
func reported(p Part) bool { return p.Delivery != DeliveryNone && p.Delivery != DeliveryUnknown }

// counts returns the attempt that stands for the part.
func (s standing) counts(base Base) Part {
	over := s.last.Outcome == OutcomeRejected || base.Cancelled || base.Expired
	if over && !mayBeTaken(s.last) && s.taken.Attempt > 0 {
		return s.taken
	}
	return s.last
}

func (t *tally) add(s standing, base Base) {
	p := s.counts(base)
	switch {
	case s.open:
		t.open++
	case s.delivered:
		t.delivered++
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
	case DeliveryUndelivered:
		t.undelivered++
	case DeliveryExpired:
		t.expired++
	case DeliveryEnRoute:
		t.enRoute++
	}
}
