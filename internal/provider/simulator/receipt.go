package simulator

import (
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	wire "github.com/einmal/einmal/internal/smpp"
)

// quoted is how many characters of a text a receipt repeats (appendix B).
const quoted = 20

// taken is an accepted message, for its receipts.
type taken struct {
	id      string
	at      time.Time
	message *wire.Message
	text    string
	ref     *uint16 // to be echoed, or nil
}

// wants reports whether the submission asked for a receipt of this kind (section 5.2.17).
func (m *taken) wants(r report) bool {
	switch m.message.RegisteredDelivery & wire.ReceiptMask {
	case wire.ReceiptAlways:
		return true
	case wire.ReceiptOnFailure:
		return r.stat != delivered.stat
	case wire.ReceiptOnSuccess:
		return r.stat == delivered.stat
	}
	return false
}

// receipt makes the deliver_sm of a report: addresses swapped, the text of appendix B, and the TLVs.
func (m *taken) receipt(r report, now time.Time) wire.PDU {
	pdu := wire.PDU{Command: wire.CmdDeliverSM, Body: &wire.Message{
		Source: m.message.Dest, Dest: m.message.Source, ESMClass: r.esm, ShortMessage: m.receiptText(r, now),
	}}
	if r.odd {
		return pdu
	}
	pdu.AddString(wire.TagReceiptedMessageID, m.id)
	pdu.AddOctet(wire.TagMessageState, r.state)
	if m.ref != nil {
		pdu.AddUint16(wire.TagUserMessageReference, *m.ref)
	}
	return pdu
}

func (m *taken) receiptText(r report, now time.Time) []byte {
	if r.odd {
		return []byte("DLR/2 msg=" + m.id + "; result=OK")
	}
	const date = "0601021504"
	count := 0
	if r.stat == delivered.stat {
		count = 1
	}
	head := fmt.Sprintf("id:%s sub:001 dlvrd:%03d submit date:%s done date:%s stat:%s err:%s text:",
		m.id, count, m.at.UTC().Format(date), now.UTC().Format(date), r.stat, r.err)
	return append([]byte(head), gsm.EncodeDefault(gsm.Prefix(m.text, quoted))...)
}

// textOf reads a message's text; empty where it is none.
func textOf(pdu *wire.PDU, m *wire.Message) string {
	octets := pdu.Octets()
	if m.ESMClass&wire.ESMUDHI != 0 {
		_, octets, _ = wire.SplitUDH(octets)
	}
	text, _ := gsm.Decode(m.DataCoding, octets)
	return text
}
