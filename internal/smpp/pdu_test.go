package smpp

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"
)

type vector struct {
	ID        string         `json:"id"`
	Command   string         `json:"command"`
	Hex       string         `json:"hex"`
	CommandID string         `json:"command_id"`
	Status    string         `json:"command_status"`
	Sequence  uint32         `json:"sequence_number"`
	Fields    map[string]any `json:"fields"`
	TLVs      []struct {
		Tag   string `json:"tag"`
		Name  string `json:"name"`
		Value string `json:"value_hex"`
	} `json:"tlvs"`
	Malformed bool `json:"malformed"`
}

func vectors(t testing.TB) map[string]vector {
	t.Helper()
	file, err := os.Open("testdata/pdus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]vector{}
	for dec := json.NewDecoder(file); ; {
		var v vector
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[v.ID] = v
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read returns a body's fields under the specification's names, as the vectors have them.
func read(b Body) map[string]any {
	m := map[string]any{}
	addr := func(prefix, name string, a Address) {
		m[prefix+"_ton"], m[prefix+"_npi"], m[name] = a.TON, a.NPI, a.Addr
	}
	message := func(s []byte) { m["sm_length"], m["short_message_hex"] = len(s), hex.EncodeToString(s) }
	switch b := b.(type) {
	case *Bind:
		m["system_id"], m["password"], m["system_type"] = b.SystemID, b.Password, b.SystemType
		m["interface_version"], m["addr_ton"], m["addr_npi"] = b.InterfaceVersion, b.AddrTON, b.AddrNPI
		m["address_range"] = b.AddressRange
	case *BindResp:
		m["system_id"] = b.SystemID
	case *Outbind:
		m["system_id"], m["password"] = b.SystemID, b.Password
	case *MessageID:
		m["message_id"] = b.ID
	case *Message:
		addr("source_addr", "source_addr", b.Source)
		addr("dest_addr", "destination_addr", b.Dest)
		message(b.ShortMessage)
		m["service_type"], m["esm_class"], m["protocol_id"] = b.ServiceType, b.ESMClass, b.ProtocolID
		m["priority_flag"], m["schedule_delivery_time"] = b.PriorityFlag, b.ScheduleDeliveryTime
		m["validity_period"], m["registered_delivery"] = b.ValidityPeriod, b.RegisteredDelivery
		m["replace_if_present_flag"], m["data_coding"] = b.ReplaceIfPresent, b.DataCoding
		m["sm_default_msg_id"] = b.DefaultMsgID
	case *Data:
		addr("source_addr", "source_addr", b.Source)
		addr("dest_addr", "destination_addr", b.Dest)
		m["service_type"], m["esm_class"] = b.ServiceType, b.ESMClass
		m["registered_delivery"], m["data_coding"] = b.RegisteredDelivery, b.DataCoding
	case *Query:
		addr("source_addr", "source_addr", b.Source)
		m["message_id"] = b.MessageID
	case *QueryResp:
		m["message_id"], m["final_date"] = b.MessageID, b.FinalDate
		m["message_state"], m["error_code"] = b.MessageState, b.ErrorCode
	case *Cancel:
		addr("source_addr", "source_addr", b.Source)
		addr("dest_addr", "destination_addr", b.Dest)
		m["service_type"], m["message_id"] = b.ServiceType, b.MessageID
	case *Replace:
		addr("source_addr", "source_addr", b.Source)
		message(b.ShortMessage)
		m["message_id"], m["schedule_delivery_time"] = b.MessageID, b.ScheduleDeliveryTime
		m["validity_period"], m["registered_delivery"] = b.ValidityPeriod, b.RegisteredDelivery
		m["sm_default_msg_id"] = b.DefaultMsgID
	case *Alert:
		addr("source_addr", "source_addr", b.Source)
		addr("esme_addr", "esme_addr", b.ESME)
	}
	return m
}

// TestVectors decodes PDUs that other implementations decode alike, and writes them again octet for octet.
func TestVectors(t *testing.T) {
	for id, v := range vectors(t) {
		if v.Malformed {
			continue
		}
		t.Run(id, func(t *testing.T) {
			raw := unhex(t, v.Hex)
			p, err := Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Warnings) > 0 {
				t.Errorf("warnings %q", p.Warnings)
			}
			checkHeader(t, v, p)
			checkFields(t, v.Fields, read(p.Body))
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

func checkHeader(t *testing.T, v vector, p PDU) {
	t.Helper()
	id, err1 := strconv.ParseUint(v.CommandID, 0, 32)
	status, err2 := strconv.ParseUint(v.Status, 0, 32)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if p.Command != CommandID(id) || p.Command.String() != v.Command || p.Status != Status(status) || p.Sequence != v.Sequence {
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

func TestMalformed(t *testing.T) {
	all := vectors(t)
	for _, c := range []struct {
		id, octets, warning string
	}{
		{"tlv_overrun", "STOP", "bad TLV 0427 dropped"},
		{"tlv_unknown", "STOP", ""},
		{"both_short_and_payload", "STOP", ""},
	} {
		p, err := Decode(unhex(t, all[c.id].Hex))
		if err != nil || string(p.Octets()) != c.octets || fmt.Sprint(p.Warnings) != "["+c.warning+"]" {
			t.Errorf("%s: %q, warnings %q, error %v", c.id, p.Octets(), p.Warnings, err)
		}
	}
	p, err := Decode(unhex(t, all["cstring_no_nul"].Hex))
	if err != nil || p.Body.(*MessageID).ID != "7b1c9f2e" || len(p.Warnings) != 1 {
		t.Errorf("cstring_no_nul: %+v, %v", p, err)
	}
	for _, id := range []string{"unknown_command", "unknown_response"} {
		if p, err := Decode(unhex(t, all[id].Hex)); err != nil || p.Command.Known() || p.Sequence != 7 {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
	if _, err := Decode(unhex(t, all["bad_length_15"].Hex)); !errors.Is(err, ErrLength) {
		t.Errorf("bad_length_15: %v", err)
	}
}

// TestStrayNUL is case C17: a NUL after short_message, alone and before a TLV.
func TestStrayNUL(t *testing.T) {
	const alone = "0000003d00000005000000000000000100010131323032353535303134330001013132303235353530313030000000000000000000000548656c6c6f00"
	for _, raw := range []string{alone, "00000042" + alone[8:] + "0427000102"} {
		p, err := Decode(unhex(t, raw))
		if err != nil || string(p.Octets()) != "Hello" || !reflect.DeepEqual(p.Warnings, []string{"trailing bytes"}) {
			t.Errorf("%q, warnings %q, error %v", p.Octets(), p.Warnings, err)
		}
		if state, ok := p.TLVUint(TagMessageState); len(raw) > len(alone) && (!ok || state != 2) {
			t.Errorf("message_state after the stray NUL: %d, %v", state, ok)
		}
	}
}

// TestTruncated cuts a PDU at every octet: a fixed field is never read past the end, and the header stays
// readable so that the peer can be answered.
func TestTruncated(t *testing.T) {
	raw := unhex(t, vectors(t)["submit_sm_gsm7"].Hex)
	const fixed = 93 - 26 // before sm_length
	for n := HeaderLen; n < len(raw); n++ {
		cut := bytes.Clone(raw[:n])
		cut[3] = byte(n)
		p, err := Decode(cut)
		if p.Sequence != 4 {
			t.Fatalf("%d octets: header lost", n)
		}
		if n <= fixed && !errors.Is(err, ErrTruncated) {
			t.Errorf("%d octets: %v, want ErrTruncated", n, err)
		}
		if n > fixed && (err != nil || len(p.Warnings) == 0) {
			t.Errorf("%d octets: error %v, warnings %q", n, err, p.Warnings)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	long := string(bytes.Repeat([]byte("1"), 300))
	for name, p := range map[string]PDU{
		"long address": {Command: CmdSubmitSM, Body: &Message{Dest: Address{Addr: long}}},
		"NUL inside":   {Command: CmdSubmitSM, Body: &Message{Dest: Address{Addr: "1\x002"}}},
		"long message": {Command: CmdSubmitSM, Body: &Message{ShortMessage: []byte(long)}},
		"long TLV":     {Command: CmdDataSM, Body: &Data{}, TLVs: []TLV{{TagMessagePayload, make([]byte, 1<<16)}}},
	} {
		dst := []byte("before")
		got, err := p.Append(dst)
		var field *FieldError
		if !errors.As(err, &field) || string(got) != "before" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && bytes.Contains([]byte(err.Error()), []byte("111")) {
			t.Errorf("%s: the error has the value", name)
		}
	}
}

func TestReadFrame(t *testing.T) {
	raw := unhex(t, vectors(t)["enquire_link"].Hex)
	frame := func(b []byte) ([]byte, error) { return ReadFrame(bufio.NewReader(bytes.NewReader(b))) }
	if got, err := frame(append(bytes.Clone(raw), 1)); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("%x, %v", got, err)
	}
	for want, b := range map[error][]byte{
		io.EOF:              {},
		io.ErrUnexpectedEOF: raw[:10],
		ErrLength:           {0, 0, 0, 15, 0},
	} {
		if _, err := frame(b); !errors.Is(err, want) {
			t.Errorf("%x: %v, want %v", b, err, want)
		}
	}
	if _, err := frame([]byte{0, 0}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("two octets: %v", err)
	}
	if _, err := frame([]byte{0x7f, 0xff, 0xff, 0xff}); !errors.Is(err, ErrLength) {
		t.Errorf("2 GiB: %v", err)
	}
}

func TestRelativeTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                      "",
		time.Millisecond:       "000000000001000R",
		90*time.Second + 999e6: "000000000130000R",
		24 * time.Hour:         "000001000000000R",
		400 * 24 * time.Hour:   "000099000000000R",
		25*time.Hour + 61*60e9: "000001020100000R",
	} {
		if got := RelativeTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestStatus(t *testing.T) {
	for s, want := range map[Status]Class{
		StatusOK: ClassOK, StatusThrottled: ClassThrottle, StatusMsgQueueFull: ClassThrottle,
		StatusTempAppErr: ClassTemporary, StatusInvDestAddr: ClassPermanent, 0x48: ClassConfig,
		StatusInvPassword: ClassBind, StatusSysErr: ClassUnsure, StatusUnknownErr: ClassUnsure,
		0x10A: ClassPermanent, 0x400: ClassPermanent, 0x4FF: ClassPermanent, 0x09: ClassUnlisted, 0x113: ClassUnlisted,
	} {
		if got := s.Class(); got != want {
			t.Errorf("%v: class %d, want %d", s, got, want)
		}
	}
	if StatusThrottled.Name() != "ESME_RTHROTTLED" || StatusThrottled.String() != "0x00000058" {
		t.Errorf("%s %s", StatusThrottled.Name(), StatusThrottled)
	}
}

// FuzzDecode: reading never panics, and what was read says the same after it was written and read again.
func FuzzDecode(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(unhex(f, v.Hex))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Decode(raw)
		if err != nil {
			return
		}
		again, err := p.Append(nil)
		if err != nil {
			if len(p.Warnings) == 0 {
				t.Fatalf("read without a warning, cannot be written: %v", err)
			}
			return
		}
		q, err := Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		p.Warnings = nil
		if len(p.Unread) == 0 {
			p.Unread, q.Unread = nil, nil
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("read again:\n%+v\nbefore:\n%+v", q, p)
		}
	})
}

func BenchmarkAppendSubmit(b *testing.B) {
	p, _ := Decode(unhex(b, vectors(b)["submit_sm_gsm7"].Hex))
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = p.Append(buf[:0])
	}
}

func BenchmarkDecodeSubmit(b *testing.B) {
	raw := unhex(b, vectors(b)["submit_sm_gsm7"].Hex)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Decode(raw)
	}
}
