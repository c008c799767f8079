package smpp_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/smpp"
	"github.com/einmal/einmal/internal/smpp/smpptest"
)

// TestVectors decodes PDUs that other implementations decode alike, and writes them again octet for octet.
func TestVectors(t *testing.T) {
	for id, v := range smpptest.Vectors(t) {
		if v.Malformed {
			continue
		}
		t.Run(id, func(t *testing.T) {
			raw := v.Raw(t)
			p, err := smpp.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Warnings) > 0 {
				t.Errorf("warnings %q", p.Warnings)
			}
			checkHeader(t, v, p)
			checkFields(t, v.Fields, smpptest.Fields(p.Body))
			for i, want := range v.TLVs {
				if got := p.TLVs[i]; got.Tag.String() != want.Name || hex.EncodeToString(got.Value) != want.Value {
					t.Errorf("TLV %d: %v %x, want %v %v", i, got.Tag, got.Value, want.Name, want.Value)
				}
			}
			if len(p.TLVs) != len(v.TLVs) {
				t.Errorf("%d TLVs, want %d", len(p.TLVs), len(v.TLVs))
			}
			again, err := p.Append(nil)
			if err != nil || !bytes.Equal(again, raw) {
				t.Errorf("written again: %x, %v; want %x", again, err, raw)
			}
		})
	}
}

func checkHeader(t *testing.T, v smpptest.Vector, p smpp.PDU) {
	t.Helper()
	id, err1 := strconv.ParseUint(v.CommandID, 0, 32)
	status, err2 := strconv.ParseUint(v.Status, 0, 32)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if p.Command != smpp.CommandID(id) || p.Command.String() != v.Command || p.Status != smpp.Status(status) || p.Sequence != v.Sequence {
		t.Errorf("header %v %v %v %v", p.Command, uint32(p.Command), p.Status, p.Sequence)
	}
}

func checkFields(t *testing.T, want, got map[string]any) {
	t.Helper()
	for name, w := range want {
		if name == "text" || name == "udh_hex" || name == "text_hex" {
			continue // a reading of short_message, not a field
		}
		if fmt.Sprint(got[name]) != fmt.Sprint(w) {
			t.Errorf("%s: %v, want %v", name, got[name], w)
		}
	}
}

// TestStrayNUL is case C17: a NUL after short_message, alone and before a TLV.
//
// covers: C17
func TestStrayNUL(t *testing.T) {
	const alone = "0000003d00000005000000000000000100010131323032353535303134330001013132303235353530313030000000000000000000000548656c6c6f00"
	for _, raw := range []string{alone, "00000042" + alone[8:] + "0427000102"} {
		p, err := smpp.Decode(smpptest.Unhex(t, raw))
		if err != nil || string(p.Octets()) != "Hello" || !reflect.DeepEqual(p.Warnings, []string{"trailing bytes"}) {
			t.Errorf("%q, warnings %q, error %v", p.Octets(), p.Warnings, err)
		}
		if state, ok := p.TLVUint(smpp.TagMessageState); len(raw) > len(alone) && (!ok || state != 2) {
			t.Errorf("message_state after the stray NUL: %d, %v", state, ok)
		}
	}
}

