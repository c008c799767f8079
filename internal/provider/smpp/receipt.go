package smpp

import (
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

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
func (r Reader) readReceipt(out *provider.Parsed, pdu *wire.PDU, octets []byte) {
	out.Kind, out.Parser = provider.KindReceipt, r.Receipts.Version()
	if ref, ok := pdu.TLV(wire.TagUserMessageReference); ok && len(ref) == 2 {
		out.Reference, out.HasReference = uint16(ref[0])<<8|uint16(ref[1]), true
	}
	t := receipt.ParseText(receiptText(out.DataCoding, octets))
	receiptFields(out, t)
	receiptID(out, pdu, t.ID)
	networkError(out, pdu)
	r.declared(out)
	state, known := r.receiptState(out, pdu, t.Stat)
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

// declared adds what the connection declares of the dates and of the error code.
func (r Reader) declared(out *provider.Parsed) {
	out.SubmittedAt, _ = r.Receipts.At(out.SubmitDate)
	out.DoneAt, _ = r.Receipts.At(out.DoneDate)
	out.ErrorMeaning = r.Receipts.Errors[out.ErrorCode]
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

// receiptState fills in the status as received and the state that it is documented to mean. A number that a connection
// declares otherwise stands in its statuses as "message_state 9".
func (r Reader) receiptState(out *provider.Parsed, pdu *wire.PDU, stat string) (receipt.State, bool) {
	out.Status = clean(stat)
	state, _, known := r.Receipts.StateOf(stat)
	if n, ok := pdu.TLVUint(wire.TagMessageState); ok && n <= 0xFF {
		number := strconv.FormatUint(uint64(n), 10)
		out.Extra["message_state"] = number
		byNumber, final, listed := r.messageState(uint8(n), number)
		switch {
		case known && listed && byNumber != state && final && state.Final():
			out.Problem = "stat and message_state name two different final states"
			return "", false
		case known && listed && byNumber != state:
			out.Warnings = append(out.Warnings, "message_state and stat differ, stat was read")
		case !known:
			state, known = byNumber, listed
		}
		setDefault(&out.Status, numberedStatus+number)
	}
	if known {
		out.State = string(state)
	} else if out.Status != "" {
		out.Warnings = append(out.Warnings, "the status is not in the table")
	}
	return state, known
}

// numberedStatus comes before the number of a receipt whose status is the parameter message_state alone.
const numberedStatus = "message_state "

func (r Reader) messageState(n uint8, number string) (state receipt.State, final, known bool) {
	if state, known = r.Receipts.States[receipt.ParseStatus(numberedStatus+number)]; known {
		return state, state.Final(), true
	}
	return receipt.StateOfMessageState(n)
}
