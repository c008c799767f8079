package smpp_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/provider/smpp"
	wire "github.com/einmal/einmal/internal/smpp"
)

// centre is a message centre driven by hand.
type centre struct {
	t        *testing.T
	listener net.Listener
	conn     net.Conn
	r        *bufio.Reader
}

func newCentre(t *testing.T) *centre {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &centre{t: t, listener: l}
}

func (c *centre) address() string { return c.listener.Addr().String() }

// accept takes the next connection and reads its bind.
func (c *centre) accept() wire.PDU {
	c.t.Helper()
	return c.acceptAs(wire.CmdBindTransceiver)
}

func (c *centre) acceptAs(bind wire.CommandID) wire.PDU {
	c.t.Helper()
	conn, err := c.listener.Accept()
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	c.conn, c.r = conn, bufio.NewReader(conn)
	return c.read(bind)
}

func (c *centre) bound() {
	c.t.Helper()
	c.answer(c.accept(), wire.StatusOK, &wire.BindResp{SystemID: "c"})
}

func (c *centre) read(want wire.CommandID) wire.PDU {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	raw, err := wire.ReadFrame(c.r)
	if err != nil {
		c.t.Fatalf("waiting for %v: %v", want, err)
	}
	p, err := wire.Decode(raw)
	if err != nil || p.Command != want {
		c.t.Fatalf("%v, %v; want %v", p.Command, err, want)
	}
	return p
}