// TestTruncated cuts a PDU at every octet: a fixed field is never read past the end, and the header stays
// readable so that the peer can be answered.
func TestTruncated(t *testing.T) {
	raw := smpptest.Vectors(t)["submit_sm_gsm7"].Raw(t)
	const fixed = 93 - 26 // before sm_length
	for n := smpp.HeaderLen; n < len(raw); n++ {
		cut := bytes.Clone(raw[:n])
		cut[3] = byte(n)
		p, err := smpp.Decode(cut)
		if p.Sequence != 4 {
			t.Fatalf("%d octets: header lost", n)
		}
		if n <= fixed && !errors.Is(err, smpp.ErrTruncated) {
			t.Errorf("%d octets: %v, want ErrTruncated", n, err)
		}
		if n > fixed && (err != nil || len(p.Warnings) == 0) {
			t.Errorf("%d octets: error %v, warnings %q", n, err, p.Warnings)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	long := string(bytes.Repeat([]byte("1"), 300))
	for name, p := range map[string]smpp.PDU{
		"long address": {Command: smpp.CmdSubmitSM, Body: &smpp.Message{Dest: smpp.Address{Addr: long}}},
		"NUL inside":   {Command: smpp.CmdSubmitSM, Body: &smpp.Message{Dest: smpp.Address{Addr: "1\x002"}}},
		"long message": {Command: smpp.CmdSubmitSM, Body: &smpp.Message{ShortMessage: []byte(long)}},
		"short TLV":    {Command: smpp.CmdDataSM, Body: &smpp.Data{}, TLVs: []smpp.TLV{{Tag: smpp.TagMessageState}}},
		"destinations": {Command: smpp.CmdSubmitMulti, Body: &smpp.SubmitMulti{Dests: make([]smpp.Recipient, 255)}},
		"long TLV":     {Command: smpp.CmdDataSM, Body: &smpp.Data{}, TLVs: []smpp.TLV{{Tag: smpp.TagMessagePayload, Value: make([]byte, 1<<16)}}},
	} {
		dst := []byte("before")
		got, err := p.Append(dst)
		var field *smpp.FieldError
		if !errors.As(err, &field) || string(got) != "before" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && bytes.Contains([]byte(err.Error()), []byte("111")) {
			t.Errorf("%s: the error has the value", name)
		}
	}
}

// TestSamples: what is written is read again as it was, and with every field a value of its own no two fields can
// have changed places without a vector noticing.
func TestSamples(t *testing.T) {
	for _, s := range smpptest.Samples() {
		raw, err := s.PDU.Append(nil)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		got, err := smpp.Decode(raw)
		if err != nil || len(got.Warnings) != 0 || !reflect.DeepEqual(got, s.PDU) {
			t.Errorf("%s: read again as %+v, %v; want %+v", s.Name, got, err, s.PDU)
		}
	}
}

// TestSubmitMultiOnTheWire is section 4.5.1, octet for octet.
func TestSubmitMultiOnTheWire(t *testing.T) {
	p := smpp.PDU{Command: smpp.CmdSubmitMulti, Sequence: 9, Body: &smpp.SubmitMulti{
		Message: smpp.Message{Source: smpp.Address{TON: 5, Addr: "S"}, RegisteredDelivery: 1, ShortMessage: []byte("hi")},
		Dests:   []smpp.Recipient{{Address: smpp.Address{TON: 1, NPI: 1, Addr: "49"}}, {List: "all"}},
	}}
	const want = "0000002d" + "00000021" + "00000000" + "00000009" +
		"00" + "0500" + "5300" + "02" + "01" + "0101" + "343900" + "02" + "616c6c00" +
		"000000" + "00" + "00" + "01" + "00" + "00" + "00" + "02" + "6869"
	if raw, err := p.Append(nil); err != nil || hex.EncodeToString(raw) != want {
		t.Errorf("%x, %v; want %s", raw, err, want)
	}
	resp := smpp.PDU{Command: smpp.CmdSubmitMultiResp, Sequence: 9, Body: &smpp.SubmitMultiResp{ID: "7",
		Unsuccessful: []smpp.Unsuccessful{{Address: smpp.Address{TON: 1, NPI: 1, Addr: "49"}, Status: smpp.StatusInvDestAddr}}}}
	const wantResp = "0000001c" + "80000021" + "00000000" + "00000009" + "3700" + "01" + "0101" + "343900" + "0000000b"
	if raw, err := resp.Append(nil); err != nil || hex.EncodeToString(raw) != wantResp {
		t.Errorf("%x, %v; want %s", raw, err, wantResp)
	}
}

// TestDestFlag: behind a destination of an unknown kind nothing can be read.
func TestDestFlag(t *testing.T) {
	const head = "000000210000000000000009" + "00" + "0500" + "5300" + "01"
	if _, err := smpp.Decode(smpptest.Unhex(t, "00000017"+head+"03")); !errors.Is(err, smpp.ErrDestFlag) {
		t.Errorf("flag 3: %v", err)
	}
	if _, err := smpp.Decode(smpptest.Unhex(t, "00000016"+head)); !errors.Is(err, smpp.ErrTruncated) {
		t.Errorf("no flag: %v", err)
	}
}

// TestTLVLengths: a value of another length than the specification has is kept, with a warning; not many of those.
func TestTLVLengths(t *testing.T) {
	const head = "000001030000000000000001" + "00" + "000000" + "000000" + "00" + "00" + "00"
	p, err := smpp.Decode(smpptest.Unhex(t, "0000001f"+head+"0204"+"0001"+"07"))
	if v, ok := p.TLV(smpp.TagUserMessageReference); err != nil || !ok || len(v) != 1 ||
		!reflect.DeepEqual(p.Warnings, []string{"user_message_reference has 1 octets, not 2"}) {
		t.Errorf("%+v, %v", p, err)
	}
	many := smpptest.Unhex(t, "0001001a"+head+strings.Repeat("02040000", 1<<14))
	if p, err = smpp.Decode(many); err != nil || len(p.TLVs) != 1<<14 || len(p.Warnings) != 10 {
		t.Errorf("%d TLVs, %d warnings, %v", len(p.TLVs), len(p.Warnings), err)
	}
}

func TestReadFrame(t *testing.T) {
	raw := smpptest.Vectors(t)["enquire_link"].Raw(t)
	frame := func(b []byte) ([]byte, error) { return smpp.ReadFrame(bufio.NewReader(bytes.NewReader(b))) }
	if got, err := frame(append(bytes.Clone(raw), 1)); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("%x, %v", got, err)
	}
	for want, b := range map[error][]byte{
		io.EOF:              {},
		io.ErrUnexpectedEOF: raw[:10],
		smpp.ErrLength:      {0, 0, 0, 15, 0},
	} {
		if _, err := frame(b); !errors.Is(err, want) {
			t.Errorf("%x: %v, want %v", b, err, want)
		}
	}
	if _, err := frame([]byte{0, 0}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("two octets: %v", err)
	}
	if _, err := frame([]byte{0x7f, 0xff, 0xff, 0xff}); !errors.Is(err, smpp.ErrLength) {
		t.Errorf("2 GiB: %v", err)
	}
}

func BenchmarkAppendSubmit(b *testing.B) {
	p, _ := smpp.Decode(smpptest.Vectors(b)["submit_sm_gsm7"].Raw(b))
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = p.Append(buf[:0])
	}
}

func BenchmarkDecodeSubmit(b *testing.B) {
	raw := smpptest.Vectors(b)["submit_sm_gsm7"].Raw(b)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = smpp.Decode(raw)
	}
}
