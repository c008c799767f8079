package smpptest

import "github.com/einmal/einmal/internal/smpp"

// Sample is a PDU with a name.
type Sample struct {
	Name string
	PDU  smpp.PDU
}

var (
	sender    = smpp.Address{TON: smpp.TONAlphanumeric, NPI: smpp.NPIUnknown, Addr: "EXAMPLE"}
	handset   = smpp.Address{TON: smpp.TONInternational, NPI: smpp.NPIISDN, Addr: "447700900123"}
	shortCode = smpp.Address{TON: smpp.TONNetwork, NPI: smpp.NPIUnknown, Addr: "2020"}
)

// Samples returns PDUs that hold, together, every command, every field with a value of its own, and every TLV.
// What they say is valid, so that no other implementation has a reason to complain.
func Samples() []Sample {
	var all []Sample
	for _, group := range [][]Sample{sessionSamples(), messageSamples(), operationSamples()} {
		all = append(all, group...)
	}
	for i := range all {
		all[i].PDU.Sequence = uint32(i + 1)
	}
	return all
}

func sample(name string, command smpp.CommandID, body smpp.Body, tlvs ...smpp.TLV) Sample {
	return Sample{name, smpp.PDU{Command: command, Body: body, TLVs: tlvs}}
}

func refusal(name string, command smpp.CommandID, status smpp.Status) Sample {
	return Sample{name, smpp.PDU{Command: command, Status: status}}
}

func bind() *smpp.Bind {
	return &smpp.Bind{SystemID: "esme01", Password: "secret08", SystemType: "VMS", InterfaceVersion: smpp.Version34,
		AddrTON: 1, AddrNPI: 1, AddressRange: "^4477"}
}

func sessionSamples() []Sample {
	version := TLV(smpp.TagSCInterfaceVersion)
	return []Sample{
		sample("bind_receiver", smpp.CmdBindReceiver, bind()),
		sample("bind_transmitter", smpp.CmdBindTransmitter, bind()),
		sample("bind_transceiver", smpp.CmdBindTransceiver, bind()),
		sample("bind_receiver_resp", smpp.CmdBindReceiverResp, &smpp.BindResp{SystemID: "SMSC"}, version),
		sample("bind_transmitter_resp", smpp.CmdBindTransmitterResp, &smpp.BindResp{SystemID: "SMSC"}, version),
		sample("bind_transceiver_resp", smpp.CmdBindTransceiverResp, &smpp.BindResp{SystemID: "SMSC"}, version),
		refusal("bind refused", smpp.CmdBindTransceiverResp, smpp.StatusInvPassword),
		sample("outbind", smpp.CmdOutbind, &smpp.Outbind{SystemID: "SMSC", Password: "secret"}),
		sample("unbind", smpp.CmdUnbind, nil),
		sample("unbind_resp", smpp.CmdUnbindResp, nil),
		sample("enquire_link", smpp.CmdEnquireLink, nil),
		sample("enquire_link_resp", smpp.CmdEnquireLinkResp, nil),
		refusal("generic_nack", smpp.CmdGenericNack, smpp.StatusInvCmdID),
	}
}

// full is a message with a value in every field.
func full() smpp.Message {
	return smpp.Message{
		ServiceType: "CMT", Source: sender, Dest: handset, ESMClass: 0x03, ProtocolID: 0x41, PriorityFlag: 2,
		ScheduleDeliveryTime: "261003174500300+", ValidityPeriod: "000001020304000R", RegisteredDelivery: 0x11,
		ReplaceIfPresent: 1, DataCoding: 0, DefaultMsgID: 7,
		ShortMessage: []byte("Hello \x1b(World\x1b) \x1be5 \x00home"),
	}
}

func plain(m smpp.Message) *smpp.Message {
	m.Source, m.Dest, m.RegisteredDelivery = sender, handset, smpp.ReceiptAlways
	return &m
}

func deliver(m smpp.Message) *smpp.Message {
	m.Source, m.Dest = handset, shortCode
	return &m
}

