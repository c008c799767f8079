package smpp_test

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/smpp"
	wire "github.com/einmal/einmal/internal/smpp"
)

// pair is a message centre with the sessions of both binds.
func pair(t *testing.T, c *centre) (receiver, transmitter *centre) {
	t.Helper()
	receiver, transmitter = &centre{t: t, listener: c.listener}, &centre{t: t, listener: c.listener}
	receiver.answer(receiver.acceptAs(wire.CmdBindReceiver), wire.StatusOK, &wire.BindResp{SystemID: "c"})
	transmitter.answer(transmitter.acceptAs(wire.CmdBindTransmitter), wire.StatusOK, &wire.BindResp{SystemID: "c"})
	return receiver, transmitter
}

func separate(c *centre) smpp.Config {
	cfg := config(c.address())
	cfg.SeparateBinds = true
	return cfg
}

// TestSeparateBinds: submissions leave over the transmitter and events come over the receiver. Where one of them ends
// both begin anew, and what was not answered by then is unknown.
func TestSeparateBinds(t *testing.T) {
	c, g := newCentre(t), newGate()
	p := started(t, separate(c), g)
	receiver, transmitter := pair(t, c)
	ready(t, p)
	outcomes := make(chan provider.Outcome, 1)
	p.Submit(message, func(o provider.Outcome) { outcomes <- o })
	transmitter.answer(transmitter.read(wire.CmdSubmitSM), wire.StatusOK, &wire.MessageID{ID: "7"})
	if o := <-outcomes; o.Kind != provider.Accepted || string(o.ExternalID) != "7" {
		t.Errorf("%+v", o)
	}
	receiver.write(wire.PDU{Command: wire.CmdDeliverSM, Sequence: 1, Body: &wire.Message{ESMClass: 4, ShortMessage: []byte("id:7 stat:DELIVRD")}})
	if events := <-g.entered; len(events) != 1 || events[0].Parsed.Kind != provider.KindReceipt {
		t.Errorf("%+v", events)
	}
	g.result <- nil
	receiver.read(wire.CmdDeliverSMResp)

	p.Submit(message, func(o provider.Outcome) { outcomes <- o })
	transmitter.read(wire.CmdSubmitSM)
	receiver.conn.Close()
	if o := <-outcomes; o.Kind != provider.Unknown {
		t.Errorf("%+v", o)
	}
	pair(t, c)
	ready(t, p)
}

// TestSeparateBindRefused: a transmitter that is refused leaves no receiver behind.
func TestSeparateBindRefused(t *testing.T) {
	c := newCentre(t)
	started(t, separate(c), newGate())
	receiver, transmitter := &centre{t: t, listener: c.listener}, &centre{t: t, listener: c.listener}
	receiver.answer(receiver.acceptAs(wire.CmdBindReceiver), wire.StatusOK, &wire.BindResp{})
	transmitter.answer(transmitter.acceptAs(wire.CmdBindTransmitter), wire.StatusAlreadyBound, nil)
	receiver.answer(receiver.read(wire.CmdUnbind), wire.StatusOK, nil)
	pair(t, c) // the next try
}

// TestSeparateBindsStop: nothing more is submitted before nothing more is taken.
func TestSeparateBindsStop(t *testing.T) {
	c := newCentre(t)
	p := smpp.New(separate(c))
	if err := p.Start(t.Context(), newGate()); err != nil {
		t.Fatal(err)
	}
	receiver, transmitter := pair(t, c)
	ready(t, p)
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		stopped <- p.Stop(ctx)
	}()
	transmitter.answer(transmitter.read(wire.CmdUnbind), wire.StatusOK, nil)
	receiver.answer(receiver.read(wire.CmdUnbind), wire.StatusOK, nil)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
