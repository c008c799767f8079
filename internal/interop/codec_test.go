//go:build services

package interop

import (
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/gsm"
	wire "github.com/einmal/einmal/internal/smpp"
	"github.com/einmal/einmal/internal/smpp/smpptest"
)

// TestOthersReadUs: every command, every field and every TLV that we write says the same to another library.
func TestOthersReadUs(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		p := startPeer(t, l)
		for _, s := range smpptest.Samples() {
			raw, err := s.PDU.Append(nil)
			must(t, err)
			got := p.ask(order{Do: "decode", Hex: hex.EncodeToString(raw)}, "decoded").PDU
			for _, problem := range differences(t, l, got, s.PDU) {
				t.Errorf("%s: %s", s.Name, problem)
			}
			checkReading(t, s, got.Reading)
		}
	})
}

// TestWeReadOthers: what another library writes of the same fields and TLVs is read as them, without a warning.
func TestWeReadOthers(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		p := startPeer(t, l)
		for _, s := range smpptest.Samples() {
			o := pdu{Command: s.PDU.Command.String(), Status: uint32(s.PDU.Status), Sequence: s.PDU.Sequence, Fields: smpptest.Fields(s.PDU.Body)}
			for _, v := range s.PDU.TLVs {
				o.TLVs = append(o.TLVs, octets(v.Tag, v.Value))
			}
			if s.PDU.Body == nil && s.PDU.Status != 0 {
				o.Fields = map[string]any{"message_id": ""} // Net::SMPP writes a body in any case
			}
			raw, err := hex.DecodeString(p.ask(order{Do: "encode", PDU: &o}, "encoded").Hex)
			must(t, err)
			got, err := wire.Decode(raw)
			if err != nil || len(got.Warnings) != 0 {
				t.Errorf("%s: %v, warnings %q", s.Name, err, got.Warnings)
				continue
			}
			for _, problem := range differences(t, l, seenByUs(got), s.PDU) {
				t.Errorf("%s: %s", s.Name, problem)
			}
		}
	})
}

// seenByUs is a PDU of ours in the form of the libraries'.
func seenByUs(p wire.PDU) pdu {
	out := pdu{Command: p.Command.String(), ID: uint32(p.Command), Status: uint32(p.Status), Sequence: p.Sequence, Fields: smpptest.Fields(p.Body)}
	for _, v := range p.TLVs {
		out.TLVs = append(out.TLVs, octets(v.Tag, v.Value))
	}
	return out
}

// differences says in what a PDU is not the one that is wanted.
func differences(t *testing.T, l library, got pdu, want wire.PDU) (all []string) {
	t.Helper()
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if got.Command != want.Command.String() || got.ID != uint32(want.Command) || got.Status != uint32(want.Status) || got.Sequence != want.Sequence {
		add("header %s %#x, status %#x, sequence %d", got.Command, got.ID, got.Status, got.Sequence)
	}
	seen := plain(t, got.Fields)
	for name, value := range smpptest.Fields(want.Body) {
		if name == "sm_length" {
			continue // libraries count themselves
		}
		fields, _ := seen.(map[string]any)
		if w := plain(t, value); !reflect.DeepEqual(fields[name], w) {
			add("%s is %v, want %v", name, fields[name], w)
		}
	}
	if len(got.TLVs) != len(want.TLVs) {
		add("%d TLVs, want %d", len(got.TLVs), len(want.TLVs))
	}
	for _, w := range want.TLVs {
		if v := got.tlv(uint16(w.Tag)); v == nil || !l.same(*v, w) {
			add("TLV %v is %+v, want %x", w.Tag, v, w.Value)
		}
	}
	return all
}

// checkReading compares a library's reading of a text, where it gives one, with ours.
func checkReading(t *testing.T, s smpptest.Sample, r *reading) {
	t.Helper()
	m, ok := s.PDU.Body.(*wire.Message)
	if r == nil || !ok {
		return
	}
	text := s.PDU.Octets()
	var header string
	if m.ESMClass&wire.ESMUDHI != 0 {
		udh, rest, _ := wire.SplitUDH(text)
		elements, err := gsm.ParseUDH(udh)
		must(t, err)
		for _, e := range elements {
			header += fmt.Sprintf("%02x%02x%x", e.ID, len(e.Data), e.Data)
		}
		text = rest
	}
	want, _ := gsm.Decode(m.DataCoding, text)
	if r.Text != want || strings.Join(r.UDH, "") != header {
		t.Errorf("%s: text %q, header %v; want %q, %s", s.Name, r.Text, r.UDH, want, header)
	}
}

// TestTables: commands, statuses and TLVs have the same numbers and names.
func TestTables(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		tables := startPeer(t, l).ask(order{Do: "tables"}, "tables")
		for theirs, number := range tables.Commands {
			if c := wire.CommandID(number); c.Known() && c.String() != theirs {
				t.Errorf("command %#x: %s is ours, theirs is %s", number, c, theirs)
			}
		}
		names := map[uint32][]string{}
		for theirs, number := range tables.Statuses {
			names[number] = append(names[number], l.ours(theirs))
		}
		for number := range uint32(0x200) {
			ours := wire.Status(number).Name()
			missing := ours != "" && number < 0x100 // those of 5.0 are not in every library
			if (missing || len(names[number]) > 0) && !slices.Contains(names[number], ours) {
				t.Errorf("status %#x: %s is ours, theirs is %v", number, ours, names[number])
			}
		}
		tags := map[uint16][]string{}
		for theirs, number := range tables.TLVs {
			tags[number] = append(tags[number], l.ours(theirs))
		}
		for number := range math.MaxUint16 + 1 {
			tag := wire.Tag(number)
			listed := tag.String()[0] != '0'
			if listed && !slices.Contains(tags[uint16(number)], tag.String()) {
				t.Errorf("TLV %#04x: %s is ours, theirs is %v", number, tag, tags[uint16(number)])
			}
		}
		if len(tables.Commands) < 27 || len(names) < 48 || len(tags) < 44 {
			t.Errorf("the library has %d commands, %d statuses, %d TLVs", len(tables.Commands), len(names), len(tags))
		}
	})
}

func (l library) ours(theirs string) string {
	if name, ok := l.aliases[theirs]; ok {
		return name
	}
	return theirs
}
