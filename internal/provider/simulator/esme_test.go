package simulator

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	wire "github.com/einmal/einmal/internal/smpp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.LedgerPath == "" {
		cfg.LedgerPath = filepath.Join(t.TempDir(), "ledger.jsonl")
	}
	s := New(cfg)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Server) entries(t testing.TB) []Entry {
	t.Helper()
	all, err := ReadLedger(s.cfg.LedgerPath)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// esme is a bound client.
type esme struct {
	t        testing.TB
	session  *wire.Session
	delivers chan *wire.PDU // each answered already, with 0
}

func bind(t testing.TB, s *Server, command wire.CommandID) *esme {
	t.Helper()
	e := &esme{t: t, delivers: make(chan *wire.PDU, 1000)}
	e.session = connect(t, s, func(session *wire.Session, p *wire.PDU, _ []byte, _ error) {
		session.Answer(p, wire.StatusOK)
		e.delivers <- p
	})
	if r := e.request(wire.PDU{Command: command, Body: &wire.Bind{SystemID: "esme", InterfaceVersion: wire.Version34}}); r.PDU == nil || r.PDU.Status != 0 {
		t.Fatalf("bind: %+v", r)
	}
	return e
}

func connect(t testing.TB, s *Server, handle func(*wire.Session, *wire.PDU, []byte, error)) *wire.Session {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	session := wire.NewSession(conn, wire.Config{Window: 1000, ResponseTimeout: 5 * time.Second, Handle: handle})
	t.Cleanup(session.Close)
	return session
}

func ask(t testing.TB, s *wire.Session, p wire.PDU) <-chan wire.Result {
	t.Helper()
	done := make(chan wire.Result, 2)
	if err := s.Request(&wire.Request{PDU: p, Done: func(r wire.Result) { done <- r }}); err != nil {
		t.Fatal(err)
	}
	return done
}

func (e *esme) request(p wire.PDU) wire.Result { return <-ask(e.t, e.session, p) }

// submission is a submit_sm to a number with these last digits.
func submission(digits, text string) wire.PDU {
	p := wire.PDU{Command: wire.CmdSubmitSM, Body: &wire.Message{
		Source: wire.Address{TON: 5, Addr: "SHOP"}, Dest: wire.Address{TON: 1, NPI: 1, Addr: "120255501" + digits},
		RegisteredDelivery: 1, ShortMessage: []byte(text),
	}}
	p.AddUint16(wire.TagUserMessageReference, 4711)
	return p
}

func (e *esme) deliver() *wire.PDU {
	e.t.Helper()
	select {
	case p := <-e.delivers:
		return p
	case <-time.After(5 * time.Second):
		e.t.Fatal("no deliver_sm")
		return nil
	}
}

// settle waits until everything that the simulator sent before is here.
func (e *esme) settle() {
	e.t.Helper()
	if r := e.request(wire.PDU{Command: wire.CmdEnquireLink}); r.Err != nil {
		e.t.Fatal(r.Err)
	}
}
