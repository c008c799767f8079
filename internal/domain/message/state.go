package message

// State is where a message stands.
type State uint8

// The states, by their stored numbers.
const (
	Held        State = 1
	Declined    State = 2
	Pending     State = 3
	Sending     State = 4
	Accepted    State = 5
	EnRoute     State = 6
	Delivered   State = 7
	Undelivered State = 8
	Rejected    State = 9
	Failed      State = 10
	Expired     State = 11
	Replaced    State = 12
	Cancelled   State = 13
	RetryDue    State = 14
	Unknown     State = 15
)

var states = []row[State]{
	Held: {"held",
		"A person has to look at the request before it may go on. It holds its key meanwhile.",
		[]State{Pending, Declined, Cancelled, Expired}},
	Declined: {"declined",
		"A person looked and said no. Nothing was sent.",
		nil},
	Pending: {"pending",
		"Taken by the gateway and waiting to be sent; also after a throttle, or when an attempt ended before its first byte. Taken is not accepted: no provider knows of it, or one has asked for a pause. Of a long message the provider may have some parts while the rest waits: it is partial then, and cannot be taken back.",
		[]State{Sending, Accepted, EnRoute, Delivered, Undelivered, Rejected, Failed, Expired, Replaced, Cancelled, Unknown}},
	Sending: {"sending",
		"Claimed by a node, or an attempt is open: bytes may be on their way at this moment.",
		[]State{Pending, Accepted, EnRoute, Delivered, Undelivered, Rejected, Failed, Expired, RetryDue, Unknown}},
	Accepted: {"accepted",
		"The provider took every part. That is a hand-over, and says nothing about a handset. It becomes final under this name when the time in which receipts may come is over.",
		[]State{EnRoute, Delivered, Undelivered, Expired, RetryDue}},
	EnRoute: {"en_route",
		"The provider reports that it is trying. A long message goes back to accepted when the part that was under way is delivered and nothing is reported of another.",
		[]State{Accepted, Delivered, Undelivered, Expired, RetryDue}},
	Delivered: {"delivered",
		"Receipts report every part as delivered, or, where a provider sends one receipt for all parts, that one does. Reported delivery is the provider's word; it never means that somebody read it.",
		nil},
	Undelivered: {"undelivered",
		"A receipt reports that a part finally was not delivered: UNDELIV, DELETED or REJECTD. A long message of which one part is missing is undelivered as a whole, and partial where others were delivered; parts that had not left yet stay. It moves only if there is another attempt: a retry, or an earlier one that was unknown and is reported as delivered after all.",
		[]State{Accepted, EnRoute, Delivered, RetryDue}},
	Rejected: {"rejected",
		"The provider refused it at the submission, definitely and for good. It has no part of it: a long message of which it had taken a part before it refused another has failed.",
		[]State{RetryDue}},
	Failed: {"failed",
		"Not sent as a whole, and nothing more will be tried: its text cannot be opened any more, or, of a long message, the provider has some parts and never will have the others, since it refused one or their time was over. The message is partial then: \"rejected\" and \"expired\" would deny what was handed over. Where time was what ended it, a part that did leave may still be reported as lost, which says more.",
		[]State{Undelivered, Expired, RetryDue}},
	Expired: {"expired",
		"Its validity ended: before it was sent, or at the provider, as a receipt reports. Of a long message another part may then still be reported as undelivered, which says more.",
		[]State{Accepted, EnRoute, Delivered, Undelivered, RetryDue}},
	Replaced: {"replaced",
		"A newer version of the same event took its place before it was sent.",
		nil},
	Cancelled: {"cancelled",
		"Taken back before it was sent. What a provider has is never called back.",
		nil},
	RetryDue: {"retry_due",
		"An attempt ended badly and the next one has a time.",
		[]State{Pending, Sending, Delivered, Undelivered, Rejected, Failed, Expired, Cancelled, Unknown}},
	Unknown: {"unknown",
		"Bytes may have left and no definite answer came, or the store went back in time. Of a long message one part is enough; the rest leaves all the same, unless the first part is the one. It is neither a yes nor a no, and nothing is sent again before evidence, a person, or a documented rule settles it. It becomes final under this name when the time in which receipts may come is over.",
		[]State{Pending, Sending, Accepted, EnRoute, Delivered, Undelivered, Rejected, Failed, Expired, Cancelled, RetryDue}},
}

// States returns every state, in the order of their numbers.
func States() []State {
	all := make([]State, 0, len(states)-1)
	for s := Held; int(s) < len(states); s++ {
		all = append(all, s)
	}
	return all
}

// String returns the state's spelling, or "" for a number that is no state.
func (s State) String() string { return spell(states, s) }

// ParseState reads a spelling.
func ParseState(name string) (State, bool) { return parse(states, name) }

// Allowed reports whether a message may move from one state to another. Staying is no move.
func Allowed(from, to State) bool { return moves(states, from, to) }

// Before returns the states from which to may be reached, for statements that guard a move by what was before.
func Before(to State) []State {
	var all []State
	for _, s := range States() {
		if Allowed(s, to) {
			all = append(all, s)
		}
	}
	return all
}

// CanCancel reports whether the message can still be taken back. Unknown is not among the states, although it may
// become Cancelled: that is a message taken back after an attempt of which it was learned later that it had failed.
func CanCancel(s State) bool { return s == Held || s == Pending || s == RetryDue }

// CanBeFinal reports whether a message may end in this state. Whether one that is in it has ended is another
// question: a receipt or a retry may still be owed. Accepted and Unknown end by time alone.
func CanBeFinal(s State) bool {
	switch s {
	case Declined, Accepted, Delivered, Undelivered, Rejected, Failed, Expired, Replaced, Cancelled, Unknown:
		return true
	}
	return false
}
