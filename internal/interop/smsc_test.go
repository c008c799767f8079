//go:build services

package interop

import (
	"context"
	"encoding/hex"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider"
	adapter "github.com/einmal/einmal/internal/provider/smpp"
	wire "github.com/einmal/einmal/internal/smpp"
)

// sink takes everything that a connection gives it.
type sink chan provider.RawEvent

func (s sink) Take(_ context.Context, events []provider.RawEvent) error {
	for _, e := range events {
		s <- e
	}
	return nil
}

func (s sink) next(t *testing.T) provider.RawEvent {
	t.Helper()
	select {
	case e := <-s:
		return e
	case <-time.After(patience):
		t.Fatal("nothing was given to the sink")
		return provider.RawEvent{}
	}
}

// connection is the gateway's side.
type connection struct {
	*adapter.Provider
	t      *testing.T
	events sink
}

func connectTo(t *testing.T, cfg adapter.Config) *connection {
	t.Helper()
	cfg.Name, cfg.SystemID, cfg.Password, cfg.SystemType = "carrier", "einmal", "secret", "VMS"
	cfg.BackoffMin = 50 * time.Millisecond
	c := &connection{adapter.New(cfg), t, make(sink, 100)}
	must(t, c.Start(context.Background(), c.events))
	t.Cleanup(c.stop)
	return c
}

func (c *connection) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		c.t.Error(err)
	}
}

// bound waits until submissions are taken.
func (c *connection) bound() {
	c.t.Helper()
	timeout := time.After(patience)
	for c.Free() == 0 {
		select {
		case <-c.Changed():
		case <-timeout:
			c.t.Fatal(c.Status())
		}
	}
}

func (c *connection) submit(text string) <-chan provider.Outcome {
	return c.submitPart(text, provider.Segment{})
}

func (c *connection) submitPart(text string, part provider.Segment) <-chan provider.Outcome {
	outcomes := make(chan provider.Outcome, 2)
	cut, _ := gsm.Split(text, gsm.Reference8)
	c.Submit(provider.Submission{
		Attempt: "att_1", Source: "SHOP", Destination: "+12025550100", Text: text, DataCoding: cut.DataCoding, Segment: part,
		Reference: 4711, HasReference: true,
		Validity: time.Hour, Deadline: time.Now().Add(time.Minute),
	}, func(o provider.Outcome) { outcomes <- o })
	return outcomes
}

func outcome(t *testing.T, outcomes <-chan provider.Outcome) provider.Outcome {
	t.Helper()
	select {
	case o := <-outcomes:
		return o
	case <-time.After(patience):
		t.Fatal("no outcome")
		return provider.Outcome{}
	}
}

// centre is a library as a message centre to which the gateway has bound.
func centre(t *testing.T, l library) (*peer, *connection) {
	t.Helper()
	p := startPeer(t, l)
	at := p.ask(order{Do: "listen"}, "listening")
	c := connectTo(t, adapter.Config{Address: loopback(at.Port)})
	p.await("a session", func(e event) bool { return e.Event == "connected" })
	bind := p.receive("bind_transceiver")
	for name, want := range map[string]any{"system_id": "einmal", "password": "secret", "system_type": "VMS", "interface_version": float64(0x34)} {
		if bind.Fields[name] != want {
			t.Errorf("%s is %v, want %v", name, bind.Fields[name], want)
		}
	}
	p.answer(bind, 0, map[string]any{"system_id": "centre"}, octets(wire.TagSCInterfaceVersion, []byte{0x50}))
	c.bound()
	return p, c
}

// TestGatewayAtOthersCentre: the gateway's connection submits to another message centre and takes its answers, its
// receipts and its inbound messages.
func TestGatewayAtOthersCentre(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		p, c := centre(t, l)
		accepted := c.submit("Hello {World}")
		s := p.receive("submit_sm")
		for name, want := range map[string]any{
			"source_addr": "SHOP", "source_addr_ton": 5.0, "destination_addr": "12025550100", "dest_addr_ton": 1.0, "dest_addr_npi": 1.0,
			"registered_delivery": 1.0, "validity_period": "000000010000000R", "short_message_hex": hex.EncodeToString([]byte("Hello \x1b(World\x1b)")),
		} {
			if s.Fields[name] != want {
				t.Errorf("%s is %v, want %v", name, s.Fields[name], want)
			}
		}
		if v := s.tlv(uint16(wire.TagUserMessageReference)); v == nil || !l.same(*v, wire.TLV{Tag: wire.TagUserMessageReference, Value: []byte{0x12, 0x67}}) {
			t.Errorf("%+v", s.TLVs)
		}
		p.answer(s, 0, map[string]any{"message_id": "7b1c9f2e"})
		if o := outcome(t, accepted); o.Kind != provider.Accepted || string(o.ExternalID) != "7b1c9f2e" {
			t.Errorf("%+v", o)
		}
		throttled := c.submit("Привет 😀")
		s = p.receive("submit_sm")
		if s.Fields["data_coding"] != 8.0 || s.Fields["short_message_hex"] != "041f044004380432043504420020d83dde00" {
			t.Errorf("%v", s.Fields)
		}
		p.answer(s, uint32(wire.StatusThrottled), map[string]any{"message_id": ""})
		if o := outcome(t, throttled); o.Kind != provider.Throttled || o.Code != "0x00000058" {
			t.Errorf("%+v", o)
		}
		deliveries(t, p, c)
		p.request("enquire_link", nil)
		go c.stop()
		p.answer(p.receive("unbind"), 0, nil)
		p.await("the end", func(e event) bool { return e.Event == "closed" })
	})
}

