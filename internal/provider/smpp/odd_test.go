package smpp_test

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/smpp"
	wire "github.com/einmal/einmal/internal/smpp"
	"github.com/einmal/einmal/internal/smpp/smpptest"
)

// TestC17OverTheWire: what ends oddly is taken as it came and answered with 0, and the session stays bound.
//
// covers: C17, R1
func TestC17OverTheWire(t *testing.T) {
	c := newCentre(t)
	g := newGate()
	p := started(t, config(c.address()), g)
	c.bound()
	ready(t, p)
	for _, s := range []string{
		"0000003d00000005000000000000000100010131323032353535303134330001013132303235353530313030000000000000000000000548656c6c6f00",
		"0000009b00000005000000000000000100010131323032353535303134330001013132303235353530313030000400000000000000005e69643a3737207375623a30303120646c7672643a303031207375626d697420646174653a3236303130323033303420646f6e6520646174653a3236303130323033303520737461743a44454c49565244206572723a30303020746578743a001e00093737",
		smpptest.Vectors(t)["tlv_overrun"].Hex,
		smpptest.Vectors(t)["both_short_and_payload"].Hex,
	} {
		raw := smpptest.Unhex(t, s)
		if _, err := c.conn.Write(raw); err != nil {
			t.Fatal(err)
		}
		events := <-g.entered
		if len(events) != 1 || !bytes.Equal(events[0].Payload, raw) || events[0].Parsed.Kind == provider.KindUnreadable || len(events[0].Parsed.Warnings) == 0 {
			t.Errorf("%+v", events)
		}
		g.result <- nil
		if r := c.read(wire.CmdDeliverSMResp); r.Status != wire.StatusOK {
			t.Errorf("answered with %v", r.Status)
		}
	}
	if p.Free() == 0 || p.Status() != "bound" {
		t.Errorf("%s, free %d", p.Status(), p.Free())
	}
}

// TestC54Parts: a part's header is kept apart from its text, and a malformed one goes to a person; the text stays.
//
// covers: C54
func TestC54Parts(t *testing.T) {
	for _, part := range []string{
		"06080401020201|Hel", "06080401020202|lo", "050003000201|x", "050003000202|y",
		"050003070000|solo", "050003070203|solo2", "050003070200|solo3",
		"09000311020105041581|p1", "06080401020201|P", "06080402020202|Q",
		"0B05041581000000030A0201|m", "0B05041581000000030A0202|n", "050003080201|1", "050003080202|2",
	} {
		header, text, _ := strings.Cut(part, "|")
		p := smpp.Parse(deliver(t, wire.ESMUDHI, 0, string(smpptest.Unhex(t, header))+text))
		kind, problem := provider.KindInbound, ""
		if text == "p1" {
			kind, problem = provider.KindUnreadable, "user data header is malformed, the text is kept"
		}
		if p.Kind != kind || p.Problem != problem || p.Text != text || p.Extra["udh"] != strings.ToLower(header) || (len(p.Warnings) > 0) != (problem != "") {
			t.Errorf("%s: %+v", part, p)
		}
	}
	short := smpp.Parse(deliver(t, wire.ESMUDHI, 0, "\x09text"))
	if short.Kind != provider.KindUnreadable || !strings.HasSuffix(short.Text, "text") {
		t.Errorf("a header that is longer than all there is: %+v", short)
	}
	if receipt := smpp.Parse(deliver(t, wire.ESMUDHI|wire.ESMReceipt, 0, "\x02\x00\x09id:7 stat:DELIVRD err:000")); receipt.Kind != provider.KindReceipt || string(receipt.ExternalID) != "7" {
		t.Errorf("a receipt does not need its header: %+v", receipt)
	}
	turkish := smpp.Parse(deliver(t, wire.ESMUDHI, 0, "\x03\x24\x01\x01text"))
	if turkish.Text != "text" || len(turkish.Warnings) != 1 {
		t.Errorf("a language table that is not read: %+v", turkish)
	}
}

// TestVectorTexts: the texts of the vectors, as they are read and, where one part holds them, as they are written.
func TestVectorTexts(t *testing.T) {
	seen := 0
	for id, v := range smpptest.Vectors(t) {
		want, ok := v.Fields["text"].(string)
		if !ok {
			continue
		}
		seen++
		p, err := wire.Decode(v.Raw(t))
		if err != nil {
			t.Fatal(err)
		}
		header, octets := []byte(nil), p.Octets()
		var coding uint8
		switch b := p.Body.(type) {
		case *wire.Message:
			coding = b.DataCoding
			if b.ESMClass&wire.ESMUDHI != 0 {
				header, octets, _ = wire.SplitUDH(octets)
			}
		case *wire.Data:
			coding = b.DataCoding
		case *wire.Replace:
			octets = b.ShortMessage
		}
		if udh, _ := v.Fields["udh_hex"].(string); udh != hex.EncodeToString(header) {
			t.Errorf("%s: header %x, want %s", id, header, udh)
		}
		if got, ok := gsm.Decode(coding, octets); got != want || !ok {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
		m, err := gsm.Split(want, gsm.Reference8)
		if err != nil || m.DataCoding != coding || len(m.Parts) == 1 && !slices.Equal(m.Parts[0].Octets, octets) {
			t.Errorf("%s: written as %+v, %v", id, m, err)
		}
	}
	if seen != 13 {
		t.Errorf("%d vectors have a text", seen)
	}
}
