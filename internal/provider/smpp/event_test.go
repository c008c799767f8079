package smpp_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/smpp"
	wire "github.com/einmal/einmal/internal/smpp"
)

func parseHex(t *testing.T, s string) provider.Parsed {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return smpp.Parse(b)
}

// deliver makes a deliver_sm from a handset's number.
func deliver(t *testing.T, esm, coding uint8, text string, tlvs ...wire.TLV) []byte {
	t.Helper()
	p := wire.PDU{Command: wire.CmdDeliverSM, Sequence: 1, TLVs: tlvs, Body: &wire.Message{
		Source:   wire.Address{TON: 1, NPI: 1, Addr: "12025550143"},
		Dest:     wire.Address{TON: 1, NPI: 1, Addr: "12025550100"},
		ESMClass: esm, DataCoding: coding, ShortMessage: []byte(text),
	}}
	b, err := p.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestC17OddEnds: a stray NUL and a TLV that is cut off do not prevent reading.
//
// covers: C17
func TestC17OddEnds(t *testing.T) {
	p := parseHex(t, "0000003d00000005000000000000000100010131323032353535303134330001013132303235353530313030000000000000000000000548656c6c6f00")
	if p.Kind != provider.KindInbound || p.Text != "Hello" || !slices.Equal(p.Warnings, []string{"trailing bytes"}) {
		t.Errorf("stray NUL: %+v", p)
	}
	p = parseHex(t, "0000009b00000005000000000000000100010131323032353535303134330001013132303235353530313030000400000000000000005e69643a3737207375623a30303120646c7672643a303031207375626d697420646174653a3236303130323033303420646f6e6520646174653a3236303130323033303520737461743a44454c49565244206572723a30303020746578743a001e00093737")
	if p.Kind != provider.KindReceipt || string(p.ExternalID) != "77" || p.State != "delivered" ||
		!slices.Equal(p.Warnings, []string{"bad TLV 001E dropped"}) {
		t.Errorf("truncated TLV: %+v", p)
	}
}

// TestC18UnknownStat: a word that is not documented is kept and means nothing.
//
// covers: R6, R7
func TestC18UnknownStat(t *testing.T) {
	text := func(stat string) string {
		return "id:1216080510463401720 sub:001 dlvrd:001 submit date:1608051046 done date:0000000000 " + stat + " err:002 Text:"
	}
	for _, c := range []struct {
		stat, status, state string
		kind                provider.EventKind
	}{
		{"stat:FAILED", "FAILED", "", provider.KindReceipt},
		{"stat:ACKED  ", "ACKED", "", provider.KindReceipt},
		{"stat:delivrd", "delivrd", "delivered", provider.KindReceipt},
		{"stat:UNDELIVERABLE", "UNDELIVERABLE", "undelivered", provider.KindReceipt},
		{"stat:ACCEPTD", "ACCEPTD", "accepted", provider.KindIntermediate},
		{"stat:", "", "", provider.KindUnreadable},
	} {
		p := smpp.Parse(deliver(t, 0x04, 0, text(c.stat)))
		if p.Kind != c.kind || p.Status != c.status || p.State != c.state || string(p.ExternalID) != "1216080510463401720" {
			t.Errorf("%s: %+v", c.stat, p)
		}
		if (p.Problem == "") == (c.kind == provider.KindUnreadable) {
			t.Errorf("%s: problem %q", c.stat, p.Problem)
		}
	}
}

// TestC24Kinds: what an event is, by the type bits of esm_class and the TLVs, never by its look.
//
// covers: C24, R6
func TestC24Kinds(t *testing.T) {
	a := parseHex(t, "0000009d00000005000000000000000100010131323032353535303134330001013132303235353530313030004400000000000000006605000384010169643a39303031207375623a30303120646c7672643a303031207375626d697420646174653a3236303130323033303420646f6e6520646174653a3236303130323033303520737461743a44454c49565244206572723a30303020746578743a")
	if a.Kind != provider.KindReceipt || string(a.ExternalID) != "9001" || a.State != "delivered" || a.Extra["udh"] != "050003840101" {
		t.Errorf("receipt with a user data header: %+v", a)
	}
	b := parseHex(t, "00000045000000050000000000000001000101313230323535353031343300010131323032353535303130300000000000000000000000001e000539303031000427000102")
	if b.Kind != provider.KindReceipt || string(b.ExternalID) != "9001" || b.State != "delivered" || b.Status == "" {
		t.Errorf("TLVs alone: %+v", b)
	}
	c := parseHex(t, "0000005700000005000000000000000100010131323032353535303134330001013132303235353530313030000000000000000000000448656c70001e0018313631385a2d30313032472d323333334d2d3235464a4600")
	if c.Kind != provider.KindInbound || c.Text != "Help" || c.EventID != "1618Z-0102G-2333M-25FJF" {
		t.Errorf("a text with an id: %+v", c)
	}
	text := "id:9001 stat:DELIVRD"
	for esm, want := range map[uint8]provider.EventKind{
		0x04: provider.KindReceipt, 0x20: provider.KindIntermediate, 0x08: provider.KindOther,
		0x10: provider.KindOther, 0x18: provider.KindOther, 0x00: provider.KindInbound, 0x84: provider.KindReceipt,
	} {
		if p := smpp.Parse(deliver(t, esm, 0, text)); p.Kind != want {
			t.Errorf("esm_class %#x: %s, want %s", esm, p.Kind, want)
		}
	}
}

func tlv(tag wire.Tag, v string) wire.TLV { return wire.TLV{Tag: tag, Value: []byte(v)} }

// TestReceiptTLVs: the ids, states and error codes of TLVs; network_error_code is the one of case C19.
//
// covers: C19
func TestReceiptTLVs(t *testing.T) {
	p := smpp.Parse(deliver(t, 0x04, 0, "id:2065473326 stat:DELIVRD err:000",
		tlv(wire.TagReceiptedMessageID, "7b1c9f2e\x00"), tlv(wire.TagUserMessageReference, "\x12\x67"),
		tlv(wire.TagNetworkErrorCode, "\x03\x08\x02"), tlv(wire.TagMessageState, "\x01")))
	if string(p.ExternalID) != "7b1c9f2e" || p.Extra["text_id"] != "2065473326" || !p.HasReference || p.Reference != 4711 {
		t.Errorf("ids: %+v", p)
	}
	if p.Extra["network_error_code"] != "3/2050" || p.ErrorCode != "000" {
		t.Errorf("error codes: %+v", p)
	}
	if p.State != "delivered" || len(p.Warnings) != 1 {
		t.Errorf("message_state against stat: %q, warnings %q", p.State, p.Warnings)
	}
	p = smpp.Parse(deliver(t, 0x04, 0, "", tlv(wire.TagUserMessageReference, "\x12\x67"), tlv(wire.TagMessageState, "\x05"),
		tlv(wire.TagNetworkErrorCode, "404")))
	if p.Kind != provider.KindReceipt || p.State != "undelivered" || p.ErrorCode != "404" || !p.HasReference {
		t.Errorf("a reference in place of an id: %+v", p)
	}
	if p := smpp.Parse(deliver(t, 0x04, 0, "", tlv(wire.TagMessageState, "\x05"))); p.Kind != provider.KindUnreadable {
		t.Errorf("no id: %+v", p)
	}
}

// TestIDsAsReceived: an id keeps its octets, whatever the data coding says of the text.
//
// covers: R4
func TestIDsAsReceived(t *testing.T) {
	if p := smpp.Parse(deliver(t, 0x04, 0, "id:00a_B@1 stat:DELIVRD")); string(p.ExternalID) != "00a_B@1" {
		t.Errorf("%q", p.ExternalID)
	}
	ucs2 := ""
	for _, r := range "id:7 stat:EXPIRED" {
		ucs2 += string(binary.BigEndian.AppendUint16(nil, uint16(r)))
	}
	if p := smpp.Parse(deliver(t, 0x04, 8, ucs2)); string(p.ExternalID) != "7" || p.State != "expired" {
		t.Errorf("%+v", p)
	}
}

func TestQuotedTextIsNotKept(t *testing.T) {
	p := smpp.Parse(deliver(t, 0x04, 0, "id:7 stat:DELIVRD err:000 text:Your code is 123456"))
	if s := fmt.Sprintf("%+v", p); strings.Contains(s, "123456") {
		t.Error("the reading repeats the text of the message")
	}
}

func TestInboundText(t *testing.T) {
	if p := smpp.Parse(deliver(t, 0, 8, "\x04\x1f\xd8\x3d\xde\x00")); p.Text != "П😀" {
		t.Errorf("%q", p.Text)
	}
	p := smpp.Parse(deliver(t, 0, 4, "\x00\xff"))
	if p.Kind != provider.KindInbound || p.Text != "" || p.Extra["octets"] != "00ff" || len(p.Warnings) != 1 {
		t.Errorf("binary: %+v", p)
	}
	p = smpp.Parse(deliver(t, 0x40, 0, "\x05\x00\x03\x01\x02\x01part"))
	if p.Text != "part" || p.Extra["udh"] != "050003010201" {
		t.Errorf("a part: %+v", p)
	}
	if p := smpp.Parse(deliver(t, 0x40, 0, "\xff")); len(p.Warnings) == 0 {
		t.Errorf("a header that leads out of the message: %+v", p)
	}
}

func TestUnreadable(t *testing.T) {
	p := parseHex(t, "000000120000000500000000000000010001")
	if p.Kind != provider.KindUnreadable || p.Problem == "" {
		t.Errorf("%+v", p)
	}
}

// FuzzParse: whatever a centre sends is read without a panic, and what is read can be kept as text.
func FuzzParse(f *testing.F) {
	f.Add(uint8(0x04), uint8(0), []byte("id:7 stat:DELIVRD"))
	f.Add(uint8(0x40), uint8(8), []byte{5, 0, 3, 1, 2, 1, 0})
	f.Fuzz(func(t *testing.T, esm, coding uint8, text []byte) {
		if len(text) > 254 {
			return
		}
		p := smpp.Parse(deliver(t, esm, coding, string(text)))
		for _, s := range []string{p.Text, p.Status, p.ErrorCode, p.EventID, p.DoneDate, p.SubmitDate, p.Problem} {
			if strings.ContainsRune(s, 0) || strings.ToValidUTF8(s, "") != s {
				t.Fatalf("cannot be kept: %q", s)
			}
		}
		if p.Kind == "" || (p.Kind == provider.KindUnreadable) != (p.Problem != "") {
			t.Fatalf("kind %q, problem %q", p.Kind, p.Problem)
		}
	})
}

// TestDataSM: a receipt may come as data_sm, with its text in message_payload.
func TestDataSM(t *testing.T) {
	p := wire.PDU{Command: wire.CmdDataSM, Sequence: 1, TLVs: []wire.TLV{tlv(wire.TagMessagePayload, "id:7 stat:UNDELIV err:12b")},
		Body: &wire.Data{ESMClass: 0x04, Source: wire.Address{TON: 1, NPI: 1, Addr: "12025550143"}}}
	b, err := p.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := smpp.Parse(b); got.Kind != provider.KindReceipt || string(got.ExternalID) != "7" || got.State != "undelivered" ||
		got.ErrorCode != "12b" || got.Source != "12025550143" || len(got.Warnings) != 0 {
		t.Errorf("%+v", got)
	}
}

// A receipt that names two final states says nothing: it moves no message and goes to a person.
//
// covers: R4, R6
func TestAReceiptThatContradictsItself(t *testing.T) {
	raw := receiptPDU(t, &wire.Message{ShortMessage: []byte("id:9 stat:UNDELIV err:000")},
		wire.TLV{Tag: wire.TagMessageState, Value: []byte{2}}, wire.TLV{Tag: wire.TagReceiptedMessageID, Value: []byte("9\x00")})
	got := smpp.Parse(raw)
	if got.Kind != provider.KindUnreadable || got.State != "" || got.Status != "UNDELIV" || string(got.ExternalID) != "9" || got.Problem == "" {
		t.Errorf("it was read as %+v", got)
	}
	// One that is not final yields to the one that is.
	raw = receiptPDU(t, &wire.Message{ShortMessage: []byte("id:9 stat:DELIVRD err:000")}, wire.TLV{Tag: wire.TagMessageState, Value: []byte{1}})
	if got := smpp.Parse(raw); got.Kind != provider.KindReceipt || got.State != "delivered" {
		t.Errorf("it was read as %+v", got)
	}
}

// What a connection declares of its receipts' words holds for it alone; what was received stays beside it.
//
// covers: R6, R7, R8, C18
func TestDeclaredMeanings(t *testing.T) {
	raw := deliver(t, 0x04, 0, "id:1216080510463401720 sub:001 dlvrd:001 submit date:1608051046 done date:0000000000 stat:FAILED err:002 Text:")
	declared := smpp.Reader{Receipts: receipt.Settings{
		States: map[string]receipt.State{"FAILED": receipt.Undelivered, "MESSAGE_STATE 9": receipt.Undelivered},
		Errors: map[string]string{"002": "call barred"}, Zone: time.UTC,
	}}
	p, plain := declared.Read(raw), smpp.Parse(raw)
	if p.Kind != provider.KindReceipt || p.Status != "FAILED" || p.State != "undelivered" || p.ErrorCode != "002" || p.ErrorMeaning != "call barred" {
		t.Errorf("declared: %+v", p)
	}
	if p.DoneDate != "0000000000" || !p.DoneAt.IsZero() || p.SubmittedAt.Format(time.RFC3339) != "2016-08-05T10:46:00Z" {
		t.Errorf("dates: %+v", p)
	}
	if plain.State != "" || plain.ErrorMeaning != "" || !plain.SubmittedAt.IsZero() || plain.Parser == p.Parser {
		t.Errorf("not declared: %+v", plain)
	}
	skipped := deliver(t, 0x04, 0, "", tlv(wire.TagReceiptedMessageID, "7\x00"), tlv(wire.TagMessageState, "\x09"))
	if got := declared.Read(skipped); got.State != "undelivered" || got.Status != "message_state 9" {
		t.Errorf("a number that is declared: %+v", got)
	}
	if got := smpp.Parse(skipped); got.State != "" || got.Kind != provider.KindReceipt {
		t.Errorf("a number that is not: %+v", got)
	}
}

// A receipt without the class of one is told by its text where the connection declares that receipts come so, and
// what has no id and status stays a person's message there, too.
//
// covers: R7, C24
func TestUnmarkedReceipts(t *testing.T) {
	unmarked := smpp.Reader{Receipts: receipt.Settings{Unmarked: true}}
	for text, want := range map[string]provider.EventKind{
		"id:9001 sub:001 dlvrd:001 stat:DELIVRD err:000 text:": provider.KindReceipt,
		"id:9001 stat:ENROUTE":                                 provider.KindIntermediate,
		"Your id: 9 is ready":                                  provider.KindInbound,
		"id:9001 thank you":                                    provider.KindInbound,
		"STOP":                                                 provider.KindInbound,
	} {
		raw := deliver(t, 0, 0, text)
		if got := unmarked.Read(raw); got.Kind != want {
			t.Errorf("%q is %s, want %s", text, got.Kind, want)
		}
		if got := smpp.Parse(raw); got.Kind != provider.KindInbound {
			t.Errorf("%q is %s where nothing is declared", text, got.Kind)
		}
	}
	if got := unmarked.Read(deliver(t, 0x08, 0, "id:9001 stat:DELIVRD")); got.Kind != provider.KindOther {
		t.Errorf("a handset's acknowledgement is %s", got.Kind)
	}
}
