package receipt

import "strings"

// State is what a receipt says about its part, in the gateway's words.
type State string

// The states. The spellings are part of stored events.
const (
	EnRoute     State = "en_route"
	Accepted    State = "accepted"
	Delivered   State = "delivered"
	Undelivered State = "undelivered"
	Expired     State = "expired"
	Unknown     State = "unknown" // the SMSC does not know: neither good nor bad, and it moves nothing
)

// Final reports whether nothing more is to come.
func (s State) Final() bool { return s == Delivered || s == Undelivered || s == Expired }

// textStates maps the status word of a receipt's text. The seven-letter forms are those of SMPP 3.4 appendix B;
// the long ones are the names of message_state in section 5.2.28, which some SMSCs write into the text. Words of
// one operator (FAILED, ACKED, DND_REJECTED) are not here: they mean what that operator says, and until a
// connection documents it they move nothing.
var textStates = map[string]State{
	"ENROUTE":       EnRoute,     // appendix B: still under way
	"SCHEDLD":       EnRoute,     // SMPP 5.0 SCHEDULED, short form as seen: not yet tried
	"BUFFRED":       EnRoute,     // seen from several SMSCs: waits for the handset
	"BUFFERD":       EnRoute,     // the same, other spelling
	"ACCEPTD":       Accepted,    // appendix B; Kannel and many operators: taken by the next hop, so not final
	"ACCEPTED":      Accepted,    // 5.2.28
	"DELIVRD":       Delivered,   // appendix B
	"DELIVERED":     Delivered,   // 5.2.28
	"UNDELIV":       Undelivered, // appendix B
	"UNDELIVERABLE": Undelivered, // 5.2.28
	"DELETED":       Undelivered, // appendix B: removed before delivery
	"REJECTD":       Undelivered, // appendix B: refused after it had been taken
	"REJECTED":      Undelivered, // 5.2.28
	"EXPIRED":       Expired,     // appendix B: validity ended
	"UNKNOWN":       Unknown,     // appendix B: "message is in invalid state"
}

// numberStates maps message_state (SMPP 3.4 section 5.2.28; 0 and 9 are of 5.0).
var numberStates = map[uint8]State{
	0: EnRoute,     // SCHEDULED
	1: EnRoute,     // ENROUTE
	2: Delivered,   // DELIVERED
	3: Expired,     // EXPIRED
	4: Undelivered, // DELETED
	5: Undelivered, // UNDELIVERABLE
	6: Accepted,    // ACCEPTED
	7: Unknown,     // UNKNOWN
	8: Undelivered, // REJECTED
	// 9, SKIPPED, is for broadcast and says nothing about a message to one handset.
}

// StateOfSMPP reads the status word of a receipt's text, without regard to case and blanks around it. ok is
// false for a word that is not in the table.
func StateOfSMPP(stat string) (state State, final, ok bool) {
	state, ok = textStates[strings.ToUpper(strings.Trim(stat, blank))]
	return state, state.Final(), ok
}

// StateOfMessageState reads the parameter message_state. ok is false for a number that is not in the table.
func StateOfMessageState(n uint8) (state State, final, ok bool) {
	state, ok = numberStates[n]
	return state, state.Final(), ok
}
