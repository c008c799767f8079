package message

// Layout is how a message's text is cut. It is chosen once, with the decision: a later release or another setting does
// not cut again what may have left in part.
type Layout struct {
	Parts      int    // 0: made by a release that did not say; it has one
	DataCoding uint8  // of all parts (gsm.CodingDefault or gsm.CodingUCS2)
	JoinedBy   string // what ties the parts of a long message together (provider.Joining); empty: nothing has to
}
