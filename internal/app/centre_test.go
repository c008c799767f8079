package app_test

import (
	"bufio"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	wire "github.com/einmal/einmal/internal/smpp"
)

// centre is a message centre that a test drives by hand: it takes binds and answers tests of the link by itself, and
// nothing else.
type centre struct {
	t         *testing.T
	listener  net.Listener
	submitted chan wire.PDU // every submit_sm, in the order of arrival
	acked     chan wire.PDU // every deliver_sm_resp

	mu   sync.Mutex
	conn net.Conn
	seq  uint32
	came int // how many connections there were
}

// newCentre starts a centre and makes it the only connection of the configuration.
func newCentre(t *testing.T, c *app.Config, change func(*app.Connection)) *centre {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	m := &centre{t: t, listener: l, submitted: make(chan wire.PDU, 100), acked: make(chan wire.PDU, 1000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.serve()
	}()
	t.Cleanup(func() {
		_ = l.Close()
		m.mu.Lock()
		if m.conn != nil {
			_ = m.conn.Close()
		}
		m.mu.Unlock()
		<-done
	})
	k := app.Connection{
		Kind: "smpp", Address: l.Addr().String(), SystemID: "einmal", Window: 10,
		ResponseTimeout: app.Duration(2 * time.Second), EnquireLink: app.Duration(30 * time.Second),
	}
	if change != nil {
		change(&k)
	}
	c.Connections = map[string]app.Connection{"carrier": k}
	return m
}

// serve takes one connection after the other, until there are no more.
func (m *centre) serve() {
	for {
		conn, err := m.listener.Accept()
		if err != nil {
			return
		}
		m.mu.Lock()
		m.conn, m.came = conn, m.came+1
		m.mu.Unlock()
		m.read(bufio.NewReader(conn))
	}
}

func (m *centre) read(r *bufio.Reader) {
	for {
		raw, err := wire.ReadFrame(r)
		if err != nil {
			return
		}
		p, err := wire.Decode(raw)
		if err != nil {
			return
		}
		switch p.Command {
		case wire.CmdBindTransceiver:
			m.answer(p, wire.StatusOK, &wire.BindResp{SystemID: "centre"})
		case wire.CmdEnquireLink, wire.CmdUnbind:
			m.answer(p, wire.StatusOK, nil)
		case wire.CmdSubmitSM:
			m.submitted <- p
		case wire.CmdDeliverSMResp:
			m.acked <- p
		}
	}
}

// next waits for the next submit_sm.
func (m *centre) next() wire.PDU {
	m.t.Helper()
	select {
	case p := <-m.submitted:
		return p
	case <-time.After(20 * time.Second):
		m.t.Fatal("nothing was submitted")
		panic("unreachable")
	}
}

// acks waits for the answers to so many deliver_sm: all of them were taken, and by one connection.
func (m *centre) acks(n int) {
	m.t.Helper()
	for range n {
		select {
		case p := <-m.acked:
			if p.Status != wire.StatusOK {
				m.t.Errorf("a deliver_sm is answered with %s", p.Status)
			}
		case <-time.After(20 * time.Second):
			m.t.Fatal("a deliver_sm has no answer")
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.came != 1 {
		m.t.Errorf("there were %d connections, want the one that stays bound", m.came)
	}
}

// accept answers a submission with a message id.
func (m *centre) accept(p wire.PDU, id string) { m.answer(p, wire.StatusOK, &wire.MessageID{ID: id}) }

func (m *centre) answer(p wire.PDU, status wire.Status, body wire.Body) {
	m.write(wire.PDU{Command: p.Command.Response(), Status: status, Sequence: p.Sequence, Body: body})
}

// receipt sends a delivery receipt with this text about a submission.
func (m *centre) receipt(about wire.PDU, text string) {
	sent := about.Body.(*wire.Message)
	m.deliver(&wire.Message{Source: sent.Dest, Dest: sent.Source, ESMClass: 0x04, ShortMessage: []byte(text)})
}

func (m *centre) deliver(body *wire.Message) {
	m.mu.Lock()
	m.seq++
	seq := m.seq
	m.mu.Unlock()
	m.write(wire.PDU{Command: wire.CmdDeliverSM, Sequence: seq, Body: body})
}

// raw writes octets as they are.
func (m *centre) raw(b []byte) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.conn.Write(b)
	must(m.t, err)
}

func (m *centre) write(p wire.PDU) {
	m.t.Helper()
	b, err := p.Append(nil)
	must(m.t, err)
	m.raw(b)
}
