package message

// Unfinished reports whether something of a message is still to be sent, or is being sent. If its store is an older
// copy, that may have gone on since the copy was taken (D20).
func (s State) Unfinished() bool { return s == Pending || s == Sending || s == RetryDue }

// WhileHeld is the state as which a message is told while its store is held because it went back in time: what is not
// finished there is unknown.
func (s State) WhileHeld() State {
	if s.Unfinished() {
		return Unknown
	}
	return s
}

// ToldAs lists the stored states that are told as s while the store is held; none: no message is told as that.
func ToldAs(s State) []State {
	var all []State
	for _, stored := range States() {
		if stored.WhileHeld() == s {
			all = append(all, stored)
		}
	}
	return all
}
