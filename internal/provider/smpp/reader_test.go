package smpp_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/einmal/einmal/internal/provider/smpp"
	wire "github.com/einmal/einmal/internal/smpp"
)

const receiptFields = "id:77 sub:001 dlvrd:001 submit date:2601020304 done date:2601020305 stat:DELIVRD err:000 "

func receiptPDU(t *testing.T, m *wire.Message, tlvs ...wire.TLV) []byte {
	t.Helper()
	m.ESMClass |= wire.ESMReceipt
	pdu := wire.PDU{Command: wire.CmdDeliverSM, Sequence: 1, Body: m, TLVs: tlvs}
	raw, err := pdu.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func ucs2(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u>>8), byte(u))
	}
	return b
}

// A receipt of a code keeps everything but the code, wherever the text stands.
//
// covers: D15
func TestRedact(t *testing.T) {
	const code = "Your code is 482913"
	udh := "\x05\x00\x03\x01\x01\x01"
	for name, raw := range map[string][]byte{
		"key":         receiptPDU(t, &wire.Message{ShortMessage: []byte(receiptFields + "Text:" + code)}),
		"without key": receiptPDU(t, &wire.Message{ShortMessage: []byte(receiptFields + code)}),
		"header":      receiptPDU(t, &wire.Message{ESMClass: wire.ESMUDHI, ShortMessage: []byte(udh + receiptFields + "text:" + code)}),
		"payload":     receiptPDU(t, &wire.Message{}, wire.TLV{Tag: wire.TagMessagePayload, Value: []byte(receiptFields + "text:" + code)}),
		"UCS-2":       receiptPDU(t, &wire.Message{DataCoding: 8, ShortMessage: ucs2("id:7 stat:DELIVRD err:000 text:" + code)}),
		"cut PDU":     receiptPDU(t, &wire.Message{ShortMessage: []byte(receiptFields + "text:" + code)})[:120],
	} {
		got, quoted := smpp.Reader{}.Redact(raw)
		if !quoted || bytes.Contains(got, []byte("4829")) || bytes.Contains(got, ucs2("4829")) || len(got) != len(raw) {
			t.Errorf("%s: the code is still there, or the PDU has another length", name)
		}
		if name == "cut PDU" {
			continue
		}
		before, after := smpp.Parse(raw), smpp.Parse(got)
		if after.Kind != before.Kind || string(after.ExternalID) != string(before.ExternalID) || after.Status != before.Status {
			t.Errorf("%s: the masked receipt reads otherwise: %+v", name, after)
		}
	}
}

func TestRedactNothingQuoted(t *testing.T) {
	raw := receiptPDU(t, &wire.Message{ShortMessage: []byte(strings.TrimSpace(receiptFields))})
	if got, quoted := (smpp.Reader{}).Redact(raw); quoted || !bytes.Equal(got, raw) {
		t.Error("a receipt that quotes nothing was changed")
	}
}