func messageSamples() []Sample {
	submitted, multi := full(), smpp.SubmitMulti{Message: full()}
	multi.Dest = smpp.Address{}
	multi.Dests = []smpp.Recipient{{Address: handset}, {List: "customers"}, {Address: shortCode}}
	return []Sample{
		sample("submit_sm", smpp.CmdSubmitSM, &submitted, TLV(smpp.TagUserMessageReference)),
		sample("submit_sm in UCS-2", smpp.CmdSubmitSM, plain(smpp.Message{DataCoding: 8, ShortMessage: ucs2})),
		sample("submit_sm, 8-bit reference", smpp.CmdSubmitSM, plain(smpp.Message{ESMClass: smpp.ESMUDHI,
			ShortMessage: []byte("\x05\x00\x03\xcc\x02\x01Part one of two, ")})),
		sample("submit_sm, 16-bit reference", smpp.CmdSubmitSM, plain(smpp.Message{ESMClass: smpp.ESMUDHI, DataCoding: 8,
			ShortMessage: append([]byte("\x06\x08\x04\x12\x34\x02\x02"), ucs2...)})),
		sample("submit_sm, sar", smpp.CmdSubmitSM, plain(smpp.Message{ShortMessage: []byte("Part one")}),
			TLV(smpp.TagSARMsgRefNum), TLV(smpp.TagSARTotalSegments), TLV(smpp.TagSARSegmentSeqnum)),
		sample("submit_sm, payload", smpp.CmdSubmitSM, plain(smpp.Message{DataCoding: 3}), TLV(smpp.TagMessagePayload)),
		sample("submit_sm_resp", smpp.CmdSubmitSMResp, &smpp.MessageID{ID: "7b1c9f2e"}),
		refusal("submit_sm_resp, throttled", smpp.CmdSubmitSMResp, smpp.StatusThrottled),
		sample("deliver_sm", smpp.CmdDeliverSM, deliver(smpp.Message{ServiceType: "WAP", ShortMessage: []byte("STOP")})),
		sample("deliver_sm, receipt", smpp.CmdDeliverSM, deliver(smpp.Message{ESMClass: smpp.ESMReceipt, ShortMessage: []byte(
			"id:2065473326 sub:001 dlvrd:001 submit date:2610031745 done date:2610031746 stat:DELIVRD err:000 text:Hello")}),
			TLV(smpp.TagReceiptedMessageID), TLV(smpp.TagMessageState), TLV(smpp.TagNetworkErrorCode)),
		sample("deliver_sm, intermediate", smpp.CmdDeliverSM, deliver(smpp.Message{ESMClass: smpp.ESMIntermediate,
			ShortMessage: []byte("id:2065473326 stat:ENROUTE err:000")})),
		sample("deliver_sm_resp", smpp.CmdDeliverSMResp, &smpp.MessageID{}),
		sample("data_sm", smpp.CmdDataSM, &smpp.Data{ServiceType: "CMT", Source: sender, Dest: handset, ESMClass: 0x01,
			RegisteredDelivery: smpp.ReceiptAlways, DataCoding: 3}, TLVs()...),
		sample("data_sm_resp", smpp.CmdDataSMResp, &smpp.MessageID{ID: "7b1c9f2f"}, TLV(smpp.TagDPFResult)),
		sample("submit_multi", smpp.CmdSubmitMulti, &multi, TLV(smpp.TagUserMessageReference)),
		sample("submit_multi_resp", smpp.CmdSubmitMultiResp, &smpp.SubmitMultiResp{ID: "7b1c9f30",
			Unsuccessful: []smpp.Unsuccessful{{Address: handset, Status: smpp.StatusInvDestAddr}, {Address: shortCode, Status: 0x33}}}),
		sample("submit_multi_resp, all taken", smpp.CmdSubmitMultiResp, &smpp.SubmitMultiResp{ID: "7b1c9f31"}),
	}
}

func operationSamples() []Sample {
	return []Sample{
		sample("query_sm", smpp.CmdQuerySM, &smpp.Query{MessageID: "7b1c9f2e", Source: sender}),
		sample("query_sm_resp", smpp.CmdQuerySMResp, &smpp.QueryResp{MessageID: "7b1c9f2e", FinalDate: "261003174600000+",
			MessageState: 5, ErrorCode: 12}),
		sample("query_sm_resp, not final", smpp.CmdQuerySMResp, &smpp.QueryResp{MessageID: "7b1c9f2e", MessageState: 1}),
		sample("cancel_sm", smpp.CmdCancelSM, &smpp.Cancel{ServiceType: "CMT", MessageID: "7b1c9f2e", Source: sender, Dest: handset}),
		sample("cancel_sm_resp", smpp.CmdCancelSMResp, nil),
		refusal("cancel_sm_resp, failed", smpp.CmdCancelSMResp, 0x11),
		sample("replace_sm", smpp.CmdReplaceSM, &smpp.Replace{MessageID: "7b1c9f2e", Source: sender,
			ScheduleDeliveryTime: "261003174500012-", ValidityPeriod: "000000003000000R", RegisteredDelivery: smpp.ReceiptOnFailure,
			DefaultMsgID: 7, ShortMessage: []byte("Another text")}),
		sample("replace_sm_resp", smpp.CmdReplaceSMResp, nil),
		sample("alert_notification", smpp.CmdAlertNotification, &smpp.Alert{Source: handset, ESME: shortCode},
			TLV(smpp.TagMSAvailabilityStatus)),
	}
}
