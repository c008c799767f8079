package smpptest

import "github.com/einmal/einmal/internal/smpp"

// ucs2 is "Привет 😀" in UTF-16 big-endian.
var ucs2 = []byte("\x04\x1f\x04\x40\x04\x38\x04\x32\x04\x35\x04\x42\x00\x20\xd8\x3d\xde\x00")

// tlvs has a valid value for every TLV of SMPP 3.4.
var tlvs = []smpp.TLV{
	{Tag: smpp.TagDestAddrSubunit, Value: []byte{1}},
	{Tag: smpp.TagDestNetworkType, Value: []byte{2}},
	{Tag: smpp.TagDestBearerType, Value: []byte{3}},
	{Tag: smpp.TagDestTelematicsID, Value: []byte{0, 0x25}},
	{Tag: smpp.TagSourceAddrSubunit, Value: []byte{4}},
	{Tag: smpp.TagSourceNetworkType, Value: []byte{5}},
	{Tag: smpp.TagSourceBearerType, Value: []byte{6}},
	{Tag: smpp.TagSourceTelematicsID, Value: []byte{7}},
	{Tag: smpp.TagQoSTimeToLive, Value: []byte{0, 1, 0x51, 0x80}},
	{Tag: smpp.TagPayloadType, Value: []byte{0}},
	{Tag: smpp.TagAdditionalStatusInfoText, Value: []byte("subscriber barred\x00")},
	{Tag: smpp.TagReceiptedMessageID, Value: []byte("7b1c9f2e\x00")},
	{Tag: smpp.TagMSMsgWaitFacilities, Value: []byte{0x82}},
	{Tag: smpp.TagPrivacyIndicator, Value: []byte{3}},
	{Tag: smpp.TagSourceSubaddress, Value: []byte{0x88, 0x12, 0x34}},
	{Tag: smpp.TagDestSubaddress, Value: []byte{0x80, 0x56, 0x78, 0x90}},
	{Tag: smpp.TagUserMessageReference, Value: []byte{0x12, 0x67}},
	{Tag: smpp.TagUserResponseCode, Value: []byte{0x21}},
	{Tag: smpp.TagSourcePort, Value: []byte{0x23, 0xf0}},
	{Tag: smpp.TagDestinationPort, Value: []byte{0x23, 0xf4}},
	{Tag: smpp.TagSARMsgRefNum, Value: []byte{0x12, 0x34}},
	{Tag: smpp.TagLanguageIndicator, Value: []byte{5}},
	{Tag: smpp.TagSARTotalSegments, Value: []byte{2}},
	{Tag: smpp.TagSARSegmentSeqnum, Value: []byte{1}},
	{Tag: smpp.TagSCInterfaceVersion, Value: []byte{smpp.Version34}},
	{Tag: smpp.TagCallbackNumPresInd, Value: []byte{0x06}},
	{Tag: smpp.TagCallbackNumAtag, Value: []byte("\x03Shop")},
	{Tag: smpp.TagNumberOfMessages, Value: []byte{42}},
	{Tag: smpp.TagCallbackNum, Value: []byte("\x01\x01\x01447700900123")},
	{Tag: smpp.TagDPFResult, Value: []byte{1}},
	{Tag: smpp.TagSetDPF, Value: []byte{1}},
	{Tag: smpp.TagMSAvailabilityStatus, Value: []byte{2}},
	{Tag: smpp.TagNetworkErrorCode, Value: []byte{3, 0x08, 0x02}},
	{Tag: smpp.TagMessagePayload, Value: []byte("Caf\xe9 at the corner")},
	{Tag: smpp.TagDeliveryFailureReason, Value: []byte{2}},
	{Tag: smpp.TagMoreMessagesToSend, Value: []byte{1}},
	{Tag: smpp.TagMessageState, Value: []byte{2}},
	{Tag: smpp.TagUSSDServiceOp, Value: []byte{0x12}},
	{Tag: smpp.TagDisplayTime, Value: []byte{1}},
	{Tag: smpp.TagSmsSignal, Value: []byte{0x01, 0x02}},
	{Tag: smpp.TagMSValidity, Value: []byte{3}},
	{Tag: smpp.TagAlertOnMessageDelivery, Value: []byte{}},
	{Tag: smpp.TagITSReplyType, Value: []byte{4}},
	{Tag: smpp.TagITSSessionInfo, Value: []byte{9, 0x11}},
}

// TLVs returns every TLV of SMPP 3.4 with a valid value.
func TLVs() []smpp.TLV { return append([]smpp.TLV(nil), tlvs...) }

// TLV returns one of them.
func TLV(tag smpp.Tag) smpp.TLV {
	for _, t := range tlvs {
		if t.Tag == tag {
			return t
		}
	}
	panic("no sample of TLV " + tag.String())
}
