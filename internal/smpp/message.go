package smpp

// Types of number and numbering plans (sections 5.2.5 and 5.2.6).
const (
	TONUnknown       = 0
	TONInternational = 1
	TONNational      = 2
	TONNetwork       = 3
	TONSubscriber    = 4
	TONAlphanumeric  = 5
	TONAbbreviated   = 6
	NPIUnknown       = 0
	NPIISDN          = 1
)

// The esm_class (section 5.2.12). In deliver_sm ESMTypeMask selects the type; ESMUDHI says that a user data header
// comes first. Test the type with the mask: both may be set.
const (
	ESMTypeMask     = 0x3C
	ESMReceipt      = 0x04
	ESMDeliveryAck  = 0x08
	ESMUserAck      = 0x10
	ESMAbort        = 0x18
	ESMIntermediate = 0x20
	ESMUDHI         = 0x40
)

// The registered_delivery of a submission (section 5.2.17): ReceiptMask selects which receipts the message centre is
// to send. ReceiptOnSuccess is of SMPP 5.0, reserved before.
const (
	ReceiptMask      = 0x03
	ReceiptNone      = 0
	ReceiptAlways    = 1
	ReceiptOnFailure = 2
	ReceiptOnSuccess = 3
)

// Version34 is the interface_version of SMPP 3.4.
const Version34 = 0x34

// Octets returns the text's octets: short_message, or the TLV message_payload where short_message is empty.
func (p *PDU) Octets() []byte {
	switch b := p.Body.(type) {
	case *Message:
		if len(b.ShortMessage) > 0 {
			return b.ShortMessage
		}
	case *SubmitMulti:
		if len(b.ShortMessage) > 0 {
			return b.ShortMessage
		}
	}
	payload, _ := p.TLV(TagMessagePayload)
	return payload
}

// SplitUDH divides octets into the user data header, its length octet included, and the text after it. A
// length that leads out of the message gives no header and false.
func SplitUDH(octets []byte) (udh, text []byte, ok bool) {
	if len(octets) == 0 || int(octets[0])+1 > len(octets) {
		return nil, octets, false
	}
	n := int(octets[0]) + 1
	return octets[:n:n], octets[n:], true
}
