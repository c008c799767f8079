package smpp

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// part is the second part of three of a message with the reference 0x1122.
func part(text string, by provider.Joining) provider.Submission {
	return provider.Submission{
		Source: "SHOP", Destination: "+12025550143", Text: text,
		Segment: provider.Segment{Number: 2, Total: 3, Reference: 0x1122, By: by},
	}
}

func built(t *testing.T, sub provider.Submission) (*wire.PDU, *wire.Message) {
	t.Helper()
	pdu, err := New(Config{}).build(sub)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := pdu.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := wire.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &back, back.Body.(*wire.Message)
}

// How a part of a long message leaves, by what joins it to the others.
func TestPartOnTheWire(t *testing.T) {
	for by, c := range map[provider.Joining]struct {
		octets string
		esm    uint8
		tlvs   map[wire.Tag]string
	}{
		provider.JoinedByUDH8:  {"050003220302" + "6869", wire.ESMUDHI, nil},
		provider.JoinedByUDH16: {"06080411220302" + "6869", wire.ESMUDHI, nil},
		provider.JoinedBySAR: {"6869", 0, map[wire.Tag]string{
			wire.TagSARMsgRefNum: "1122", wire.TagSARTotalSegments: "03", wire.TagSARSegmentSeqnum: "02"}},
	} {
		pdu, m := built(t, part("hi", by))
		if got := hex.EncodeToString(m.ShortMessage); got != c.octets || m.ESMClass != c.esm || m.RegisteredDelivery != 1 {
			t.Errorf("%s: %s, esm_class %#x, registered_delivery %d", by, got, m.ESMClass, m.RegisteredDelivery)
		}
		if len(pdu.TLVs) != len(c.tlvs) {
			t.Errorf("%s: %v", by, pdu.TLVs)
		}
		for tag, want := range c.tlvs {
			if v, _ := pdu.TLV(tag); hex.EncodeToString(v) != want {
				t.Errorf("%s: %s is %x, want %s", by, tag, v, want)
			}
		}
	}
}

// A text that the message centre cuts leaves as a whole.
func TestPayloadOnTheWire(t *testing.T) {
	sub := part(strings.Repeat("я", 500), provider.JoinedByPayload)
	sub.Segment.Number, sub.Segment.Total, sub.DataCoding, sub.NoReceipt = 1, 1, gsm.CodingUCS2, true
	pdu, m := built(t, sub)
	if v, _ := pdu.TLV(wire.TagMessagePayload); len(v) != 1000 || len(m.ShortMessage) != 0 || m.DataCoding != 8 || m.ESMClass != 0 || m.RegisteredDelivery != 0 {
		t.Errorf("%d octets of payload, %+v", len(v), m)
	}
}

// A part is in the coding of its message, whatever is in it, and is refused where it does not fit: nothing is cut here.
func TestPartsFit(t *testing.T) {
	for name, c := range map[string]struct {
		by     provider.Joining
		coding uint8
		most   int
		one    string
	}{
		"udh8, default":  {provider.JoinedByUDH8, gsm.CodingDefault, 153, "a"},
		"udh16, default": {provider.JoinedByUDH16, gsm.CodingDefault, 152, "a"},
		"sar, default":   {provider.JoinedBySAR, gsm.CodingDefault, 152, "a"},
		"udh8, UCS-2":    {provider.JoinedByUDH8, gsm.CodingUCS2, 67, "a"},
		"udh16, UCS-2":   {provider.JoinedByUDH16, gsm.CodingUCS2, 66, "я"},
	} {
		sub := part(strings.Repeat(c.one, c.most), c.by)
		sub.DataCoding = c.coding
		if _, m := built(t, sub); m.DataCoding != c.coding {
			t.Errorf("%s: data_coding %d", name, m.DataCoding)
		}
		sub.Text += c.one
		if _, err := New(Config{}).build(sub); err == nil {
			t.Errorf("%s: %d characters fit into a part", name, c.most+1)
		}
	}
	for name, sub := range map[string]provider.Submission{
		"nothing joins it":      part("hi", ""),
		"another coding":        part("я", provider.JoinedByUDH8),
		"too long for one part": {Source: "SHOP", Destination: "+12025550143", Text: strings.Repeat("a", 161)},
	} {
		if _, err := New(Config{}).build(sub); err == nil {
			t.Errorf("%s: it was built", name)
		}
	}
}