// deliveries sends what a message centre sends by itself.
func deliveries(t *testing.T, p *peer, c *connection) {
	t.Helper()
	deliver := func(esm int, text string, tlvs ...tlv) provider.Parsed {
		t.Helper()
		answer := p.request("deliver_sm", map[string]any{
			"source_addr_ton": 1, "source_addr_npi": 1, "source_addr": "12025550100", "dest_addr_ton": 3, "destination_addr": "2020",
			"esm_class": esm, "data_coding": 0, "short_message_hex": hex.EncodeToString([]byte(text)),
		}, tlvs...)
		if answer.Status != 0 {
			t.Errorf("answered with %#x", answer.Status)
		}
		return c.events.next(t).Parsed
	}
	r := deliver(wire.ESMReceipt, "id:2065473326 sub:001 dlvrd:001 submit date:2610031745 done date:2610031746 stat:DELIVRD err:000 text:Hello",
		octets(wire.TagReceiptedMessageID, []byte("7b1c9f2e\x00")), octets(wire.TagMessageState, []byte{2}), octets(wire.TagUserMessageReference, []byte{0x12, 0x67}))
	if r.Kind != provider.KindReceipt || string(r.ExternalID) != "7b1c9f2e" || r.Extra["text_id"] != "2065473326" || r.State != "delivered" ||
		!r.HasReference || r.Reference != 4711 || r.DoneDate != "2610031746" || len(r.Warnings) != 0 {
		t.Errorf("receipt: %+v", r)
	}
	if r := deliver(wire.ESMIntermediate, "id:7b1c9f2e stat:ENROUTE err:000"); r.Kind != provider.KindIntermediate {
		t.Errorf("intermediate: %+v", r)
	}
	r = deliver(wire.ESMUDHI, "\x05\x00\x03\xcc\x02\x01Hello ")
	if r.Kind != provider.KindInbound || r.Text != "Hello " || r.Extra["udh"] != "050003cc0201" || r.Source != "12025550100" || r.Dest != "2020" || r.DestTON != 3 {
		t.Errorf("inbound: %+v", r)
	}
	answer := p.request("data_sm", map[string]any{
		"source_addr_ton": 1, "source_addr_npi": 1, "source_addr": "12025550100", "destination_addr": "2020", "esm_class": 4, "data_coding": 0,
	}, octets(wire.TagMessagePayload, []byte("id:8 stat:UNDELIV err:12b")))
	if r := c.events.next(t).Parsed; answer.Status != 0 || r.Kind != provider.KindReceipt || string(r.ExternalID) != "8" || r.State != "undelivered" {
		t.Errorf("data_sm: %+v, answered with %#x", r, answer.Status)
	}
	if answer := p.request("submit_sm", submission("00", 0, []byte("x"))); answer.Status != uint32(wire.StatusInvBindStatus) {
		t.Errorf("a submission to an ESME is answered with %#x", answer.Status)
	}
	p.do(order{Do: "send", PDU: &pdu{Command: "alert_notification", Fields: map[string]any{"source_addr": "12025550100", "esme_addr": "2020"}}})
	if r := c.events.next(t).Parsed; r.Kind != provider.KindOther {
		t.Errorf("alert_notification: %+v", r)
	}
}

// TestOthersUnbind: a message centre that unbinds is left, what it did not answer is unknown, and the gateway binds
// again.
func TestOthersUnbind(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		p, c := centre(t, l)
		open := c.submit("Hello")
		p.receive("submit_sm")
		p.request("unbind", nil)
		if o := outcome(t, open); o.Kind != provider.Unknown {
			t.Errorf("%+v", o)
		}
		p.answer(p.receive("bind_transceiver"), 0, map[string]any{"system_id": "centre"})
		c.bound()
		go c.stop()
		p.answer(p.receive("unbind"), 0, nil)
	})
}
