package smpp

import (
	"fmt"
	"time"
)

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

// The esm_class of deliver_sm (section 5.2.12): ESMTypeMask selects the type, ESMUDHI says that a user data
// header comes first. Test the type with the mask: both may be set.
const (
	ESMTypeMask     = 0x3C
	ESMReceipt      = 0x04
	ESMDeliveryAck  = 0x08
	ESMUserAck      = 0x10
	ESMAbort        = 0x18
	ESMIntermediate = 0x20
	ESMUDHI         = 0x40
)

// Version34 is the interface_version of SMPP 3.4.
const Version34 = 0x34

// maxRelative is the longest period that RelativeTime writes: months have no fixed length, so days are used,
// and two digits of them.
const maxRelative = 99 * 24 * time.Hour

// RelativeTime writes a period as YYMMDDhhmmss000R (section 7.1.1), rounded down to a second: a message that
// is given up early is better than one that arrives when it is no longer wanted. At least one second, at most
// 99 days; 0 is the empty string, which leaves the period to the message centre.
func RelativeTime(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	s := int64(max(time.Second, min(d, maxRelative)) / time.Second)
	return fmt.Sprintf("0000%02d%02d%02d%02d000R", s/86400, s/3600%24, s/60%60, s%60)
}

// Octets returns the text's octets: short_message, or the TLV message_payload where short_message is empty.
func (p *PDU) Octets() []byte {
	if m, ok := p.Body.(*Message); ok && len(m.ShortMessage) > 0 {
		return m.ShortMessage
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
