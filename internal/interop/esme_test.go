//go:build services

package interop

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider/simulator"
	wire "github.com/einmal/einmal/internal/smpp"
)

// smsc is the simulated message centre.
type smsc struct {
	*simulator.Server
	t      *testing.T
	ledger string
}

func startSMSC(t *testing.T, cfg simulator.Config) *smsc {
	t.Helper()
	cfg.LedgerPath = filepath.Join(t.TempDir(), "ledger")
	s := simulator.New(cfg)
	must(t, s.Start())
	t.Cleanup(func() { must(t, s.Close()) })
	return &smsc{s, t, cfg.LedgerPath}
}

func (s *smsc) entries() []simulator.Entry {
	s.t.Helper()
	all, err := simulator.ReadLedger(s.ledger)
	must(s.t, err)
	return all
}

// esme is a library that is connected to the message centre and bound.
func (s *smsc) esme(l library, command string, version int) (*peer, pdu) {
	s.t.Helper()
	p := startPeer(s.t, l)
	p.ask(order{Do: "connect", Port: port(s.t, s.Addr())}, "connected")
	return p, p.request(command, map[string]any{"system_id": "esme", "password": "secret", "interface_version": version})
}

// submission is the fields of a submit_sm to a handset whose number ends in the digits.
func submission(digits string, coding uint8, text []byte) map[string]any {
	return map[string]any{
		"source_addr_ton": 5, "source_addr_npi": 0, "source_addr": "SHOP", "dest_addr_ton": 1, "dest_addr_npi": 1,
		"destination_addr": "120255501" + digits, "registered_delivery": 1, "data_coding": coding,
		"short_message_hex": hex.EncodeToString(text),
	}
}

// receipt takes a receipt, answers it, and returns its fields and TLVs.
func (p *peer) receipt(id string) pdu {
	p.t.Helper()
	r := p.receive("deliver_sm")
	p.answer(r, 0, map[string]any{"message_id": ""})
	octets, err := hex.DecodeString(r.Fields["short_message_hex"].(string))
	must(p.t, err)
	if !strings.HasPrefix(string(octets), "id:"+id+" ") || r.Fields["esm_class"] != float64(wire.ESMReceipt) {
		p.t.Errorf("%q, esm_class %v; want the receipt of %s", octets, r.Fields["esm_class"], id)
	}
	return r
}

func (p *peer) accepted(answer pdu) string {
	p.t.Helper()
	id, _ := answer.Fields["message_id"].(string)
	if answer.Status != 0 || id == "" {
		p.t.Fatalf("%+v", answer)
	}
	return id
}

// TestOthersSubmit: another ESME binds as transceiver to our message centre, submits in each way that there is, and has
// its receipts.
func TestOthersSubmit(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		s := startSMSC(t, simulator.Config{Echo: true, Password: "secret"})
		p, bound := s.esme(l, "bind_transceiver", wire.Version34)
		if v := bound.tlv(uint16(wire.TagSCInterfaceVersion)); v == nil || !l.same(*v, wire.TLV{Tag: wire.TagSCInterfaceVersion, Value: []byte{0x34}}) {
			t.Errorf("bound with %+v", bound)
		}
		reference := wire.TLV{Tag: wire.TagUserMessageReference, Value: []byte{0x12, 0x67}}
		id := p.accepted(p.request("submit_sm", submission("00", 0, []byte("Hello")), octets(reference.Tag, reference.Value)))
		r := p.receipt(id)
		for _, want := range []wire.TLV{reference, {Tag: wire.TagReceiptedMessageID, Value: []byte(id + "\x00")}, {Tag: wire.TagMessageState, Value: []byte{2}}} {
			if got := r.tlv(uint16(want.Tag)); got == nil || !l.same(*got, want) {
				t.Errorf("TLV %v of the receipt: %+v", want.Tag, got)
			}
		}
		if r.Fields["source_addr"] != "12025550100" || r.Fields["destination_addr"] != "SHOP" {
			t.Errorf("addresses of the receipt: %v", r.Fields)
		}
		long := strings.Repeat("A longer text. ", 20)
		for _, part := range []struct {
			esm, coding uint8
			shown       string // the latest that the handset has then
			octets      []byte
			tlvs        []tlv
		}{
			{0, gsm.CodingUCS2, "Привет 😀", []byte("\x04\x1f\x04\x40\x04\x38\x04\x32\x04\x35\x04\x42\x00\x20\xd8\x3d\xde\x00"), nil},
			{wire.ESMUDHI, 0, "Привет 😀", []byte("\x05\x00\x03\xcc\x02\x01One, "), nil},
			{wire.ESMUDHI, 0, "One, two", []byte("\x05\x00\x03\xcc\x02\x02two"), nil},
			{0, 0, long, nil, []tlv{octets(wire.TagMessagePayload, []byte(long))}},
		} {
			fields := submission("00", part.coding, part.octets)
			fields["esm_class"] = part.esm
			p.receipt(p.accepted(p.request("submit_sm", fields, part.tlvs...)))
			received := s.Handset("12025550100")
			if got := received[len(received)-1].Text; got != part.shown {
				t.Errorf("the handset shows %q, want %q", got, part.shown)
			}
		}
		if refused := p.request("submit_sm", submission("02", 0, []byte("x"))); refused.Status != uint32(wire.StatusInvDestAddr) {
			t.Errorf("%+v", refused)
		}
		p.request("enquire_link", nil)
		p.request("unbind", nil)
		p.await("the end", func(e event) bool { return e.Event == "closed" })
		if all := s.entries(); len(all) != 6 || all[0].Reference == nil || *all[0].Reference != 0x1267 || string(all[4].ShortMessage) != long {
			t.Errorf("%d entries in the ledger: %+v", len(all), all)
		}
	})
}

