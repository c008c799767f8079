package smpp

import (
	"bytes"
	"slices"
	"unicode/utf16"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// Reader reads PDUs, as they arrive and again when they are stored. It implements provider.Reader.
type Reader struct {
	Receipts receipt.Settings // what the connection declares of its receipts
}

var _ provider.Reader = Reader{}

// Read implements provider.Reader.
func (r Reader) Read(payload []byte) provider.Parsed {
	pdu, err := wire.Decode(payload)
	return r.parse(&pdu, err)
}

// headerSize is a PDU's header, which never holds a text (section 3.2).
const headerSize = 16

// mask stands for an octet of a text that must not stay. It keeps every length in the PDU true.
const mask = '*'

// Redact implements provider.Reader. What cannot be read is masked from the end of its header on.
func (Reader) Redact(payload []byte) ([]byte, bool) {
	pdu, err := wire.Decode(payload)
	if err != nil {
		return masked(payload, min(headerSize, len(payload)), len(payload)), true
	}
	var scratch provider.Parsed
	octets := pdu.Octets()
	esm := addresses(&scratch, pdu.Body)
	text := octets
	if _, rest, ok := wire.SplitUDH(octets); ok && esm&wire.ESMUDHI != 0 {
		text = rest
	}
	own := text[fieldsEnd(scratch.DataCoding, text):]
	if len(own) == 0 {
		return payload, false
	}
	// The octets stand in short_message or in message_payload; in both, should a centre send both.
	out := payload
	for from := 0; ; {
		at := bytes.Index(out[from:], octets)
		if at < 0 {
			return out, true
		}
		end := from + at + len(octets)
		out = masked(out, end-len(own), end)
		from = end
	}
}

// fieldsEnd is where a receipt's own fields end and what the message's sender wrote begins.
func fieldsEnd(coding int, text []byte) int {
	s := receiptText(coding, text)
	t := receipt.ParseText(s)
	if coding == int(gsm.CodingUCS2) {
		return min(2*len(utf16.Encode([]rune(s[:t.End]))), len(text))
	}
	return t.End
}

func masked(payload []byte, from, to int) []byte {
	out := slices.Clone(payload)
	for i := from; i < to; i++ {
		out[i] = mask
	}
	return out
}
