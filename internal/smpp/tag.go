package smpp

import "fmt"

// Tag names an optional parameter, a TLV (section 5.3.2).
type Tag uint16

// The TLVs of SMPP 3.4.
const (
	TagDestAddrSubunit          Tag = 0x0005
	TagDestNetworkType          Tag = 0x0006
	TagDestBearerType           Tag = 0x0007
	TagDestTelematicsID         Tag = 0x0008
	TagSourceAddrSubunit        Tag = 0x000D
	TagSourceNetworkType        Tag = 0x000E
	TagSourceBearerType         Tag = 0x000F
	TagSourceTelematicsID       Tag = 0x0010
	TagQoSTimeToLive            Tag = 0x0017
	TagPayloadType              Tag = 0x0019
	TagAdditionalStatusInfoText Tag = 0x001D
	TagReceiptedMessageID       Tag = 0x001E
	TagMSMsgWaitFacilities      Tag = 0x0030
	TagPrivacyIndicator         Tag = 0x0201
	TagSourceSubaddress         Tag = 0x0202
	TagDestSubaddress           Tag = 0x0203
	TagUserMessageReference     Tag = 0x0204
	TagUserResponseCode         Tag = 0x0205
	TagSourcePort               Tag = 0x020A
	TagDestinationPort          Tag = 0x020B
	TagSARMsgRefNum             Tag = 0x020C
	TagLanguageIndicator        Tag = 0x020D
	TagSARTotalSegments         Tag = 0x020E
	TagSARSegmentSeqnum         Tag = 0x020F
	TagSCInterfaceVersion       Tag = 0x0210
	TagCallbackNumPresInd       Tag = 0x0302
	TagCallbackNumAtag          Tag = 0x0303
	TagNumberOfMessages         Tag = 0x0304
	TagCallbackNum              Tag = 0x0381
	TagDPFResult                Tag = 0x0420
	TagSetDPF                   Tag = 0x0421
	TagMSAvailabilityStatus     Tag = 0x0422
	TagNetworkErrorCode         Tag = 0x0423
	TagMessagePayload           Tag = 0x0424
	TagDeliveryFailureReason    Tag = 0x0425
	TagMoreMessagesToSend       Tag = 0x0426
	TagMessageState             Tag = 0x0427
	TagUSSDServiceOp            Tag = 0x0501
	TagDisplayTime              Tag = 0x1201
	TagSmsSignal                Tag = 0x1203
	TagMSValidity               Tag = 0x1204
	TagAlertOnMessageDelivery   Tag = 0x130C
	TagITSReplyType             Tag = 0x1380
	TagITSSessionInfo           Tag = 0x1383
)

// tagRow is a TLV's name and how many octets its value may have.
type tagRow struct {
	name        string
	least, most int
}

// tags is table 5-7, with the longer forms of SMPP 5.0 and of peers where there are any.
var tags = map[Tag]tagRow{
	TagDestAddrSubunit:          {"dest_addr_subunit", 1, 1},             // integer
	TagDestNetworkType:          {"dest_network_type", 1, 1},             // integer
	TagDestBearerType:           {"dest_bearer_type", 1, 1},              // integer
	TagDestTelematicsID:         {"dest_telematics_id", 2, 2},            // integer
	TagSourceAddrSubunit:        {"source_addr_subunit", 1, 1},           // integer
	TagSourceNetworkType:        {"source_network_type", 1, 1},           // integer
	TagSourceBearerType:         {"source_bearer_type", 1, 1},            // integer
	TagSourceTelematicsID:       {"source_telematics_id", 1, 2},          // integer; 2 in some implementations
	TagQoSTimeToLive:            {"qos_time_to_live", 4, 4},              // integer
	TagPayloadType:              {"payload_type", 1, 1},                  // integer
	TagAdditionalStatusInfoText: {"additional_status_info_text", 1, 256}, // C-octet string
	TagReceiptedMessageID:       {"receipted_message_id", 1, 65},         // C-octet string
	TagMSMsgWaitFacilities:      {"ms_msg_wait_facilities", 1, 1},        // bit mask
	TagPrivacyIndicator:         {"privacy_indicator", 1, 1},             // integer
	TagSourceSubaddress:         {"source_subaddress", 2, 23},            // octet string
	TagDestSubaddress:           {"dest_subaddress", 2, 23},              // octet string
	TagUserMessageReference:     {"user_message_reference", 2, 2},        // integer
	TagUserResponseCode:         {"user_response_code", 1, 1},            // integer
	TagSourcePort:               {"source_port", 2, 2},                   // integer
	TagDestinationPort:          {"destination_port", 2, 2},              // integer
	TagSARMsgRefNum:             {"sar_msg_ref_num", 2, 2},               // integer
	TagLanguageIndicator:        {"language_indicator", 1, 1},            // integer
	TagSARTotalSegments:         {"sar_total_segments", 1, 1},            // integer
	TagSARSegmentSeqnum:         {"sar_segment_seqnum", 1, 1},            // integer
	TagSCInterfaceVersion:       {"sc_interface_version", 1, 1},          // integer
	TagCallbackNumPresInd:       {"callback_num_pres_ind", 1, 1},         // bit mask
	TagCallbackNumAtag:          {"callback_num_atag", 0, 65},            // octet string
	TagNumberOfMessages:         {"number_of_messages", 1, 1},            // integer
	TagCallbackNum:              {"callback_num", 4, 19},                 // octet string
	TagDPFResult:                {"dpf_result", 1, 1},                    // integer
	TagSetDPF:                   {"set_dpf", 1, 1},                       // integer
	TagMSAvailabilityStatus:     {"ms_availability_status", 1, 1},        // integer
	TagNetworkErrorCode:         {"network_error_code", 3, 3},            // octet string
	TagMessagePayload:           {"message_payload", 0, 65535},           // octet string
	TagDeliveryFailureReason:    {"delivery_failure_reason", 1, 1},       // integer
	TagMoreMessagesToSend:       {"more_messages_to_send", 1, 1},         // integer
	TagMessageState:             {"message_state", 1, 1},                 // integer
	TagUSSDServiceOp:            {"ussd_service_op", 1, 1},               // octet string
	TagDisplayTime:              {"display_time", 1, 1},                  // integer
	TagSmsSignal:                {"sms_signal", 2, 2},                    // integer
	TagMSValidity:               {"ms_validity", 1, 4},                   // integer; 4 in SMPP 5.0
	TagAlertOnMessageDelivery:   {"alert_on_message_delivery", 0, 1},     // none; an integer in SMPP 5.0
	TagITSReplyType:             {"its_reply_type", 1, 1},                // integer
	TagITSSessionInfo:           {"its_session_info", 2, 2},              // octet string
}

// String returns the name in the specification, or the number of a tag that is not in it.
func (t Tag) String() string {
	if row, ok := tags[t]; ok {
		return row.name
	}
	return fmt.Sprintf("0x%04X", uint16(t))
}

// wrongLength says what is wrong with a value of n octets; empty for one that may be, and for tags that are not in
// the table.
func (t Tag) wrongLength(n int) string {
	row, listed := tags[t]
	switch {
	case !listed || n >= row.least && n <= row.most:
		return ""
	case row.least == row.most:
		return fmt.Sprintf("has %d octets, not %d", n, row.least)
	}
	return fmt.Sprintf("has %d octets, not %d to %d", n, row.least, row.most)
}