func (c *centre) write(p wire.PDU) {
	c.t.Helper()
	b, err := p.Append(nil)
	if err == nil {
		_, err = c.conn.Write(b)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *centre) answer(req wire.PDU, status wire.Status, body wire.Body) {
	c.t.Helper()
	c.write(wire.PDU{Command: req.Command.Response(), Status: status, Sequence: req.Sequence, Body: body})
}

// gate is a sink whose Takes wait until they are let through.
type gate struct {
	entered chan []provider.RawEvent
	result  chan error
}

func newGate() *gate { return &gate{make(chan []provider.RawEvent), make(chan error)} }

func (g *gate) Take(ctx context.Context, events []provider.RawEvent) error {
	select {
	case g.entered <- events:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-g.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func started(t *testing.T, cfg smpp.Config, sink provider.Sink) *smpp.Provider {
	t.Helper()
	p := smpp.New(cfg)
	if err := p.Start(t.Context(), sink); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // at once: the far side of these tests does not unbind
		_ = p.Stop(ctx)
	})
	return p
}

func ready(t *testing.T, p *smpp.Provider) {
	t.Helper()
	for p.Free() == 0 {
		select {
		case <-p.Changed():
		case <-time.After(10 * time.Second):
			t.Fatal(p.Status())
		}
	}
}

var message = provider.Submission{
	Attempt: "att_1", Source: "SHOP", Destination: "+12025550143", Text: "Hello {World}", Validity: time.Hour,
	Reference: 4711, HasReference: true, Deadline: time.Now().Add(time.Hour),
}

// TestOnTheWire: what leaves for a submission, field by field.
func TestOnTheWire(t *testing.T) {
	c := newCentre(t)
	p := started(t, config(c.address()), newGate())
	bind := c.accept()
	if b := bind.Body.(*wire.Bind); b.SystemID != "einmal" || b.Password != "secret" || b.InterfaceVersion != 0x34 {
		t.Errorf("%+v", b)
	}
	c.answer(bind, wire.StatusOK, &wire.BindResp{})
	ready(t, p)
	p.Submit(message, func(provider.Outcome) {})
	got := c.read(wire.CmdSubmitSM)
	m := got.Body.(*wire.Message)
	want := wire.Message{
		Source: wire.Address{TON: 5, Addr: "SHOP"}, Dest: wire.Address{TON: 1, NPI: 1, Addr: "12025550143"},
		ValidityPeriod: "000000010000000R", RegisteredDelivery: 1, ShortMessage: m.ShortMessage,
	}
	if ref, _ := got.TLVUint(wire.TagUserMessageReference); ref != 4711 || len(got.TLVs) != 1 {
		t.Errorf("%+v", got.TLVs)
	}
	if string(m.ShortMessage) != "Hello \x1b(World\x1b)" {
		t.Errorf("%q", m.ShortMessage)
	}
	want.ShortMessage, m.ShortMessage = nil, nil
	if m.Source != want.Source || m.Dest != want.Dest || m.ValidityPeriod != want.ValidityPeriod ||
		m.RegisteredDelivery != want.RegisteredDelivery || m.DataCoding != 0 || m.ESMClass != 0 {
		t.Errorf("%+v", m)
	}
}

// TestLate: after the response timer the outcome is unknown; the answer that comes then is reported
// as late, and nothing is sent again.
//
// covers: C02, D9
func TestLate(t *testing.T) {
	c := newCentre(t)
	cfg := config(c.address())
	cfg.ResponseTimeout = 50 * time.Millisecond
	p := started(t, cfg, newGate())
	c.bound()
	ready(t, p)
	outcomes := make(chan provider.Outcome, 3)
	p.Submit(message, func(o provider.Outcome) { outcomes <- o })
	req := c.read(wire.CmdSubmitSM)
	if o := <-outcomes; o.Kind != provider.Unknown || o.Late {
		t.Fatalf("%+v", o)
	}
	c.answer(req, wire.StatusOK, &wire.MessageID{ID: "A1B2"})
	if o := <-outcomes; o.Kind != provider.Accepted || !o.Late || string(o.ExternalID) != "A1B2" {
		t.Fatalf("%+v", o)
	}
}

// TestTaken: deliver_sm is answered only after the sink has it, and what arrives meanwhile goes together into
// the next Take.
//
// covers: R11
func TestTaken(t *testing.T) {
	c := newCentre(t)
	g := newGate()
	started(t, config(c.address()), g)
	c.bound()
	for seq := range uint32(6) {
		c.write(wire.PDU{Command: wire.CmdDeliverSM, Sequence: seq + 1, Body: &wire.Message{ShortMessage: []byte("id:1 stat:DELIVRD"), ESMClass: 4}})
		if seq == 0 {
			if events := <-g.entered; len(events) != 1 || len(events[0].Payload) == 0 || events[0].Bind != "simulated" {
				t.Errorf("%+v", events)
			}
		}
	}
	c.write(wire.PDU{Command: wire.CmdEnquireLink, Sequence: 9})
	c.read(wire.CmdEnquireLinkResp) // all six were read by now, and none was answered
	g.result <- nil
	if r := c.read(wire.CmdDeliverSMResp); r.Sequence != 1 || r.Status != wire.StatusOK {
		t.Errorf("%+v", r)
	}
	if events := <-g.entered; len(events) != 5 {
		t.Errorf("%d events together, want 5", len(events))
	}
	g.result <- errors.New("the store cannot be reached")
	for seq := range uint32(5) {
		if r := c.read(wire.CmdDeliverSMResp); r.Sequence != seq+2 || r.Status != wire.StatusTempAppErr {
			t.Errorf("%+v", r)
		}
	}
}

// TestRefusedBind: a wrong password is not tried again at the pace of a lost connection.
func TestRefusedBind(t *testing.T) {
	s, _ := smsc(t, simulator.Config{Password: "other"})
	cfg := config(s.Addr())
	p := started(t, cfg, newGate())
	for deadline := time.Now().Add(10 * time.Second); !strings.HasPrefix(p.Status(), "paused: "); {
		if time.Now().After(deadline) {
			t.Fatal(p.Status())
		}
		time.Sleep(time.Millisecond) // Status has no signal of its own
	}
	if s := p.Status(); !strings.Contains(s, "0x0000000E") || strings.Contains(s, cfg.Password) || p.Free() != 0 {
		t.Error(s)
	}
}

// TestRebinds: with a wrong bind state the session is given up for a new one.
func TestRebinds(t *testing.T) {
	c := newCentre(t)
	p := started(t, config(c.address()), newGate())
	c.bound()
	ready(t, p)
	var got provider.Outcome
	var once sync.WaitGroup
	once.Add(1)
	p.Submit(message, func(o provider.Outcome) { got = o; once.Done() })
	c.answer(c.read(wire.CmdSubmitSM), wire.StatusInvBindStatus, nil)
	once.Wait()
	if got.Kind != provider.Rejected || !got.PauseConnection {
		t.Errorf("%+v", got)
	}
	c.bound()
}

// TestStopAwaits: at Stop, and at the end of Start's context, the answer under way is awaited, then the session
// is unbound.
func TestStopAwaits(t *testing.T) {
	for name, end := range map[string]func(*smpp.Provider, context.CancelFunc) error{
		"Stop":    func(p *smpp.Provider, _ context.CancelFunc) error { return p.Stop(t.Context()) },
		"context": func(p *smpp.Provider, cancel context.CancelFunc) error { cancel(); return nil },
		"both":    func(p *smpp.Provider, cancel context.CancelFunc) error { cancel(); return p.Stop(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := newCentre(t)
			cfg := config(c.address())
			cfg.ResponseTimeout = 5 * time.Second
			p := smpp.New(cfg)
			if err := p.Start(ctx, newGate()); err != nil {
				t.Fatal(err)
			}
			c.bound()
			ready(t, p)
			outcomes := make(chan provider.Outcome, 2)
			p.Submit(message, func(o provider.Outcome) { outcomes <- o })
			req := c.read(wire.CmdSubmitSM)
			ended := make(chan error)
			go func() { ended <- end(p, cancel) }()
			for p.Free() != 0 {
				runtime.Gosched() // until the end has begun
			}
			c.answer(req, wire.StatusOK, &wire.MessageID{ID: "a"})
			c.answer(c.read(wire.CmdUnbind), wire.StatusOK, nil)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if o := <-outcomes; o.Kind != provider.Accepted {
				t.Errorf("%+v", o)
			}
			if err := p.Stop(t.Context()); err != nil || p.Status() != "stopped" {
				t.Error(err, p.Status())
			}
		})
	}
}

// The message centre holds the session of a node that died: the bind is tried again, soon and without an alarm.
//
// covers: I9
func TestAlreadyBoundIsTriedAgainWithoutAlarm(t *testing.T) {
	c := newCentre(t)
	cfg := config(c.address())
	cfg.BackoffMin, cfg.BackoffMax, cfg.BackoffBound = 10*time.Millisecond, time.Hour, 20*time.Millisecond
	var log lockedBuffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	p := started(t, cfg, newGate())
	for range 4 {
		c.answer(c.accept(), wire.StatusAlreadyBound, nil)
	}
	c.bound()
	ready(t, p)
	if said := log.String(); strings.Contains(said, "WARN") || strings.Count(said, "already bound") != 4 {
		t.Errorf("logged %s", said)
	}
}

// lockedBuffer may be written while it is read.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A far side that refuses is there; one at whose address nobody listens is not.
func TestUnreachableIsNoRefusal(t *testing.T) {
	c := newCentre(t)
	cfg := config(c.address())
	cfg.BackoffMin, cfg.BackoffMax = 10*time.Millisecond, 10*time.Millisecond
	p := started(t, cfg, newGate())
	c.answer(c.accept(), wire.StatusSysErr, nil)
	second := c.accept()
	if p.Unreachable() {
		t.Error("a refusal is called unreachable")
	}
	c.answer(second, wire.StatusOK, &wire.BindResp{SystemID: "c"})
	if ready(t, p); p.Unreachable() {
		t.Error("unreachable, though it is bound")
	}
	c.listener.Close()
	c.conn.Close()
	for end := time.Now().Add(10 * time.Second); !p.Unreachable(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody listens, and it does not tell")
		}
	}
}

// Of several binds an outcome says over which its bytes left; one that was not written left over none.
//
// covers: R15
func TestAnOutcomeNamesItsBind(t *testing.T) {
	s, _ := smsc(t, simulator.Config{})
	for name, want := range map[string]string{"": "", "simulated/2": "simulated/2"} {
		cfg := config(s.Addr())
		cfg.Bind = name
		p := started(t, cfg, newGate())
		ready(t, p)
		got := make(chan provider.Outcome, 2)
		p.Submit(message, func(o provider.Outcome) { got <- o })
		if o := <-got; o.Kind != provider.Accepted || o.Bind != want {
			t.Errorf("bind %q: %v over %q", name, o.Kind, o.Bind)
		}
		late := message
		late.Deadline = time.Now()
		p.Submit(late, func(o provider.Outcome) { got <- o })
		if o := <-got; o.Bind != "" {
			t.Errorf("what was not sent left over %q", o.Bind)
		}
	}
}
