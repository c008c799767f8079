package store

import "github.com/einmal/einmal/internal/domain/message"

// deliveryRank orders deliveries for a message of several parts: the highest is the one to show.
var deliveryRank = map[message.Delivery]int{
	message.DeliveryNone: 0, message.DeliveryUnknown: 1, message.DeliveryAccepted: 2, message.DeliveryEnRoute: 3,
	message.DeliveryDelivered: 4, message.DeliveryExpired: 5, message.DeliveryUndelivered: 6,
}

// ReportedDelivery is what receipts report of the last attempt: empty if nothing. While a part of it is owed a
// final receipt, "delivered" is not said: the message is en_route.
func ReportedDelivery(attempts []Attempt) string {
	shown, owed := message.DeliveryNone, false
	for _, a := range attempts {
		if a.Attempt.Attempt != attempts[len(attempts)-1].Attempt.Attempt {
			continue
		}
		owed = owed || !a.Delivery.Final()
		if deliveryRank[a.Delivery] > deliveryRank[shown] {
			shown = a.Delivery
		}
	}
	switch {
	case shown == message.DeliveryNone:
		return ""
	case shown == message.DeliveryDelivered && owed:
		return message.DeliveryEnRoute.String()
	}
	return shown.String()
}
