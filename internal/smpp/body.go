package smpp

// Body is the mandatory part of a PDU after its header.
type Body interface{ layout(*fields) }

// Address is a TON, an NPI and digits or letters (sections 5.2.5 to 5.2.9).
type Address struct {
	TON  uint8
	NPI  uint8
	Addr string
}

func (a *Address) layout(f *fields, name string, size int) {
	f.octet(&a.TON)
	f.octet(&a.NPI)
	f.cstring(name, &a.Addr, size)
}

// Bind is the body of bind_receiver, bind_transmitter and bind_transceiver (section 4.1).
type Bind struct {
	SystemID         string
	Password         string
	SystemType       string
	InterfaceVersion uint8
	AddrTON          uint8
	AddrNPI          uint8
	AddressRange     string
}

func (b *Bind) layout(f *fields) {
	f.cstring("system_id", &b.SystemID, 16)
	f.cstring("password", &b.Password, 9)
	f.cstring("system_type", &b.SystemType, 13)
	f.octet(&b.InterfaceVersion)
	f.octet(&b.AddrTON)
	f.octet(&b.AddrNPI)
	f.cstring("address_range", &b.AddressRange, 41)
}

// BindResp is the body of an answer to a bind.
type BindResp struct{ SystemID string }

func (b *BindResp) layout(f *fields) { f.cstring("system_id", &b.SystemID, 16) }

// Outbind is the body of outbind (section 4.1.7).
type Outbind struct{ SystemID, Password string }

func (b *Outbind) layout(f *fields) {
	f.cstring("system_id", &b.SystemID, 16)
	f.cstring("password", &b.Password, 9)
}

// Message is the body of submit_sm and deliver_sm (sections 4.4 and 4.6). Times are in the specification's
// own form, see RelativeTime.
type Message struct {
	ServiceType          string
	Source               Address
	Dest                 Address
	ESMClass             uint8
	ProtocolID           uint8
	PriorityFlag         uint8
	ScheduleDeliveryTime string
	ValidityPeriod       string
	RegisteredDelivery   uint8
	ReplaceIfPresent     uint8
	DataCoding           uint8
	DefaultMsgID         uint8
	ShortMessage         []byte
}

func (b *Message) layout(f *fields) {
	f.cstring("service_type", &b.ServiceType, 6)
	b.Source.layout(f, "source_addr", 21)
	b.Dest.layout(f, "destination_addr", 21)
	b.content(f)
}

// content is what follows the destination, in submit_multi too.
func (b *Message) content(f *fields) {
	f.octet(&b.ESMClass)
	f.octet(&b.ProtocolID)
	f.octet(&b.PriorityFlag)
	f.cstring("schedule_delivery_time", &b.ScheduleDeliveryTime, 17)
	f.cstring("validity_period", &b.ValidityPeriod, 17)
	f.octet(&b.RegisteredDelivery)
	f.octet(&b.ReplaceIfPresent)
	f.octet(&b.DataCoding)
	f.octet(&b.DefaultMsgID)
	f.shortMessage(&b.ShortMessage)
}

// MessageID is the body of the answers to submit_sm, data_sm and deliver_sm; in the last it is empty.
type MessageID struct{ ID string }

func (b *MessageID) layout(f *fields) { f.cstring("message_id", &b.ID, 65) }

// Data is the body of data_sm (section 4.7); the text is in the TLV message_payload.
type Data struct {
	ServiceType        string
	Source             Address
	Dest               Address
	ESMClass           uint8
	RegisteredDelivery uint8
	DataCoding         uint8
}

func (b *Data) layout(f *fields) {
	f.cstring("service_type", &b.ServiceType, 6)
	b.Source.layout(f, "source_addr", 65)
	b.Dest.layout(f, "destination_addr", 65)
	f.octet(&b.ESMClass)
	f.octet(&b.RegisteredDelivery)
	f.octet(&b.DataCoding)
}

// Query is the body of query_sm (section 4.8).
type Query struct {
	MessageID string
	Source    Address
}

func (b *Query) layout(f *fields) {
	f.cstring("message_id", &b.MessageID, 65)
	b.Source.layout(f, "source_addr", 21)
}

// QueryResp is the body of query_sm_resp.
type QueryResp struct {
	MessageID    string
	FinalDate    string
	MessageState uint8
	ErrorCode    uint8
}

func (b *QueryResp) layout(f *fields) {
	f.cstring("message_id", &b.MessageID, 65)
	f.cstring("final_date", &b.FinalDate, 17)
	f.octet(&b.MessageState)
	f.octet(&b.ErrorCode)
}

// Cancel is the body of cancel_sm (section 4.9).
type Cancel struct {
	ServiceType string
	MessageID   string
	Source      Address
	Dest        Address
}

func (b *Cancel) layout(f *fields) {
	f.cstring("service_type", &b.ServiceType, 6)
	f.cstring("message_id", &b.MessageID, 65)
	b.Source.layout(f, "source_addr", 21)
	b.Dest.layout(f, "destination_addr", 21)
}

// Replace is the body of replace_sm (section 4.10).
type Replace struct {
	MessageID            string
	Source               Address
	ScheduleDeliveryTime string
	ValidityPeriod       string
	RegisteredDelivery   uint8
	DefaultMsgID         uint8
	ShortMessage         []byte
}

func (b *Replace) layout(f *fields) {
	f.cstring("message_id", &b.MessageID, 65)
	b.Source.layout(f, "source_addr", 21)
	f.cstring("schedule_delivery_time", &b.ScheduleDeliveryTime, 17)
	f.cstring("validity_period", &b.ValidityPeriod, 17)
	f.octet(&b.RegisteredDelivery)
	f.octet(&b.DefaultMsgID)
	f.shortMessage(&b.ShortMessage)
}

// Alert is the body of alert_notification (section 4.12).
type Alert struct {
	Source Address
	ESME   Address
}

func (b *Alert) layout(f *fields) {
	b.Source.layout(f, "source_addr", 65)
	b.ESME.layout(f, "esme_addr", 65)
}

// newBody returns an empty body for a command: nil for one that has none. It is false for a command whose
// layout is not known here.
func newBody(c CommandID) (Body, bool) {
	switch c {
	case CmdBindReceiver, CmdBindTransmitter, CmdBindTransceiver:
		return &Bind{}, true
	case CmdBindReceiverResp, CmdBindTransmitterResp, CmdBindTransceiverResp:
		return &BindResp{}, true
	case CmdSubmitSM, CmdDeliverSM:
		return &Message{}, true
	case CmdSubmitMulti:
		return &SubmitMulti{}, true
	case CmdSubmitMultiResp:
		return &SubmitMultiResp{}, true
	case CmdSubmitSMResp, CmdDeliverSMResp, CmdDataSMResp:
		return &MessageID{}, true
	case CmdDataSM:
		return &Data{}, true
	case CmdQuerySM:
		return &Query{}, true
	case CmdQuerySMResp:
		return &QueryResp{}, true
	case CmdCancelSM:
		return &Cancel{}, true
	case CmdReplaceSM:
		return &Replace{}, true
	case CmdOutbind:
		return &Outbind{}, true
	case CmdAlertNotification:
		return &Alert{}, true
	case CmdUnbind, CmdUnbindResp, CmdEnquireLink, CmdEnquireLinkResp, CmdGenericNack, CmdCancelSMResp,
		CmdReplaceSMResp:
		return nil, true
	}
	return nil, false
}
