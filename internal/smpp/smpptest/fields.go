package smpptest

import (
	"encoding/hex"

	"github.com/einmal/einmal/internal/smpp"
)

// Fields returns a body's fields under the specification's names; short_message as hexadecimal digits. It is
// written apart from the codec's own layouts, which it serves to check.
func Fields(b smpp.Body) map[string]any {
	m := fields{}
	switch b := b.(type) {
	case *smpp.Bind:
		m["system_id"], m["password"], m["system_type"] = b.SystemID, b.Password, b.SystemType
		m["interface_version"], m["addr_ton"], m["addr_npi"] = b.InterfaceVersion, b.AddrTON, b.AddrNPI
		m["address_range"] = b.AddressRange
	case *smpp.BindResp:
		m["system_id"] = b.SystemID
	case *smpp.Outbind:
		m["system_id"], m["password"] = b.SystemID, b.Password
	case *smpp.MessageID:
		m["message_id"] = b.ID
	case *smpp.Message:
		m.address("dest_addr", "destination_addr", b.Dest)
		m.message(b)
	case *smpp.SubmitMulti:
		m.message(&b.Message)
		m["dest_address"] = recipients(b.Dests)
	case *smpp.SubmitMultiResp:
		m["message_id"], m["unsuccess_sme"] = b.ID, unsuccessful(b.Unsuccessful)
	case *smpp.Data:
		m.address("source_addr", "source_addr", b.Source)
		m.address("dest_addr", "destination_addr", b.Dest)
		m["service_type"], m["esm_class"] = b.ServiceType, b.ESMClass
		m["registered_delivery"], m["data_coding"] = b.RegisteredDelivery, b.DataCoding
	case *smpp.Query:
		m.address("source_addr", "source_addr", b.Source)
		m["message_id"] = b.MessageID
	case *smpp.QueryResp:
		m["message_id"], m["final_date"] = b.MessageID, b.FinalDate
		m["message_state"], m["error_code"] = b.MessageState, b.ErrorCode
	case *smpp.Cancel:
		m.address("source_addr", "source_addr", b.Source)
		m.address("dest_addr", "destination_addr", b.Dest)
		m["service_type"], m["message_id"] = b.ServiceType, b.MessageID
	case *smpp.Replace:
		m.address("source_addr", "source_addr", b.Source)
		m.octets(b.ShortMessage)
		m["message_id"], m["schedule_delivery_time"] = b.MessageID, b.ScheduleDeliveryTime
		m["validity_period"], m["registered_delivery"] = b.ValidityPeriod, b.RegisteredDelivery
		m["sm_default_msg_id"] = b.DefaultMsgID
	case *smpp.Alert:
		m.address("source_addr", "source_addr", b.Source)
		m.address("esme_addr", "esme_addr", b.ESME)
	}
	return m
}

type fields map[string]any

func (m fields) address(prefix, name string, a smpp.Address) {
	m[prefix+"_ton"], m[prefix+"_npi"], m[name] = a.TON, a.NPI, a.Addr
}

func (m fields) octets(b []byte) {
	m["sm_length"], m["short_message_hex"] = len(b), hex.EncodeToString(b)
}

func (m fields) message(b *smpp.Message) {
	m.address("source_addr", "source_addr", b.Source)
	m.octets(b.ShortMessage)
	m["service_type"], m["esm_class"], m["protocol_id"] = b.ServiceType, b.ESMClass, b.ProtocolID
	m["priority_flag"], m["schedule_delivery_time"] = b.PriorityFlag, b.ScheduleDeliveryTime
	m["validity_period"], m["registered_delivery"] = b.ValidityPeriod, b.RegisteredDelivery
	m["replace_if_present_flag"], m["data_coding"] = b.ReplaceIfPresent, b.DataCoding
	m["sm_default_msg_id"] = b.DefaultMsgID
}

func recipients(all []smpp.Recipient) []any {
	out := make([]any, len(all))
	for i, r := range all {
		m := fields{}
		if r.List != "" {
			m["dl_name"] = r.List
		} else {
			m.address("dest_addr", "destination_addr", r.Address)
		}
		out[i] = map[string]any(m)
	}
	return out
}

func unsuccessful(all []smpp.Unsuccessful) []any {
	out := make([]any, len(all))
	for i, u := range all {
		m := fields{"error_status_code": uint32(u.Status)}
		m.address("dest_addr", "destination_addr", u.Address)
		out[i] = map[string]any(m)
	}
	return out
}
