package message

import "testing"

// one is a part of the first attempt.
func one(part uint16, o Outcome, d Delivery) Part {
	return Part{Attempt: 1, Part: part, Outcome: o, Delivery: d}
}

func again(attempt uint16, o Outcome, d Delivery) Part {
	return Part{Attempt: attempt, Part: 1, Outcome: o, Delivery: d}
}

// covers: D5, D9
func TestFoldOfOnePart(t *testing.T) {
	const none = DeliveryNone
	for name, c := range map[string]struct {
		base  Base
		parts []Part
		want  State
	}{
		"nothing yet":             {Base{}, nil, Pending},
		"claimed":                 {Base{Leased: true}, nil, Sending},
		"cancelled":               {Base{Cancelled: true}, nil, Cancelled},
		"validity over":           {Base{Expired: true}, nil, Expired},
		"open":                    {Base{Leased: true}, []Part{one(1, OutcomeOpen, none)}, Sending},
		"open, lease lost":        {Base{}, []Part{one(1, OutcomeOpen, none)}, Sending},
		"accepted":                {Base{Leased: true}, []Part{one(1, OutcomeAccepted, none)}, Accepted},
		"rejected":                {Base{}, []Part{one(1, OutcomeRejected, none)}, Rejected},
		"unknown":                 {Base{}, []Part{one(1, OutcomeUnknown, none)}, Unknown},
		"unknown past validity":   {Base{Expired: true}, []Part{one(1, OutcomeUnknown, none)}, Unknown},
		"unknown, but delivered":  {Base{}, []Part{one(1, OutcomeUnknown, DeliveryDelivered)}, Delivered},
		"unknown, but under way":  {Base{}, []Part{one(1, OutcomeUnknown, DeliveryEnRoute)}, EnRoute},
		"unknown, asked in vain":  {Base{}, []Part{one(1, OutcomeUnknown, DeliveryUnknown)}, Unknown},
		"throttled":               {Base{}, []Part{one(1, OutcomeThrottled, none)}, Pending},
		"throttled, claimed":      {Base{Leased: true}, []Part{one(1, OutcomeThrottled, none)}, Sending},
		"throttled, over":         {Base{Expired: true}, []Part{one(1, OutcomeThrottled, none)}, Expired},
		"throttled, cancelled":    {Base{Cancelled: true}, []Part{one(1, OutcomeThrottled, none)}, Cancelled},
		"not sent":                {Base{}, []Part{one(1, OutcomeNotSent, none)}, Pending},
		"en route":                {Base{}, []Part{one(1, OutcomeAccepted, DeliveryEnRoute)}, EnRoute},
		"accepted by next hop":    {Base{}, []Part{one(1, OutcomeAccepted, DeliveryAccepted)}, Accepted},
		"provider does not know":  {Base{}, []Part{one(1, OutcomeAccepted, DeliveryUnknown)}, Accepted},
		"undelivered":             {Base{}, []Part{one(1, OutcomeAccepted, DeliveryUndelivered)}, Undelivered},
		"expired there":           {Base{}, []Part{one(1, OutcomeAccepted, DeliveryExpired)}, Expired},
		"throttled, then taken":   {Base{}, []Part{again(2, OutcomeAccepted, none), again(1, OutcomeThrottled, none)}, Accepted},
		"throttled, then open":    {Base{}, []Part{again(1, OutcomeThrottled, none), again(2, OutcomeOpen, none)}, Sending},
		"the first one came":      {Base{}, []Part{again(1, OutcomeUnknown, DeliveryDelivered), again(2, OutcomeThrottled, none)}, Delivered},
		"second refused":          {Base{}, []Part{again(1, OutcomeUnknown, none), again(2, OutcomeRejected, none)}, Unknown},
		"second throttled":        {Base{}, []Part{again(1, OutcomeUnknown, none), again(2, OutcomeThrottled, none)}, Pending},
		"second given up":         {Base{Expired: true}, []Part{again(1, OutcomeUnknown, none), again(2, OutcomeThrottled, none)}, Unknown},
		"taken after all":         {Base{}, []Part{again(1, OutcomeAccepted, none), again(2, OutcomeThrottled, none)}, Accepted},
		"lost after all":          {Base{}, []Part{again(1, OutcomeAccepted, DeliveryUndelivered), again(2, OutcomeThrottled, none)}, Undelivered},
		"second undelivered":      {Base{}, []Part{again(1, OutcomeAccepted, none), again(2, OutcomeAccepted, DeliveryUndelivered)}, Undelivered},
		"second refused for good": {Base{}, []Part{again(1, OutcomeThrottled, none), again(2, OutcomeRejected, none)}, Rejected},
	} {
		if got := Fold(c.base, c.parts); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// C26: which receipts of a long message count.
//
// covers: D5, R6, C26
func TestC26LongMessages(t *testing.T) {
	type got = map[uint16]Delivery
	for name, c := range map[string]struct {
		reports []got // one step each
		want    []State
	}{
		"all delivered, out of order": {
			[]got{{2: DeliveryDelivered}, {1: DeliveryDelivered}, {3: DeliveryDelivered}},
			[]State{Accepted, Accepted, Delivered}},
		"one undelivered": {
			[]got{{1: DeliveryDelivered}, {2: DeliveryUndelivered}, {3: DeliveryDelivered}},
			[]State{Accepted, Undelivered, Undelivered}},
		"the first refused": {[]got{{1: DeliveryUndelivered}}, []State{Undelivered}},
		"one of three":      {[]got{{1: DeliveryDelivered}}, []State{Accepted}},
		"under way":         {[]got{{3: DeliveryEnRoute}, {1: DeliveryDelivered}, {3: DeliveryDelivered}}, []State{EnRoute, EnRoute, Accepted}},
		"expired, then worse": {
			[]got{{1: DeliveryExpired}, {2: DeliveryUndelivered}},
			[]State{Expired, Undelivered}},
	} {
		parts := []Part{one(1, OutcomeAccepted, 0), one(2, OutcomeAccepted, 0), one(3, OutcomeAccepted, 0)}
		for i, step := range c.reports {
			for part, d := range step {
				parts[part-1].Delivery, _ = Apply(parts[part-1].Delivery, d)
			}
			if s := Fold(Base{Parts: 3}, parts); s != c.want[i] {
				t.Errorf("%s, step %d: %s, want %s", name, i+1, s, c.want[i])
			}
		}
	}
}
