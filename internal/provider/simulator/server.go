// Package simulator is an SMPP 3.4 message centre on a listener of its own: a real peer for development and for
// failure tests. The last two digits of a destination choose what becomes of a message, see endings. What it
// does with each submit_sm is written to a ledger before the answer leaves, so that the ledger is the truth
// about what was taken.
package simulator

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/ground/clock"
	wire "github.com/einmal/einmal/internal/smpp"
)

// Config is a simulator's settings. The zero value of a field means its default.
type Config struct {
	Listen     string // host:port: "127.0.0.1:0"
	LedgerPath string // empty: no ledger
	// Echo sends user_message_reference of a submission back in its receipts.
	Echo bool
	// SystemID and Password are what a bind must give. Empty: any.
	SystemID, Password string
	// Binds is how many sessions of a system_id may be bound at a time; one more gets 0x05. 0: any number.
	Binds int
	// ReceiptDelay is the time from the answer to the receipt; 0 sends it at once.
	ReceiptDelay time.Duration
	// SlowReceipt is the delay of ending 10: 20 s.
	SlowReceipt time.Duration
	// Window is how many deliver_sm a receiver may have unanswered: 100.
	Window int
	// ResponseTimeout ends the wait for a deliver_sm_resp: 10 s. The delivery is then sent again.
	ResponseTimeout time.Duration
	Clock           clock.Clock
}

// sessionInit is how long a connection may stay without a bind (section 7.2).
const sessionInit = 30 * time.Second

// Server is a message centre.
type Server struct {
	cfg      Config
	listener net.Listener
	ledger   *ledger
	run      string // begins every message id of this run
	count    atomic.Uint64
	handsets handsets
	fates    fates

	mu        sync.Mutex
	closed    bool
	clients   map[*client]struct{}
	outboxes  map[string]*outbox
	bound     map[string]int // sessions by system_id
	throttled map[string]struct{}
	ended     sync.WaitGroup
}

// New returns a simulator that Start begins.
func New(cfg Config) *Server {
	setDefault(&cfg.Listen, "127.0.0.1:0")
	setDefault(&cfg.SlowReceipt, 20*time.Second)
	setDefault(&cfg.Window, 100)
	setDefault(&cfg.ResponseTimeout, 10*time.Second)
	if cfg.Clock == nil {
		cfg.Clock = clock.System{}
	}
	// Ids must not come again after a restart: receipts of the last run may still be under way.
	var run [6]byte
	_, _ = rand.Read(run[:])
	return &Server{
		cfg: cfg, run: hex.EncodeToString(run[:]), clients: map[*client]struct{}{},
		outboxes: map[string]*outbox{}, bound: map[string]int{}, throttled: map[string]struct{}{},
	}
}

func setDefault[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

// Start opens the ledger and listens.
func (s *Server) Start() error {
	ledger, err := openLedger(s.cfg.LedgerPath)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.cfg.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("simulator: %w", err), ledger.close())
	}
	s.ledger, s.listener = ledger, listener
	s.ended.Add(1)
	go s.accept()
	return nil
}

// Addr is the address that it listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends all sessions without an unbind and forgets what was not delivered.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	clients := make([]*client, 0, len(s.clients))
	for c := range s.clients {
		clients = append(clients, c)
	}
	for _, o := range s.outboxes {
		o.close()
	}
	s.mu.Unlock()
	err := s.listener.Close()
	for _, c := range clients {
		c.session.Close()
	}
	s.ended.Wait()
	return errors.Join(err, s.ledger.close())
}

func (s *Server) accept() {
	defer s.ended.Done()
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			s.welcome(conn)
		}
	}
}

func (s *Server) welcome(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return
	}
	c := &client{server: s}
	c.session = wire.NewSession(conn, wire.Config{
		Window: s.cfg.Window, ResponseTimeout: s.cfg.ResponseTimeout, Handle: c.handle, Freed: c.freed,
	})
	s.clients[c] = struct{}{}
	s.ended.Add(1)
	go s.watch(c)
}

// watch waits for a client's end.
func (s *Server) watch(c *client) {
	defer s.ended.Done()
	init := time.AfterFunc(sessionInit, func() {
		if c.box.Load() == nil {
			c.session.Hangup()
		}
	})
	<-c.session.Done()
	init.Stop()
	box := c.box.Load()
	if box != nil {
		box.detach(c.session)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if box != nil {
		s.bound[c.systemID]--
	}
	delete(s.clients, c)
}

// admit counts a session of a system_id that binds, unless there are as many as there may be.
func (s *Server) admit(systemID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Binds > 0 && s.bound[systemID] >= s.cfg.Binds {
		return false
	}
	s.bound[systemID]++
	return true
}

// Bound is how many sessions of a system_id are bound.
func (s *Server) Bound(systemID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound[systemID]
}

func (s *Server) outbox(systemID string) *outbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.outboxes[systemID]
	if o == nil {
		o = &outbox{closed: s.closed}
		s.outboxes[systemID] = o
	}
	return o
}

// delay is the time from a message to its receipts.
func (s *Server) delay(slow bool) time.Duration {
	if slow {
		return s.cfg.SlowReceipt
	}
	return s.cfg.ReceiptDelay
}

func (s *Server) messageID() string { return fmt.Sprintf("%s%08x", s.run, s.count.Add(1)) }

// maxThrottled bounds the memory for ending 03.
const maxThrottled = 100_000

// throttle reports whether this submission of a destination and text is the first of a pair.
func (s *Server) throttle(destination string, octets []byte) bool {
	key := destination + "\x00" + string(octets)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, seen := s.throttled[key]; seen {
		delete(s.throttled, key)
		return false
	}
	if len(s.throttled) >= maxThrottled {
		clear(s.throttled)
	}
	s.throttled[key] = struct{}{}
	return true
}

// shortCode is the largest number of digits of a number that belongs to no country.
const shortCode = 8

// address is a number as a message centre writes it.
func address(digits string) wire.Address {
	if len(digits) <= shortCode {
		return wire.Address{TON: wire.TONNetwork, NPI: wire.NPIUnknown, Addr: digits}
	}
	return wire.Address{TON: wire.TONInternational, NPI: wire.NPIISDN, Addr: digits}
}

// Inbound sends a text from a handset to the receivers of a system_id. Numbers are digits without a plus sign.
func (s *Server) Inbound(systemID, from, to, text string) error {
	return s.inbound(systemID, from, to, text, nil)
}

// inbound calls taken when a receiver has taken the text.
func (s *Server) inbound(systemID, from, to, text string, taken func()) error {
	part, err := gsm.Encode(text)
	if err != nil {
		return err
	}
	s.outbox(systemID).add(&delivery{then: taken, pdu: wire.PDU{Command: wire.CmdDeliverSM, Body: &wire.Message{
		Source: address(from), Dest: address(to),
		DataCoding: part.DataCoding, ShortMessage: part.Octets,
	}}})
	return nil
}
