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
	event := provider.RawEvent{Payload: raw, Peer: s.Peer(), Bind: p.cfg.Name}
	switch pdu.Command {
	case wire.CmdDeliverSM, wire.CmdDataSM:
		event.Parsed = parse(pdu, err)
		p.taker.put(arrival{event, func(status wire.Status) { s.Answer(pdu, status) }})
	case wire.CmdAlertNotification:
		event.Parsed = provider.Parsed{Kind: provider.KindOther, Parser: inboundParser}
		p.taker.put(arrival{event, func(wire.Status) {}})
	case wire.CmdOutbind: // this side binds by itself
	default:
		s.Answer(pdu, wire.StatusInvBindStatus)
	}
}

// Parse reads a stored PDU again, as it is read when it arrives.
func Parse(raw []byte) provider.Parsed {
	pdu, err := wire.Decode(raw)
	return parse(&pdu, err)
}

func parse(pdu *wire.PDU, err error) provider.Parsed {
	out := provider.Parsed{Parser: inboundParser, Extra: map[string]string{}}
	if err != nil {
		out.Kind, out.Problem = provider.KindUnreadable, clean(err.Error())
		return out
	}
	out.Warnings = pdu.Warnings
	esm := addresses(&out, pdu.Body)
	octets := text(&out, pdu, esm)
	switch kindOf(pdu, esm) {
	case provider.KindReceipt:
		readReceipt(&out, pdu, octets)
	case provider.KindIntermediate:
		readReceipt(&out, pdu, octets)
		if out.Kind == provider.KindReceipt {
			out.Kind = provider.KindIntermediate
		}
	case provider.KindOther:
		out.Kind = provider.KindOther
		out.Extra["esm_class"] = strconv.Itoa(int(esm))
	default:
		readInbound(&out, pdu, octets)
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

// text returns the octets of the text, without a user data header.
func text(out *provider.Parsed, pdu *wire.PDU, esm uint8) []byte {
	octets := pdu.Octets()
	if payload, ok := pdu.TLV(wire.TagMessagePayload); ok && string(payload) != string(octets) {
		out.Warnings = append(out.Warnings, "both short_message and message_payload, the first was read")
	}
	if esm&wire.ESMUDHI == 0 {
		return octets
	}
	header, rest, ok := wire.SplitUDH(octets)
	if !ok {
		out.Warnings = append(out.Warnings, "user data header without its length")
		return octets
	}
	out.Extra["udh"] = hex.EncodeToString(header)
	switch udh, err := gsm.ParseUDH(header); {
	case err != nil:
		out.Warnings = append(out.Warnings, "user data header is malformed")
	case udh.OtherLanguage():
		out.Warnings = append(out.Warnings, "the text is in a national language table, which is not read")
	}
	return rest
}

// kindOf looks at the type bits alone: UDHI may be set beside them. A centre that sets none is believed to
// send a receipt only where both TLVs of one are there; a text that looks like one may be a person's.
func kindOf(pdu *wire.PDU, esm uint8) provider.EventKind {
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

// receiptText reads a receipt's octets. Its fields are ASCII whatever data_coding says; only UCS-2 changes
// them. Reading them as the default alphabet would turn the underscore of an id into another character.
func receiptText(coding int, octets []byte) string {
	if coding == int(gsm.CodingUCS2) {
		s, _ := gsm.Decode(gsm.CodingUCS2, octets)
		return s
	}
	return string(octets)
}

// readReceipt reads a receipt from its TLVs and its text. The id of the TLV is preferred, the status of the
// text, where it is one that is documented.
func readReceipt(out *provider.Parsed, pdu *wire.PDU, octets []byte) {
	out.Kind, out.Parser = provider.KindReceipt, receipt.Parser
	if ref, ok := pdu.TLV(wire.TagUserMessageReference); ok && len(ref) == 2 {
		out.Reference, out.HasReference = uint16(ref[0])<<8|uint16(ref[1]), true
	}
	t := receipt.ParseText(receiptText(out.DataCoding, octets))
	receiptFields(out, t)
	receiptID(out, pdu, t.ID)
	networkError(out, pdu)
	state, known := receiptState(out, pdu, t.Stat)
	switch {
	case len(out.ExternalID) == 0 && !out.HasReference:
		unreadable(out, t.Problem, "no message id")
	case out.Problem != "":
		unreadable(out, out.Problem, "")
	case !known && out.Status == "":
		unreadable(out, t.Problem, "no status")
	case state == receipt.EnRoute || state == receipt.Accepted:
		out.Kind = provider.KindIntermediate
	}
}

func unreadable(out *provider.Parsed, problem, otherwise string) {
	if problem == "" {
		problem = otherwise
	}
	out.Kind, out.Problem = provider.KindUnreadable, problem
}

func receiptFields(out *provider.Parsed, t receipt.Text) {
	out.SubmitDate, out.DoneDate, out.ErrorCode = clean(t.SubmitDate), clean(t.DoneDate), clean(t.Err)
	for name, value := range map[string]string{"sub": t.Sub, "dlvrd": t.Dlvrd} {
		if value != "" {
			out.Extra[name] = clean(value)
		}
	}
}

func receiptID(out *provider.Parsed, pdu *wire.PDU, fromText string) {
	id, _ := pdu.TLVString(wire.TagReceiptedMessageID)
	switch {
	case id == "":
		id = fromText
	case fromText != "" && fromText != id:
		out.Extra["text_id"] = clean(fromText) // another base, or cut to ten characters
	}
	if id != "" {
		out.ExternalID = []byte(id)
	}
}

// networkError reads network_error_code: a network type and a code, or the three digits that some centres put
// there.
func networkError(out *provider.Parsed, pdu *wire.PDU) {
	v, ok := pdu.TLV(wire.TagNetworkErrorCode)
	if !ok || len(v) != 3 {
		return
	}
	code := string(v)
	if strings.Trim(code, "0123456789") != "" {
		code = strconv.Itoa(int(v[0])) + "/" + strconv.Itoa(int(v[1])<<8|int(v[2]))
	}
	out.Extra["network_error_code"] = code
	setDefault(&out.ErrorCode, code)
}

// receiptState fills in the status as received and the state that it is documented to mean.
func receiptState(out *provider.Parsed, pdu *wire.PDU, stat string) (receipt.State, bool) {
	out.Status = clean(stat)
	state, _, known := receipt.StateOfSMPP(stat)
	if n, ok := pdu.TLVUint(wire.TagMessageState); ok && n <= 0xFF {
		out.Extra["message_state"] = strconv.FormatUint(uint64(n), 10)
		byNumber, final, listed := receipt.StateOfMessageState(uint8(n))
		switch {
		case known && listed && byNumber != state && final && state.Final():
			out.Problem = "stat and message_state name two different final states"
			return "", false
		case known && listed && byNumber != state:
			out.Warnings = append(out.Warnings, "message_state and stat differ, stat was read")
		case !known:
			state, known = byNumber, listed
		}
		setDefault(&out.Status, "message_state "+strconv.FormatUint(uint64(n), 10))
	}
	if known {
		out.State = string(state)
	} else if out.Status != "" {
		out.Warnings = append(out.Warnings, "the status is not in the table")
	}
	return state, known
}
