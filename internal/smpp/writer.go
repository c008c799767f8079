package smpp

import (
	"net"
	"time"
)

// chunk is how many octets are gathered for one write. The expiry of a request is checked when it is gathered,
// so a chunk must leave within microseconds.
const chunk = 64 << 10

// writing is a request in the chunk that is being gathered, and where it starts.
type writing struct {
	req   *Request
	start int
}

func (s *Session) writeLoop() {
	defer s.writer.Done()
	var (
		batch []item
		w     = chunkWriter{s: s, buf: make([]byte, 0, chunk+4096)}
		timer = time.NewTimer(s.tick())
	)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C:
			timer.Reset(s.tick())
		case <-s.wake:
		}
		for batch = s.takeQueue(batch); len(batch) > 0; batch = s.takeQueue(batch) {
			if !w.write(batch) {
				return
			}
		}
	}
}

// takeQueue swaps the queue for an empty one. Nothing left and a hangup asked for: the writing side is closed
// and the reader goes on to the peer's end, so that no answer under way is lost.
func (s *Session) takeQueue(used []item) []item {
	clear(used)
	s.mu.Lock()
	batch := s.queue
	s.queue = used[:0]
	last := len(batch) == 0 && s.hangup && !s.halfClosed
	s.halfClosed = s.halfClosed || last
	s.mu.Unlock()
	if last {
		s.closeWrite()
	}
	return batch
}

// chunkWriter gathers items and writes them together.
type chunkWriter struct {
	s    *Session
	buf  []byte
	reqs []writing
}

// write writes a batch. False means that the connection is gone; every request of the batch is then finished
// or left to the reader's end.
func (w *chunkWriter) write(batch []item) bool {
	for i, it := range batch {
		w.gather(it)
		if (len(w.buf) >= chunk || i == len(batch)-1) && !w.flush() {
			w.s.refuse(batch[i+1:])
			return false
		}
	}
	return true
}

func (w *chunkWriter) gather(it item) {
	if it.req == nil {
		// An answer that cannot be written is a defect of the caller. The peer sees none and asks again.
		w.buf, _ = it.pdu.Append(w.buf)
		return
	}
	start := len(w.buf)
	if w.encode(it.req) {
		w.reqs = append(w.reqs, writing{it.req, start})
	}
}

func (w *chunkWriter) encode(r *Request) bool {
	if !r.Expires.IsZero() && !time.Now().Before(r.Expires) {
		w.s.giveUp(r, ErrExpired)
		return false
	}
	if !w.s.register(r) {
		w.s.giveUp(r, ErrClosed)
		return false
	}
	var err error
	if w.buf, err = r.PDU.Append(w.buf); err == nil {
		return true
	}
	if w.s.release(r) {
		w.s.finish(r, Result{Err: err})
	}
	return false
}

// flush writes the chunk.
func (w *chunkWriter) flush() bool {
	if len(w.buf) == 0 {
		return true
	}
	_ = w.s.conn.SetWriteDeadline(time.Now().Add(w.s.cfg.WriteTimeout))
	n, err := w.s.conn.Write(w.buf)
	if err != nil {
		w.s.writeFailed(n, err, w.reqs)
		return false
	}
	for _, r := range w.reqs {
		if r.req.Written != nil {
			r.req.Written()
		}
	}
	clear(w.reqs)
	w.buf, w.reqs = w.buf[:0], w.reqs[:0]
	return true
}

// writeFailed finishes the requests of which certainly no octet left: on TCP the count of written octets is
// exact; on TLS a record that failed may have left, so nothing is certain. The others wait for the reader,
// which takes what the peer still sent and then ends the session.
func (s *Session) writeFailed(n int, err error, reqs []writing) {
	_, exact := s.conn.(*net.TCPConn)
	for _, w := range reqs {
		if exact && w.start >= n && s.release(w.req) {
			s.finish(w.req, Result{Err: err})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	s.setReason(err)
	_ = s.conn.SetReadDeadline(time.Now().Add(drainTime))
}

// refuse finishes items that will not be written.
func (s *Session) refuse(items []item) {
	for _, it := range items {
		if it.req != nil {
			s.giveUp(it.req, ErrClosed)
		}
	}
}

// giveUp finishes a request that was never registered, so that no octet of it was written.
func (s *Session) giveUp(r *Request, err error) {
	s.mu.Lock()
	s.leaveWindow(r)
	s.mu.Unlock()
	s.finish(r, Result{Err: err})
}
