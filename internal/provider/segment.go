package provider

// Segment says which part of a long message a submission carries. The zero value: the text is whole.
type Segment struct {
	Number, Total uint8 // from 1 to Total
	// Reference is the same for all parts of a message, in all its attempts.
	Reference uint16
	By        Joining
}

// Joining is what tells a handset that the parts of a long message belong together. The spellings are stored with
// messages, and are the configuration's.
type Joining string

// The ways. Only the first is known everywhere.
const (
	JoinedByUDH8    Joining = "udh8"    // a user data header with a reference of 8 bits (3GPP TS 23.040, 9.2.3.24.1)
	JoinedByUDH16   Joining = "udh16"   // one of 16 bits (9.2.3.24.8)
	JoinedBySAR     Joining = "sar"     // SMPP's sar_ parameters, of which the message centre makes a header
	JoinedByPayload Joining = "payload" // nothing: the whole text goes as message_payload, and the message centre cuts it
)
