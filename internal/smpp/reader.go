package smpp

import (
	"bufio"
	"errors"
	"io"
	"time"
)

func (s *Session) readLoop() {
	r := bufio.NewReaderSize(s.conn, chunk)
	for {
		raw, err := ReadFrame(r)
		if err != nil {
			s.end(err)
			return
		}
		s.heard()
		p, err := Decode(raw)
		if p.Command.IsResponse() {
			s.answered(&p, err)
			continue
		}
		s.request(&p, raw, err)
	}
}

// heard notes that the peer is alive.
func (s *Session) heard() {
	s.lastRead.Store(int64(time.Since(s.begun)))
	if s.doubt.Load() {
		s.doubt.Store(false)
		s.cfg.Freed()
	}
}

// request serves a request of the peer.
func (s *Session) request(p *PDU, raw []byte, err error) {
	s.mu.Lock()
	drop := s.hangup
	s.mu.Unlock()
	switch {
	case drop:
	case p.Command == CmdEnquireLink:
		s.Answer(p, StatusOK)
	case p.Command == CmdUnbind:
		s.Answer(p, StatusOK)
		s.mu.Lock()
		s.hangUp(ErrUnbound)
		s.mu.Unlock()
	case !p.Command.Known() || s.cfg.Handle == nil:
		s.Respond(&PDU{Command: CmdGenericNack, Status: StatusInvCmdID, Sequence: p.Sequence})
	default:
		s.cfg.Handle(s, p, raw, err)
	}
}

// end runs once, when nothing more can be read: it stops the writer and gives every request its result.
func (s *Session) end(err error) {
	if errors.Is(err, ErrLength) {
		s.nackAndClose()
	}
	s.mu.Lock()
	if errors.Is(err, io.EOF) {
		err = ErrClosed
	}
	s.ended = true
	s.shut(err)
	close(s.stop)
	s.mu.Unlock()
	s.writer.Wait()

	s.mu.Lock()
	queue, waiting := s.queue, s.waiting
	s.queue, s.waiting, s.inFlight = nil, map[uint32]*Request{}, 0
	s.mu.Unlock()
	for _, it := range queue {
		if it.req != nil {
			s.finish(it.req, Result{Err: ErrClosed})
		}
	}
	for _, r := range waiting {
		s.finish(r, Result{Err: ErrClosed, Written: true})
	}
	close(s.done)
}

// nackAndClose answers a length that makes the stream unreadable, and waits until that is written.
func (s *Session) nackAndClose() {
	s.mu.Lock()
	s.push(item{pdu: &PDU{Command: CmdGenericNack, Status: StatusInvCmdLen}})
	s.hangUp(ErrLength)
	s.mu.Unlock()
	_, _ = io.Copy(io.Discard, s.conn) // to the deadline that the writer sets, or the peer's end
}
