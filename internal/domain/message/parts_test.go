package message

import (
	"slices"
	"testing"
)

const none = DeliveryNone

// covers: D5, D9, I7
func TestPartsOfALongMessage(t *testing.T) {
	const accepted, rejected, throttled, unknown = OutcomeAccepted, OutcomeRejected, OutcomeThrottled, OutcomeUnknown
	two, three := Base{Parts: 2}, Base{Parts: 3}
	for name, c := range map[string]struct {
		base  Base
		parts []Part
		want  State
	}{
		"first accepted, rest waits":    {two, []Part{one(1, accepted, none)}, Pending},
		"rest claimed":                  {Base{Parts: 2, Leased: true}, []Part{one(1, accepted, none)}, Sending},
		"rest open":                     {two, []Part{one(1, accepted, none), one(2, OutcomeOpen, none)}, Sending},
		"rest unknown":                  {two, []Part{one(1, accepted, none), one(2, unknown, none)}, Unknown},
		"rest throttled":                {two, []Part{one(1, accepted, none), one(2, throttled, none)}, Pending},
		"rest rejected":                 {two, []Part{one(1, accepted, none), one(2, rejected, none)}, Failed},
		"first rejected":                {three, []Part{one(1, rejected, none)}, Rejected},
		"first unknown":                 {three, []Part{one(1, unknown, none)}, Unknown},
		"first throttled":               {three, []Part{one(1, throttled, none)}, Pending},
		"all rejected":                  {two, []Part{one(1, rejected, none), one(2, rejected, none)}, Rejected},
		"rejected beside unknown":       {two, []Part{one(1, unknown, none), one(2, rejected, none)}, Unknown},
		"rejected beside delivered":     {two, []Part{one(1, accepted, DeliveryDelivered), one(2, rejected, none)}, Failed},
		"rejected, another waits":       {three, []Part{one(1, accepted, none), one(2, rejected, none), one(3, throttled, none)}, Failed},
		"unknown, another waits":        {three, []Part{one(1, accepted, none), one(2, unknown, none), one(3, throttled, none)}, Pending},
		"unknown, another over":         {Base{Parts: 3, Expired: true}, []Part{one(1, accepted, none), one(2, unknown, none)}, Unknown},
		"validity over, nothing left":   {Base{Parts: 2, Expired: true}, []Part{one(1, throttled, none)}, Expired},
		"validity over, first left":     {Base{Parts: 2, Expired: true}, []Part{one(1, accepted, none), one(2, throttled, none)}, Failed},
		"validity over, first came":     {Base{Parts: 2, Expired: true}, []Part{one(1, accepted, DeliveryDelivered)}, Failed},
		"text gone, nothing left":       {Base{Parts: 2, Failed: true}, []Part{one(1, OutcomeNotSent, none)}, Failed},
		"text gone, first left":         {Base{Parts: 2, Failed: true}, []Part{one(1, accepted, none), one(2, OutcomeNotSent, none)}, Failed},
		"taken back":                    {Base{Parts: 2, Cancelled: true}, []Part{one(1, throttled, none)}, Cancelled},
		"taken back and yet left":       {Base{Parts: 2, Cancelled: true}, []Part{one(1, accepted, none)}, Failed},
		"first lost, rest waits":        {two, []Part{one(1, accepted, DeliveryUndelivered)}, Undelivered},
		"first lost, rest over":         {Base{Parts: 2, Expired: true}, []Part{one(1, accepted, DeliveryUndelivered)}, Undelivered},
		"first expired, rest waits":     {two, []Part{one(1, accepted, DeliveryExpired)}, Expired},
		"first delivered, rest waits":   {two, []Part{one(1, accepted, DeliveryDelivered)}, Pending},
		"unknown settled by receipts":   {two, []Part{one(1, unknown, DeliveryDelivered), one(2, accepted, none)}, Accepted},
		"more parts than announced":     {Base{}, []Part{one(1, accepted, none), one(2, OutcomeOpen, none)}, Sending},
		"part 2 again, after its first": {two, []Part{one(1, accepted, none), one(2, throttled, none), {Attempt: 2, Part: 2, Outcome: accepted}}, Accepted},
	} {
		if got := Fold(c.base, c.parts); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What a receipt says for parts of which none was asked for.
//
// covers: D5, D16
func TestOneReceiptForAllParts(t *testing.T) {
	silent := func(part uint16, o Outcome) Part { return Part{Attempt: 1, Part: part, Outcome: o, NoReceipt: true} }
	for name, c := range map[string]struct {
		parts []Part
		want  State
		share Progress
	}{
		"none yet":         {[]Part{one(1, OutcomeAccepted, none), silent(2, OutcomeAccepted)}, Accepted, Progress{2, 2, 0}},
		"delivered":        {[]Part{one(1, OutcomeAccepted, DeliveryDelivered), silent(2, OutcomeAccepted)}, Delivered, Progress{2, 2, 2}},
		"rest unknown":     {[]Part{one(1, OutcomeAccepted, DeliveryDelivered), silent(2, OutcomeUnknown)}, Unknown, Progress{2, 1, 1}},
		"undelivered":      {[]Part{one(1, OutcomeAccepted, DeliveryUndelivered), silent(2, OutcomeAccepted)}, Undelivered, Progress{2, 2, 0}},
		"none was asked":   {[]Part{one(1, OutcomeAccepted, DeliveryDelivered), {Attempt: 1, Part: 2, Outcome: OutcomeAccepted, Delivery: DeliveryUndelivered, NoReceipt: true}}, Delivered, Progress{2, 2, 2}},
		"nobody's receipt": {[]Part{silent(1, OutcomeAccepted), silent(2, OutcomeAccepted)}, Accepted, Progress{2, 2, 0}},
	} {
		if got := Fold(Base{Parts: 2}, c.parts); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := ProgressOf(2, c.parts); got != c.share {
			t.Errorf("%s: %+v, want %+v", name, got, c.share)
		}
	}
}

// Which parts may be sent: only the first until it is taken, then those that are left, and none once one is lost.
//
// covers: D5, I5
func TestOwed(t *testing.T) {
	const accepted, rejected, throttled, unknown, open = OutcomeAccepted, OutcomeRejected, OutcomeThrottled, OutcomeUnknown, OutcomeOpen
	three := Base{Parts: 3}
	for name, c := range map[string]struct {
		base            Base
		parts           []Part
		gated, together []uint16
	}{
		"nothing sent":             {three, nil, []uint16{1}, []uint16{1, 2, 3}},
		"one part":                 {Base{}, nil, []uint16{1}, []uint16{1}},
		"first open":               {three, []Part{one(1, open, none)}, nil, []uint16{2, 3}},
		"first accepted":           {three, []Part{one(1, accepted, none)}, []uint16{2, 3}, []uint16{2, 3}},
		"first reported":           {three, []Part{one(1, unknown, DeliveryEnRoute)}, []uint16{2, 3}, []uint16{2, 3}},
		"first unknown":            {three, []Part{one(1, unknown, none)}, nil, nil},
		"first throttled":          {three, []Part{one(1, throttled, none)}, []uint16{1}, []uint16{1, 2, 3}},
		"first throttled, then on": {three, []Part{one(1, throttled, none), {Attempt: 2, Part: 1, Outcome: accepted}}, []uint16{2, 3}, []uint16{2, 3}},
		"second throttled":         {three, []Part{one(1, accepted, none), one(2, throttled, none), one(3, accepted, none)}, []uint16{2}, []uint16{2}},
		"second unknown":           {three, []Part{one(1, accepted, none), one(2, unknown, none)}, []uint16{3}, []uint16{3}},
		"second open":              {three, []Part{one(1, accepted, none), one(2, open, none)}, []uint16{3}, []uint16{3}},
		"second rejected":          {three, []Part{one(1, accepted, none), one(2, rejected, none)}, nil, nil},
		"first lost":               {three, []Part{one(1, accepted, DeliveryUndelivered)}, nil, nil},
		"all accepted":             {Base{Parts: 2}, []Part{one(1, accepted, none), one(2, accepted, none)}, nil, nil},
		"validity over":            {Base{Parts: 2, Expired: true}, []Part{one(1, accepted, none)}, nil, nil},
		"taken back":               {Base{Parts: 2, Cancelled: true}, nil, nil, nil},
	} {
		if got := Owed(c.base, c.parts, false); !slices.Equal(got, c.gated) {
			t.Errorf("%s: %v may be sent, want %v", name, got, c.gated)
		}
		if got := Owed(c.base, c.parts, true); !slices.Equal(got, c.together) {
			t.Errorf("%s: %v may be sent together, want %v", name, got, c.together)
		}
	}
}

// covers: D5, D16
func TestPartial(t *testing.T) {
	for name, c := range map[string]struct {
		parts []Part
		want  Progress
		shown bool
	}{
		"nothing":             {nil, Progress{3, 0, 0}, false},
		"first accepted":      {[]Part{one(1, OutcomeAccepted, none)}, Progress{3, 1, 0}, true},
		"first refused":       {[]Part{one(1, OutcomeRejected, none)}, Progress{3, 0, 0}, false},
		"first unknown":       {[]Part{one(1, OutcomeUnknown, none)}, Progress{3, 0, 0}, false},
		"all accepted":        {[]Part{one(1, OutcomeAccepted, none), one(2, OutcomeAccepted, none), one(3, OutcomeAccepted, none)}, Progress{3, 3, 0}, false},
		"one of three":        {[]Part{one(1, OutcomeAccepted, DeliveryDelivered), one(2, OutcomeAccepted, none), one(3, OutcomeAccepted, none)}, Progress{3, 3, 1}, true},
		"one lost":            {[]Part{one(1, OutcomeAccepted, DeliveryDelivered), one(2, OutcomeAccepted, DeliveryUndelivered), one(3, OutcomeAccepted, DeliveryDelivered)}, Progress{3, 3, 2}, true},
		"all came":            {[]Part{one(1, OutcomeAccepted, DeliveryDelivered), one(2, OutcomeUnknown, DeliveryDelivered), one(3, OutcomeAccepted, DeliveryDelivered)}, Progress{3, 3, 3}, false},
		"by an older try":     {[]Part{{1, 1, OutcomeUnknown, DeliveryDelivered, false, false}, {2, 1, OutcomeThrottled, none, false, false}, one(2, OutcomeAccepted, DeliveryDelivered), one(3, OutcomeAccepted, DeliveryDelivered)}, Progress{3, 3, 3}, false},
		"second of them lost": {[]Part{one(1, OutcomeAccepted, none), one(2, OutcomeRejected, none)}, Progress{3, 1, 0}, true},
	} {
		got := ProgressOf(3, c.parts)
		if got != c.want || got.Partial() != c.shown {
			t.Errorf("%s: %+v, partial %v; want %+v, %v", name, got, got.Partial(), c.want, c.shown)
		}
	}
	c := Counting(3, []Part{one(2, OutcomeThrottled, none), {Attempt: 2, Part: 2, Outcome: OutcomeAccepted}})
	if len(c) != 3 || c[0] != (Part{Part: 1}) || c[1].Attempt != 2 || c[2] != (Part{Part: 3}) {
		t.Errorf("the attempts that stand for the parts are %+v", c)
	}
}
