package store

import "github.com/einmal/einmal/internal/domain/message"

// deliveryRank orders deliveries for a message of several parts: the highest is the one to show.
var deliveryRank = map[message.Delivery]int{
	message.DeliveryNone: 0, message.DeliveryUnknown: 1, message.DeliveryAccepted: 2, message.DeliveryEnRoute: 3,
	message.DeliveryDelivered: 4, message.DeliveryExpired: 5, message.DeliveryUndelivered: 6,
}

// ReportedDelivery is what receipts report of a message of so many parts that is in a state: empty if nothing, or
// nothing that holds for the whole. Parts that differ give the least favourable report that is final, else the one
// that is furthest. While a part is owed a final receipt "delivered" is not said: the message is en_route. Of one
// that has failed in part it never is.
func ReportedDelivery(state message.State, total int, parts []message.Part) string {
	shown := message.DeliveryNone
	for _, p := range message.Counting(total, parts) {
		if deliveryRank[p.Delivery] > deliveryRank[shown] {
			shown = p.Delivery
		}
	}
	p := message.ProgressOf(total, parts)
	switch part := p.Delivered < p.Parts; {
	case shown == message.DeliveryNone, shown == message.DeliveryDelivered && part && state == message.Failed:
		return ""
	case shown == message.DeliveryDelivered && part:
		return message.DeliveryEnRoute.String()
	}
	return shown.String()
}
