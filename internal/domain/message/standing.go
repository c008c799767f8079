package message

// standing gathers the attempts of one part.
type standing struct {
	last      Part // the latest attempt
	took      Part // the latest attempt that the provider took or may have taken
	has       Part // the latest attempt that the provider took
	delivered Part // one that was reported as delivered
	open      bool // any of them
}

// gather puts each attempt to its part. Parts that were not announced are parts all the same.
func gather(base Base, parts []Part) []standing {
	all := make([]standing, max(base.Parts, 1))
	for _, p := range parts {
		for len(all) < int(p.Part) {
			all = append(all, standing{})
		}
		all[max(int(p.Part), 1)-1].add(p)
	}
	return all
}

func (s *standing) add(p Part) {
	if p.Attempt >= s.last.Attempt {
		s.last = p
	}
	if mayBeTaken(p) && p.Attempt >= s.took.Attempt {
		s.took = p
	}
	if taken(p) && p.Attempt >= s.has.Attempt {
		s.has = p
	}
	if p.Delivery == DeliveryDelivered && p.Attempt >= s.delivered.Attempt {
		s.delivered = p
	}
	s.open = s.open || p.Outcome == OutcomeOpen
}

// counts returns the attempt that stands for the part, one with the number 0 if there is none; over says that no other
// will follow.
func (s standing) counts(over bool) Part {
	over = over || s.last.Outcome == OutcomeRejected
	switch {
	case s.delivered.Attempt > 0:
		return s.delivered
	case over && !mayBeTaken(s.last) && s.took.Attempt > 0:
		return s.took
	case !mayBeTaken(s.last) && s.has.Attempt > 0:
		return s.has // it was learned late that the provider has it: nothing follows what was tried meanwhile
	}
	return s.last
}

// due reports whether the part is still to be sent.
func (s standing) due() bool {
	p := s.counts(false)
	return !s.open && !mayBeTaken(p) && p.Outcome != OutcomeRejected
}

// lost reports whether the part was refused, or is reported as not delivered.
func (s standing) lost() bool {
	p := s.counts(false)
	refused := p.Outcome == OutcomeRejected && !reported(p)
	return !s.open && (refused || !p.NoReceipt && p.Delivery.Final() && p.Delivery != DeliveryDelivered)
}

// mayBeTaken reports whether the provider may have the part.
func mayBeTaken(p Part) bool { return taken(p) || p.Outcome == OutcomeUnknown }

// taken reports whether the provider has the part. A receipt is evidence that it has.
func taken(p Part) bool { return p.Outcome == OutcomeAccepted || reported(p) }

// unanswered reports whether it is not known if the provider has the part.
func (p Part) unanswered() bool { return p.Outcome == OutcomeUnknown && !reported(p) }

// reported reports whether a receipt said something about the part.
func reported(p Part) bool { return p.Delivery != DeliveryNone && p.Delivery != DeliveryUnknown }

// Counting returns for each part, in their order, the attempt that stands for it: its last one, or an earlier one
// that was reported as delivered. A part that was not tried yet has none: the attempt's number is 0.
func Counting(total int, parts []Part) []Part {
	all := gather(Base{Parts: total}, parts)
	counting := make([]Part, len(all))
	for i, s := range all {
		counting[i] = s.counts(false)
		counting[i].Part = uint16(i + 1) // at most 255 parts
	}
	return counting
}

// Progress is how far the parts of a message have come.
type Progress struct {
	Parts     int
	Taken     int // the provider has them
	Delivered int // reported as delivered, by their own receipt or by that of the part that speaks for them
}

// ProgressOf counts the parts.
func ProgressOf(total int, parts []Part) Progress {
	all := gather(Base{Parts: total}, parts)
	p, silent := Progress{Parts: len(all)}, 0
	for _, s := range all {
		if s.has.Attempt > 0 {
			p.Taken++
		}
		switch {
		case s.delivered.Attempt > 0:
			p.Delivered++
		case s.has.NoReceipt:
			silent++
		}
	}
	if p.Delivered > 0 {
		p.Delivered += silent
	}
	return p
}

// Partial reports whether some parts have come further than others, so that the handset may have a piece of the
// text: the provider has some of them, or some are delivered, and not all.
func (p Progress) Partial() bool {
	return 0 < p.Taken && p.Taken < p.Parts || 0 < p.Delivered && p.Delivered < p.Parts
}
