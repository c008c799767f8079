package smpp

import "time"

// timer is a response timer: the request with this number is not answered if it still waits then.
type timer struct {
	seq uint32
	due time.Time
}

// maxLate is how many requests without an answer are remembered for a late one.
const maxLate = 10_000

// register gives a request its number and starts its response timer. It is false if the session ended.
func (s *Session) register(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	r.PDU.Sequence = s.sequence()
	s.waiting[r.PDU.Sequence] = r
	s.skipAnswered()
	s.timers = append(s.timers, timer{r.PDU.Sequence, time.Now().Add(s.cfg.ResponseTimeout)})
	return true
}

// sequence returns the next number from 1 to MaxSequence that no unanswered request has.
func (s *Session) sequence() uint32 {
	for {
		s.next = s.next%MaxSequence + 1
		_, waits := s.waiting[s.next]
		if _, late := s.late[s.next]; !waits && !late {
			return s.next
		}
	}
}

func (s *Session) skipAnswered() {
	for len(s.timers) > 0 && s.waiting[s.timers[0].seq] == nil {
		s.timers = s.timers[1:]
	}
}

// release takes a request out of those that wait; false if somebody else did already.
func (s *Session) release(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[r.PDU.Sequence] != r {
		return false
	}
	s.forget(r)
	return true
}

// forget ends a request's wait and its place in the window.
func (s *Session) forget(r *Request) {
	delete(s.waiting, r.PDU.Sequence)
	s.leaveWindow(r)
}

func (s *Session) leaveWindow(r *Request) {
	if !counts(r.PDU.Command) {
		return
	}
	s.inFlight--
	if s.inFlight == 0 {
		signal(s.idle)
	}
}

// finish gives a request its result. Its place in the window is free by then.
func (s *Session) finish(r *Request, res Result) {
	if r.Done != nil {
		r.Done(res)
	}
	if counts(r.PDU.Command) && !res.Late {
		s.cfg.Freed()
	}
}

// answered matches an answer with its request by number. An answer to nothing, or of another kind than the
// request, is dropped: no answer is ever answered.
func (s *Session) answered(p *PDU, err error) {
	s.mu.Lock()
	r, late := s.waiting[p.Sequence], false
	if r == nil {
		r, late = s.late[p.Sequence], true
	}
	if r == nil || p.Command != r.PDU.Command.Response() && p.Command != CmdGenericNack {
		s.mu.Unlock()
		return
	}
	if late {
		delete(s.late, p.Sequence)
	} else {
		s.forget(r)
	}
	if r.PDU.Command == CmdEnquireLink {
		s.probing = false
	}
	s.mu.Unlock()
	s.finish(r, Result{PDU: p, Err: err, Written: true, Late: late})
}

// tick ends the response timers that are due and tests a silent link. It returns when it wants to run again.
func (s *Session) tick() time.Duration {
	now := time.Now()
	s.mu.Lock()
	expired := s.expire(now)
	quiet := now.Sub(s.begun) - time.Duration(s.lastRead.Load())
	if len(expired) > 0 && quiet >= s.cfg.ResponseTimeout {
		s.doubt.Store(true)
	}
	probe := (quiet >= s.cfg.EnquireLink || s.doubt.Load()) && !s.probing && !s.ended && !s.hangup
	if probe {
		s.probing = true
		s.push(item{req: &Request{PDU: PDU{Command: CmdEnquireLink}}})
	}
	again := s.cfg.ResponseTimeout
	if !s.probing {
		again = min(again, s.cfg.EnquireLink-quiet)
	}
	if s.skipAnswered(); len(s.timers) > 0 {
		again = min(again, s.timers[0].due.Sub(now))
	}
	s.mu.Unlock()
	for _, r := range expired {
		s.finish(r, Result{Err: ErrTimeout, Written: true})
	}
	return max(again, time.Millisecond)
}

func (s *Session) expire(now time.Time) (expired []*Request) {
	for s.skipAnswered(); len(s.timers) > 0 && !s.timers[0].due.After(now); s.skipAnswered() {
		r := s.waiting[s.timers[0].seq]
		s.forget(r)
		s.remember(r)
		expired = append(expired, r)
		if r.PDU.Command == CmdEnquireLink {
			s.shut(ErrLinkDead)
		}
	}
	return expired
}

// remember keeps a request for an answer that comes late; the oldest gives way.
func (s *Session) remember(r *Request) {
	if len(s.lateSeqs) >= maxLate {
		delete(s.late, s.lateSeqs[0])
		s.lateSeqs = s.lateSeqs[1:]
	}
	s.late[r.PDU.Sequence] = r
	s.lateSeqs = append(s.lateSeqs, r.PDU.Sequence)
}
