package smpp

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// inboundParser is the name and version of the reading of everything but receipts.
const inboundParser = "smpp-inbound/1"

// handle serves a request of the message centre.
func (p *Provider) handle(s *wire.Session, pdu *wire.PDU, raw []byte, err error) {
	event := provider.RawEvent{Payload: raw, Framing: wire.HeaderLen, Peer: s.Peer(), Bind: p.cfg.Bind}
	switch pdu.Command {
	case wire.CmdDeliverSM, wire.CmdDataSM:
		event.Parsed = Reader{p.cfg.Receipts}.parse(pdu, err)
		p.taker.put(arrival{event, func(status wire.Status) { s.Answer(pdu, status) }})
	case wire.CmdAlertNotification:
		event.Parsed = provider.Parsed{Kind: provider.KindOther, Parser: inboundParser}
		p.taker.put(arrival{event, func(wire.Status) {}})
	case wire.CmdOutbind: // this side binds by itself
	default:
		s.Answer(pdu, wire.StatusInvBindStatus)
	}
}

// Parse reads a stored PDU of a connection that declares nothing of its receipts.
func Parse(raw []byte) provider.Parsed { return Reader{}.Read(raw) }

func (r Reader) parse(pdu *wire.PDU, err error) provider.Parsed {
	out := provider.Parsed{Parser: inboundParser, Extra: map[string]string{}}
	if err != nil {
		out.Kind, out.Problem = provider.KindUnreadable, clean(err.Error())
		return out
	}
	out.Warnings = pdu.Warnings
	esm := addresses(&out, pdu.Body)
	octets, broken := text(&out, pdu, esm)
	switch r.kindOf(pdu, esm, out.DataCoding, octets) {
	case provider.KindReceipt:
		r.readReceipt(&out, pdu, octets)
	case provider.KindIntermediate:
		r.readReceipt(&out, pdu, octets)
		if out.Kind == provider.KindReceipt {
			out.Kind = provider.KindIntermediate
		}
	case provider.KindOther:
		out.Kind = provider.KindOther
		out.Extra["esm_class"] = strconv.Itoa(int(esm))
	default:
		readInbound(&out, pdu, octets)
		if broken { // which part of which message it is cannot be told: a person sees it
			out.Kind, out.Problem = provider.KindUnreadable, brokenHeader+", the text is kept"
		}
	}
	return out
}

// addresses reads what deliver_sm and data_sm share, and returns esm_class.
func addresses(out *provider.Parsed, body wire.Body) uint8 {
	var (
		source, dest wire.Address
		esm, coding  uint8
	)
	switch b := body.(type) {
	case *wire.Message:
		source, dest, esm, coding = b.Source, b.Dest, b.ESMClass, b.DataCoding
	case *wire.Data:
		source, dest, esm, coding = b.Source, b.Dest, b.ESMClass, b.DataCoding
	}
	out.Source, out.SourceTON, out.SourceNPI = clean(source.Addr), int(source.TON), int(source.NPI)
	out.Dest, out.DestTON, out.DestNPI = clean(dest.Addr), int(dest.TON), int(dest.NPI)
	out.DataCoding = int(coding)
	return esm
}

const brokenHeader = "user data header is malformed"

// text returns the octets of the text, without a user data header, and whether that is broken. A receipt does not need
// it.
func text(out *provider.Parsed, pdu *wire.PDU, esm uint8) (octets []byte, broken bool) {
	octets = pdu.Octets()
	if payload, ok := pdu.TLV(wire.TagMessagePayload); ok && string(payload) != string(octets) {
		out.Warnings = append(out.Warnings, "both short_message and message_payload, the first was read")
	}
	if esm&wire.ESMUDHI == 0 {
		return octets, false
	}
	header, rest, ok := wire.SplitUDH(octets)
	if !ok {
		out.Warnings = append(out.Warnings, "user data header without its length")
		return octets, true
	}
	out.Extra["udh"] = hex.EncodeToString(header)
	switch udh, err := gsm.ParseUDH(header); {
	case err != nil:
		out.Warnings, broken = append(out.Warnings, brokenHeader), true
	case udh.OtherLanguage():
		out.Warnings = append(out.Warnings, "the text is in a national language table, which is not read")
	}
	return rest, broken
}

// kindOf looks at the type bits alone: UDHI may be set beside them. A centre that sets none is believed to
// send a receipt only where both TLVs of one are there; a text that looks like one may be a person's, and is one only
// where the connection declares that its receipts come so.
func (r Reader) kindOf(pdu *wire.PDU, esm uint8, coding int, octets []byte) provider.EventKind {
	switch esm & wire.ESMTypeMask {
	case wire.ESMReceipt:
		return provider.KindReceipt
	case wire.ESMIntermediate:
		return provider.KindIntermediate
	case 0:
		_, id := pdu.TLV(wire.TagReceiptedMessageID)
		if _, state := pdu.TLV(wire.TagMessageState); id && state {
			return provider.KindReceipt
		}
		if r.Receipts.Unmarked && receipt.ParseText(receiptText(coding, octets)).Problem == "" {
			return provider.KindReceipt
		}
		return provider.KindInbound
	}
	return provider.KindOther // acknowledgements of a handset's user or application, aborts, reserved types
}

// readInbound reads a message from a handset. What is no text stays in Extra as octets: nothing is guessed.
func readInbound(out *provider.Parsed, pdu *wire.PDU, octets []byte) {
	out.Kind = provider.KindInbound
	id, _ := pdu.TLVString(wire.TagReceiptedMessageID)
	out.EventID = clean(id)
	for _, tag := range []wire.Tag{wire.TagSARMsgRefNum, wire.TagSARTotalSegments, wire.TagSARSegmentSeqnum,
		wire.TagUserMessageReference, wire.TagSourcePort, wire.TagDestinationPort} {
		if v, ok := pdu.TLVUint(tag); ok {
			out.Extra[tag.String()] = strconv.FormatUint(uint64(v), 10)
		}
	}
	s, ok := gsm.Decode(uint8(out.DataCoding), octets) // set from an octet
	if !ok {
		out.Extra["octets"] = hex.EncodeToString(octets)
		out.Warnings = append(out.Warnings, "data coding "+strconv.Itoa(out.DataCoding)+" is not read as text")
	}
	out.Text = clean(s)
}

// clean makes what a peer sent fit to be kept as text: U+0000 and broken UTF-8 become U+FFFD.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}
