package smpp

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Why a request got no answer, or a session ended.
var (
	ErrClosed     = errors.New("smpp: the session is closed")
	ErrUnbound    = errors.New("smpp: the peer unbound")
	ErrTimeout    = errors.New("smpp: no answer within the response time")
	ErrLinkDead   = errors.New("smpp: enquire_link was not answered")
	ErrExpired    = errors.New("smpp: too late to be written")
	ErrWindowFull = errors.New("smpp: too many requests without an answer")
	ErrBacklog    = errors.New("smpp: the peer does not read what it is sent")
)

// Config says how a session behaves. The zero value of a field means its default.
type Config struct {
	// Window is how many requests may be without an answer (binds, enquire_link and unbind not counted): 10.
	Window int
	// ResponseTimeout is the response timer: 10 s. A request that it ends was not answered; whether it was
	// carried out is not known.
	ResponseTimeout time.Duration
	// EnquireLink is the silence after which the link is tested: 30 s.
	EnquireLink time.Duration
	// WriteTimeout bounds one write to the connection: ResponseTimeout.
	WriteTimeout time.Duration
	// Handle is given each request of the peer other than enquire_link and unbind, which the session answers.
	// It runs in the reading goroutine and must not block. raw is the whole PDU and may be kept; err says that
	// only the header could be read. Nil answers everything with generic_nack.
	Handle func(s *Session, p *PDU, raw []byte, err error)
	// Freed is called when the window has become freer. It must not block.
	Freed func()
}

func (c Config) withDefaults() Config {
	if c.Window <= 0 {
		c.Window = 10
	}
	if c.ResponseTimeout <= 0 {
		c.ResponseTimeout = 10 * time.Second
	}
	if c.EnquireLink <= 0 {
		c.EnquireLink = 30 * time.Second
	}
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = c.ResponseTimeout
	}
	if c.Freed == nil {
		c.Freed = func() {}
	}
	return c
}

// Request is a PDU that is to be answered.
type Request struct {
	PDU PDU // the session sets Sequence
	// Expires is the instant after which the first octet may not be written; zero means never.
	Expires time.Time
	// Written, if set, is called after the octets were given to the connection.
	Written func()
	// Done, if set, is called exactly once with the answer or the lack of one, and once more with Late set if
	// the answer comes after ErrTimeout. It runs in the session's goroutines and must not block.
	Done func(Result)
}

// Result is what became of a request.
type Result struct {
	PDU *PDU // the answer, or nil. Its TLVs are valid during the call
	Err error
	// Written is false where certainly no octet was given to the connection.
	Written bool
	Late    bool
}

// Session is one SMPP session over one connection, as ESME or as SMSC. One goroutine reads, one writes; what
// is queued while a write runs leaves with the next one. Safe for concurrent use.
type Session struct {
	conn  net.Conn
	cfg   Config
	begun time.Time

	mu       sync.Mutex
	queue    []item
	waiting  map[uint32]*Request
	timers   []timer // oldest first; those answered meanwhile are skipped
	late     map[uint32]*Request
	lateSeqs []uint32
	inFlight int
	next     uint32
	closing  bool // no new requests
	leaving  bool // somebody unbinds
	hangup   bool // close when the queue is empty
	// halfClosed: the peer was told that nothing more comes.
	halfClosed bool
	probing    bool // an enquire_link is without an answer
	ended      bool
	reason     error

	lastRead atomic.Int64 // nanoseconds since begun
	// doubt: a request was not answered, and nothing at all came since it was written. Until the peer is heard
	// again the window is closed, so that a peer that hangs makes one window of unknown outcomes and no more.
	doubt  atomic.Bool
	wake   chan struct{}
	idle   chan struct{}
	stop   chan struct{} // tells the writer to end
	done   chan struct{}
	writer sync.WaitGroup
}

// item is something to write: an answer, or a request.
type item struct {
	pdu *PDU
	req *Request
}

// NewSession starts a session on a connection, which it owns from now on.
func NewSession(conn net.Conn, cfg Config) *Session {
	s := &Session{
		conn: conn, cfg: cfg.withDefaults(), begun: time.Now(),
		waiting: map[uint32]*Request{}, late: map[uint32]*Request{},
		wake: make(chan struct{}, 1), idle: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.writer.Add(1)
	go s.writeLoop()
	go s.readLoop()
	return s
}

// Request queues a request. An error means that it was not taken, and Done is not called.
func (s *Session) Request(r *Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.ended {
		return ErrClosed
	}
	if counts(r.PDU.Command) {
		if s.inFlight >= s.cfg.Window || s.doubt.Load() {
			return ErrWindowFull
		}
		s.inFlight++
	}
	s.push(item{req: r})
	return nil
}

// Respond queues an answer. It is dropped if the session has ended.
func (s *Session) Respond(p *PDU) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && !s.halfClosed {
		s.push(item{pdu: p})
	}
}

// Answer queues an answer to a request of the peer: with an empty message id where a success has that field,
// else without a body.
func (s *Session) Answer(request *PDU, status Status) {
	p := &PDU{Command: request.Command.Response(), Status: status, Sequence: request.Sequence}
	switch p.Command {
	case CmdDeliverSMResp, CmdDataSMResp, CmdSubmitSMResp:
		if status == StatusOK {
			p.Body = &MessageID{}
		}
	}
	s.Respond(p)
}

// maxBacklog is how much may wait to be written. The window bounds requests, so only a peer that sends and
// does not read comes near it.
const maxBacklog = 100_000

func (s *Session) push(it item) {
	if len(s.queue) >= maxBacklog {
		s.shut(ErrBacklog)
	}
	s.queue = append(s.queue, it)
	signal(s.wake)
}

// Free is how many more requests fit into the window.
func (s *Session) Free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.ended || s.doubt.Load() {
		return 0
	}
	return s.cfg.Window - s.inFlight
}

// Peer is the address of the other side.
func (s *Session) Peer() string { return s.conn.RemoteAddr().String() }

// Done is closed when the session has ended and every request has its result.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err says why the session ended; nil while it runs.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		return nil
	}
	return s.reason
}

// counts reports whether a request is subject to the window.
func counts(c CommandID) bool {
	switch c {
	case CmdBindReceiver, CmdBindTransmitter, CmdBindTransceiver, CmdEnquireLink, CmdUnbind:
		return false
	}
	return true
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
