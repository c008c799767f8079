package smpp

import "fmt"

// Tag names an optional parameter, a TLV (section 5.3.2).
type Tag uint16

// The TLVs of SMPP 3.4, with the type and the number of octets of each value.
const (
	TagDestAddrSubunit          Tag = 0x0005 // integer, 1
	TagDestNetworkType          Tag = 0x0006 // integer, 1
	TagDestBearerType           Tag = 0x0007 // integer, 1
	TagDestTelematicsID         Tag = 0x0008 // integer, 2
	TagSourceAddrSubunit        Tag = 0x000D // integer, 1
	TagSourceNetworkType        Tag = 0x000E // integer, 1
	TagSourceBearerType         Tag = 0x000F // integer, 1
	TagSourceTelematicsID       Tag = 0x0010 // integer, 1
	TagQoSTimeToLive            Tag = 0x0017 // integer, 4
	TagPayloadType              Tag = 0x0019 // integer, 1
	TagAdditionalStatusInfoText Tag = 0x001D // C-octet string, 1 to 256
	TagReceiptedMessageID       Tag = 0x001E // C-octet string, 1 to 65
	TagMSMsgWaitFacilities      Tag = 0x0030 // bit mask, 1
	TagPrivacyIndicator         Tag = 0x0201 // integer, 1
	TagSourceSubaddress         Tag = 0x0202 // octet string, 2 to 23
	TagDestSubaddress           Tag = 0x0203 // octet string, 2 to 23
	TagUserMessageReference     Tag = 0x0204 // integer, 2
	TagUserResponseCode         Tag = 0x0205 // integer, 1
	TagSourcePort               Tag = 0x020A // integer, 2
	TagDestinationPort          Tag = 0x020B // integer, 2
	TagSARMsgRefNum             Tag = 0x020C // integer, 2
	TagLanguageIndicator        Tag = 0x020D // integer, 1
	TagSARTotalSegments         Tag = 0x020E // integer, 1
	TagSARSegmentSeqnum         Tag = 0x020F // integer, 1
	TagSCInterfaceVersion       Tag = 0x0210 // integer, 1
	TagCallbackNumPresInd       Tag = 0x0302 // bit mask, 1
	TagCallbackNumAtag          Tag = 0x0303 // octet string, 0 to 65
	TagNumberOfMessages         Tag = 0x0304 // integer, 1
	TagCallbackNum              Tag = 0x0381 // octet string, 4 to 19
	TagDPFResult                Tag = 0x0420 // integer, 1
	TagSetDPF                   Tag = 0x0421 // integer, 1
	TagMSAvailabilityStatus     Tag = 0x0422 // integer, 1
	TagNetworkErrorCode         Tag = 0x0423 // octet string, 3
	TagMessagePayload           Tag = 0x0424 // octet string, 0 to 65535
	TagDeliveryFailureReason    Tag = 0x0425 // integer, 1
	TagMoreMessagesToSend       Tag = 0x0426 // integer, 1
	TagMessageState             Tag = 0x0427 // integer, 1
	TagUSSDServiceOp            Tag = 0x0501 // octet string, 1
	TagDisplayTime              Tag = 0x1201 // integer, 1
	TagSmsSignal                Tag = 0x1203 // integer, 2
	TagMSValidity               Tag = 0x1204 // integer, 1
	TagAlertOnMessageDelivery   Tag = 0x130C // none, 0
	TagITSReplyType             Tag = 0x1380 // integer, 1
	TagITSSessionInfo           Tag = 0x1383 // octet string, 2
)

var tagNames = map[Tag]string{
	TagDestAddrSubunit:          "dest_addr_subunit",
	TagDestNetworkType:          "dest_network_type",
	TagDestBearerType:           "dest_bearer_type",
	TagDestTelematicsID:         "dest_telematics_id",
	TagSourceAddrSubunit:        "source_addr_subunit",
	TagSourceNetworkType:        "source_network_type",
	TagSourceBearerType:         "source_bearer_type",
	TagSourceTelematicsID:       "source_telematics_id",
	TagQoSTimeToLive:            "qos_time_to_live",
	TagPayloadType:              "payload_type",
	TagAdditionalStatusInfoText: "additional_status_info_text",
	TagReceiptedMessageID:       "receipted_message_id",
	TagMSMsgWaitFacilities:      "ms_msg_wait_facilities",
	TagPrivacyIndicator:         "privacy_indicator",
	TagSourceSubaddress:         "source_subaddress",
	TagDestSubaddress:           "dest_subaddress",
	TagUserMessageReference:     "user_message_reference",
	TagUserResponseCode:         "user_response_code",
	TagSourcePort:               "source_port",
	TagDestinationPort:          "destination_port",
	TagSARMsgRefNum:             "sar_msg_ref_num",
	TagLanguageIndicator:        "language_indicator",
	TagSARTotalSegments:         "sar_total_segments",
	TagSARSegmentSeqnum:         "sar_segment_seqnum",
	TagSCInterfaceVersion:       "sc_interface_version",
	TagCallbackNumPresInd:       "callback_num_pres_ind",
	TagCallbackNumAtag:          "callback_num_atag",
	TagNumberOfMessages:         "number_of_messages",
	TagCallbackNum:              "callback_num",
	TagDPFResult:                "dpf_result",
	TagSetDPF:                   "set_dpf",
	TagMSAvailabilityStatus:     "ms_availability_status",
	TagNetworkErrorCode:         "network_error_code",
	TagMessagePayload:           "message_payload",
	TagDeliveryFailureReason:    "delivery_failure_reason",
	TagMoreMessagesToSend:       "more_messages_to_send",
	TagMessageState:             "message_state",
	TagUSSDServiceOp:            "ussd_service_op",
	TagDisplayTime:              "display_time",
	TagSmsSignal:                "sms_signal",
	TagMSValidity:               "ms_validity",
	TagAlertOnMessageDelivery:   "alert_on_message_delivery",
	TagITSReplyType:             "its_reply_type",
	TagITSSessionInfo:           "its_session_info",
}

// String returns the name in the specification, or the number of a tag that is not in it.
func (t Tag) String() string {
	if name, ok := tagNames[t]; ok {
		return name
	}
	return fmt.Sprintf("0x%04X", uint16(t))
}