// TestOthersBindTwice: a transmitter submits and has nothing delivered to it; the receiver has the receipts and may
// not submit.
func TestOthersBindTwice(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		s := startSMSC(t, simulator.Config{})
		transmitter, _ := s.esme(l, "bind_transmitter", wire.Version34)
		id := transmitter.accepted(transmitter.request("submit_sm", submission("00", 0, []byte("Hello"))))
		receiver, _ := s.esme(l, "bind_receiver", wire.Version34)
		receiver.receipt(id)
		if r := receiver.request("submit_sm", submission("00", 0, []byte("Hello"))); r.Status != uint32(wire.StatusInvBindStatus) {
			t.Errorf("a receiver submits: %+v", r)
		}
		transmitter.request("enquire_link", nil)
		for _, e := range transmitter.seen {
			t.Errorf("the transmitter got %+v", e)
		}
	})
}

// TestOthersVersions: a peer of SMPP 5.0 is told that this is 3.4, one below 3.4 gets no TLVs.
func TestOthersVersions(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		s := startSMSC(t, simulator.Config{Echo: true})
		for version, tlvs := range map[int]bool{0x33: false, 0x34: true, 0x50: true} {
			p, bound := s.esme(l, "bind_transceiver", version)
			r := p.receipt(p.accepted(p.request("submit_sm", submission("00", 0, []byte("Hello")))))
			if bound.Status != 0 || (len(bound.TLVs) > 0) != tlvs || (len(r.TLVs) > 0) != tlvs {
				t.Errorf("version %#x: bound with %+v, receipt %+v", version, bound, r)
			}
			p.request("unbind", nil)
			p.await("the end", func(e event) bool { return e.Event == "closed" })
		}
	})
}

// TestOthersAsk: query_sm tells what became of a message; a command of SMPP 5.0 is refused and costs nothing.
func TestOthersAsk(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		s := startSMSC(t, simulator.Config{})
		p, _ := s.esme(l, "bind_transceiver", wire.Version34)
		query := func(id, source string) pdu {
			return p.request("query_sm", map[string]any{"message_id": id, "source_addr_ton": 5, "source_addr_npi": 0, "source_addr": source})
		}
		before := time.Now()
		for digits, want := range map[string]float64{"00": 2, "01": 5, "10": 1} {
			id := p.accepted(p.request("submit_sm", submission(digits, 0, []byte("Hello"))))
			got := query(id, "SHOP")
			said, _ := got.Fields["final_date"].(string)
			date, err := wire.ParseTime(said, before)
			if got.Status != 0 || got.Fields["message_id"] != id || got.Fields["message_state"] != want || err != nil {
				t.Errorf("%s: %+v, %v", digits, got, err)
			}
			if final := want != 1; final != !date.IsZero() || final && date.Before(before.Add(-time.Second)) {
				t.Errorf("%s: final since %v", digits, date)
			}
			if got := query(id, "OTHER"); got.Status != uint32(wire.StatusInvMsgID) {
				t.Errorf("another's message: %+v", got)
			}
		}
		if got := query("no such id", "SHOP"); got.Status != uint32(wire.StatusInvMsgID) {
			t.Errorf("an id that was never given: %+v", got)
		}
		if l.name == "node-smpp" { // Net::SMPP has no command of 5.0
			p.do(order{Do: "send", PDU: &pdu{Command: "broadcast_sm", Fields: map[string]any{"source_addr": "SHOP", "message_id": ""}}})
			if r := p.receive("generic_nack"); r.Status != uint32(wire.StatusInvCmdID) {
				t.Errorf("%+v", r)
			}
		}
		p.request("enquire_link", nil)
	})
}
