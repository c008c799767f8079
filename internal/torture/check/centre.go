package check

import (
	"regexp"
	"strings"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/provider/simulator"
)

// ending is what chooses the message centre's behaviour.
func ending(to string) string { return to[max(0, len(to)-2):] }

// reports are what the receipts for a part say, in their order, by the ending; those of any other say delivered.
var reports = map[string][]message.Delivery{
	"01": {message.DeliveryUndelivered},
	"02": nil, "05": nil, "13": nil, "14": nil,
	"07": {message.DeliveryDelivered, message.DeliveryEnRoute},
	"08": {message.DeliveryDelivered, message.DeliveryUndelivered},
	"11": nil, // its receipt cannot be read
}

// Reports lists what the message centre's receipts report of each part that it takes, in their order. The first one
// decides, and what contradicts it is for a person.
func Reports(to string) []message.Delivery {
	if all, listed := reports[ending(to)]; listed {
		return all
	}
	return []message.Delivery{message.DeliveryDelivered}
}

// Unreadable reports that the message centre's receipts for this destination cannot be read.
func Unreadable(to string) bool { return ending(to) == "11" }

// LosesAnswer reports that the message centre takes messages to this destination and does not answer.
func LosesAnswer(to string) bool { return ending(to) == "04" || ending(to) == "12" }

// Cuts reports that the message centre cuts the connection for messages to this destination.
func Cuts(to string) bool { return ending(to) == "12" || ending(to) == "13" }

// unsettled reports that nothing says what became of messages to this destination: the message centre neither takes
// nor answers them, or it does not answer and what its receipts say cannot be matched.
func (h *History) unsettled(to string) bool {
	return ending(to) == "05" || ending(to) == "13" || LosesAnswer(to) && !h.Echo
}

// Mark is what names an intent in its text.
func Mark(event string) string { return "<" + event + ">" }

var mark = regexp.MustCompile(`<(E-[0-9a-z-]+)>`)

// Named is the name in a ledger's line, and the text that it carried; "": it names nobody.
func Named(e *simulator.Entry) (event, text string) {
	octets := e.ShortMessage
	if e.Segment != nil {
		octets = behindHeader(octets)
	}
	for _, coding := range []uint8{gsm.CodingDefault, gsm.CodingUCS2} {
		text, _ := gsm.Decode(coding, octets)
		if m := mark.FindStringSubmatch(text); m != nil {
			return m[1], text
		}
	}
	return "", ""
}

// behindHeader is what follows a part's user data header. Parts that are joined by parameters have none.
func behindHeader(octets []byte) []byte {
	if len(octets) == 0 || int(octets[0]) >= len(octets) {
		return octets
	}
	n := int(octets[0]) + 1
	udh, err := gsm.ParseUDH(octets[:n])
	if _, ok := udh.Concat(); err != nil || !ok {
		return octets
	}
	return octets[n:]
}

// number is which part of its message an entry carried.
func number(e *simulator.Entry) uint16 {
	if e.Segment == nil {
		return 1
	}
	return uint16(e.Segment.Number)
}

// sentTo reports whether an entry went to a destination.
func sentTo(e *simulator.Entry, to string) bool { return strings.TrimPrefix(to, "+") == e.Destination }
