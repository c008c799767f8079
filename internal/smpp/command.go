// Package smpp is SMPP 3.4 (issue 1.2 of 12 October 1999): a codec for all of its PDUs, and a session that
// both an ESME and an SMSC can use. Peers of 5.0 are borne: their statuses have names, their commands are refused.
//
// The codec is generous when it reads and strict when it writes: what real message centres get wrong (a stray
// NUL, a TLV that is cut off, a string without its NUL) is read with a warning; nothing of that kind is sent.
package smpp

import "fmt"

// CommandID says what a PDU is (section 5.1.2.1).
type CommandID uint32

const responseBit CommandID = 0x80000000

// The commands.
const (
	CmdBindReceiver        CommandID = 0x00000001
	CmdBindTransmitter     CommandID = 0x00000002
	CmdQuerySM             CommandID = 0x00000003
	CmdSubmitSM            CommandID = 0x00000004
	CmdDeliverSM           CommandID = 0x00000005
	CmdUnbind              CommandID = 0x00000006
	CmdReplaceSM           CommandID = 0x00000007
	CmdCancelSM            CommandID = 0x00000008
	CmdBindTransceiver     CommandID = 0x00000009
	CmdOutbind             CommandID = 0x0000000B
	CmdEnquireLink         CommandID = 0x00000015
	CmdSubmitMulti         CommandID = 0x00000021
	CmdAlertNotification   CommandID = 0x00000102
	CmdDataSM              CommandID = 0x00000103
	CmdGenericNack         CommandID = 0x80000000
	CmdBindReceiverResp    CommandID = 0x80000001
	CmdBindTransmitterResp CommandID = 0x80000002
	CmdQuerySMResp         CommandID = 0x80000003
	CmdSubmitSMResp        CommandID = 0x80000004
	CmdDeliverSMResp       CommandID = 0x80000005
	CmdUnbindResp          CommandID = 0x80000006
	CmdReplaceSMResp       CommandID = 0x80000007
	CmdCancelSMResp        CommandID = 0x80000008
	CmdBindTransceiverResp CommandID = 0x80000009
	CmdEnquireLinkResp     CommandID = 0x80000015
	CmdSubmitMultiResp     CommandID = 0x80000021
	CmdDataSMResp          CommandID = 0x80000103
)

var requestNames = map[CommandID]string{
	CmdBindReceiver: "bind_receiver", CmdBindTransmitter: "bind_transmitter", CmdQuerySM: "query_sm",
	CmdSubmitSM: "submit_sm", CmdDeliverSM: "deliver_sm", CmdUnbind: "unbind", CmdReplaceSM: "replace_sm",
	CmdCancelSM: "cancel_sm", CmdBindTransceiver: "bind_transceiver", CmdOutbind: "outbind",
	CmdEnquireLink: "enquire_link", CmdSubmitMulti: "submit_multi",
	CmdAlertNotification: "alert_notification", CmdDataSM: "data_sm",
}

// IsResponse reports whether the command answers another.
func (c CommandID) IsResponse() bool { return c&responseBit != 0 }

// Response returns the command that answers c.
func (c CommandID) Response() CommandID { return c | responseBit }

// HasResponse reports whether c is a request of this version that is answered. An answer to anything else
// would itself be an error.
func (c CommandID) HasResponse() bool {
	_, known := requestNames[c]
	return known && c != CmdOutbind && c != CmdAlertNotification
}

// Known reports whether the command is one of SMPP 3.4.
func (c CommandID) Known() bool {
	if c == CmdGenericNack {
		return true
	}
	request := c &^ responseBit
	_, known := requestNames[request]
	return known && (!c.IsResponse() || request.HasResponse())
}

// String returns the name in the specification, or the number of a command that is not in it.
func (c CommandID) String() string {
	switch {
	case c == CmdGenericNack:
		return "generic_nack"
	case !c.Known():
		return fmt.Sprintf("0x%08X", uint32(c))
	case c.IsResponse():
		return requestNames[c&^responseBit] + "_resp"
	}
	return requestNames[c]
}
