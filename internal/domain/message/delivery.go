package message

// Delivery is what receipts report about one part of one attempt.
type Delivery uint8

// The deliveries, by their stored numbers. The zero value is "nothing reported".
const (
	DeliveryNone        Delivery = 0
	DeliveryEnRoute     Delivery = 1
	DeliveryAccepted    Delivery = 2
	DeliveryUnknown     Delivery = 3
	DeliveryDelivered   Delivery = 4
	DeliveryUndelivered Delivery = 5
	DeliveryExpired     Delivery = 6
)

// Reports that are not final come in any order; each may only be followed by one that says more, so that their
// order of arrival does not matter. A final one is never left by the arrival of another (R6).
var deliveries = []row[Delivery]{
	DeliveryNone: {"none",
		"Nothing was reported.",
		[]Delivery{DeliveryUnknown, DeliveryAccepted, DeliveryEnRoute, DeliveryDelivered, DeliveryUndelivered, DeliveryExpired}},
	DeliveryEnRoute: {"en_route",
		"Under way to the handset.",
		[]Delivery{DeliveryDelivered, DeliveryUndelivered, DeliveryExpired}},
	DeliveryAccepted: {"accepted",
		"Taken by the next hop.",
		[]Delivery{DeliveryEnRoute, DeliveryDelivered, DeliveryUndelivered, DeliveryExpired}},
	DeliveryUnknown: {"unknown",
		"The provider reports that it does not know: neither good nor bad, and the message does not move.",
		[]Delivery{DeliveryAccepted, DeliveryEnRoute, DeliveryDelivered, DeliveryUndelivered, DeliveryExpired}},
	DeliveryDelivered: {"delivered",
		"Final: reported as delivered.",
		nil},
	DeliveryUndelivered: {"undelivered",
		"Final: reported as not delivered, deleted or refused.",
		nil},
	DeliveryExpired: {"expired",
		"Final: its validity ended at the provider.",
		nil},
}

// Effect is what a report did to a part.
type Effect string

// The effects. The spellings are part of stored events.
const (
	Applied     Effect = "applied"     // it moved the part
	Unmoved     Effect = "unmoved"     // not final, and no more than was known: kept, nothing moves
	Repeated    Effect = "repeated"    // the same final report again
	Late        Effect = "late"        // a report that is not final, after a final one
	Conflicting Effect = "conflicting" // another final report after a final one: for a person
)

// String returns the delivery's spelling, or "" for a number that is none.
func (d Delivery) String() string { return spell(deliveries, d) }

// ParseDelivery reads a spelling. Those of receipt.State are among them.
func ParseDelivery(name string) (Delivery, bool) { return parse(deliveries, name) }

// Final reports whether no arrival of a receipt moves it.
func (d Delivery) Final() bool {
	return d == DeliveryDelivered || d == DeliveryUndelivered || d == DeliveryExpired
}

// Correction is a final report that a later final one replaces, where a connection documents that its carrier means it.
type Correction struct{ From, To Delivery }

// Apply adds a report to what was reported before.
func Apply(have, reported Delivery) (next Delivery, effect Effect) {
	switch {
	case moves(deliveries, have, reported):
		return reported, Applied
	case !have.Final() || reported == DeliveryNone:
		return have, Unmoved
	case reported == have:
		return have, Repeated
	case reported.Final():
		return have, Conflicting
	}
	return have, Late
}
