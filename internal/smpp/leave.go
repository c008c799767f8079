package smpp

import (
	"context"
	"crypto/tls"
	"time"
)

// drainTime is how long a side that has stopped writing goes on reading. Closing with unread octets would make
// TCP send a reset, which may destroy answers that the peer has not read yet.
const drainTime = time.Second

// Close ends the session at once and waits until every request has its result. It must not be called from
// Handle or from a request's callbacks.
func (s *Session) Close() {
	s.mu.Lock()
	s.shut(ErrClosed)
	s.mu.Unlock()
	<-s.done
}

// Hangup writes what is queued and then closes, without an unbind: requests of the peer that were not read yet
// are dropped. It returns at once.
func (s *Session) Hangup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangUp(ErrClosed)
}

// Unbind ends the session in order: no new requests, the answers to those under way are awaited, then unbind,
// its answer, and the close. When ctx ends it closes at once. Of several callers one unbinds.
func (s *Session) Unbind(ctx context.Context) {
	s.mu.Lock()
	second := s.leaving
	s.closing, s.leaving = true, true
	s.mu.Unlock()
	switch {
	case second:
		select {
		case <-s.done:
		case <-ctx.Done():
		}
	case s.drained(ctx):
		s.sayUnbind(ctx)
	}
	s.Close()
}

func (s *Session) drained(ctx context.Context) bool {
	for {
		s.mu.Lock()
		left, ended := s.inFlight, s.ended
		s.mu.Unlock()
		if left == 0 || ended {
			return !ended
		}
		select {
		case <-s.idle:
		case <-s.done:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *Session) sayUnbind(ctx context.Context) {
	answered := make(chan struct{})
	s.mu.Lock()
	if !s.ended {
		s.push(item{req: &Request{PDU: PDU{Command: CmdUnbind}, Done: func(r Result) {
			if !r.Late {
				close(answered)
			}
		}}})
	}
	s.mu.Unlock()
	select {
	case <-answered:
	case <-s.done:
	case <-ctx.Done():
	}
}

func (s *Session) hangUp(reason error) {
	s.closing, s.hangup = true, true
	s.setReason(reason)
	signal(s.wake)
}

// closeWrite tells the peer that nothing more comes, and lets the reader run to the peer's end.
func (s *Session) closeWrite() {
	_ = s.conn.SetReadDeadline(time.Now().Add(drainTime))
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		s.mu.Lock()
		s.shut(ErrClosed)
		s.mu.Unlock()
	}
}

// shut closes the connection; the reader then ends the session. On TLS the connection below is closed, since a
// farewell could block.
func (s *Session) shut(reason error) {
	s.closing = true
	s.setReason(reason)
	if t, ok := s.conn.(*tls.Conn); ok {
		_ = t.NetConn().Close()
		return
	}
	_ = s.conn.Close()
}

func (s *Session) setReason(err error) {
	if s.reason == nil {
		s.reason = err
	}
}
