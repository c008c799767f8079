package smpp

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is the other side of a session, driven by hand.
type peer struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

// pipe returns a session and its peer over an unbuffered connection.
func pipe(t *testing.T, cfg Config) (*Session, *peer) {
	a, b := net.Pipe()
	t.Cleanup(func() { b.Close() })
	return NewSession(a, cfg), &peer{t, b, bufio.NewReader(b)}
}

func (p *peer) read(want CommandID) PDU {
	p.t.Helper()
	raw, err := ReadFrame(p.r)
	if err != nil {
		p.t.Fatalf("waiting for %v: %v", want, err)
	}
	got, err := Decode(raw)
	if err != nil || got.Command != want {
		p.t.Fatalf("%v, %v; want %v", got.Command, err, want)
	}
	return got
}

func (p *peer) write(pdu PDU) {
	p.t.Helper()
	b, err := pdu.Append(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) answer(req PDU, id string) {
	p.t.Helper()
	p.write(PDU{Command: req.Command.Response(), Sequence: req.Sequence, Body: &MessageID{id}})
}

// results collects what became of requests.
type results struct {
	mu  sync.Mutex
	all []Result
}

func (r *results) done(res Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, res)
}

func (r *results) list() []Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

func submit(r *results) *Request {
	return &Request{PDU: PDU{Command: CmdSubmitSM, Body: &Message{}}, Done: r.done}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLateAnswer is case C02: the response timer ends the wait, the answer is still matched by its number.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe(t, Config{ResponseTimeout: 10 * time.Second, EnquireLink: time.Hour})
		var got results
		must(t, s.Request(submit(&got)))
		req := p.read(CmdSubmitSM)
		time.Sleep(10*time.Second - time.Nanosecond)
		synctest.Wait()
		if len(got.list()) != 0 {
			t.Fatalf("before the timer: %+v", got.list())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if all := got.list(); len(all) != 1 || !errors.Is(all[0].Err, ErrTimeout) || !all[0].Written {
			t.Fatalf("after the timer: %+v, free %d", all, s.Free())
		}
		p.answer(req, "A1B2")
		p.answer(req, "A1B2") // a second one matches nothing
		synctest.Wait()
		all := got.list()
		if len(all) != 2 || !all[1].Late || all[1].PDU.Body.(*MessageID).ID != "A1B2" {
			t.Fatalf("late: %+v", all)
		}
		s.Close()
		if len(got.list()) != 2 {
			t.Error("a third result at the close")
		}
	})
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freed := 0
		s, p := pipe(t, Config{Window: 2, Freed: func() { freed++ }})
		defer s.Close()
		var got results
		must(t, s.Request(submit(&got)))
		must(t, s.Request(submit(&got)))
		if err := s.Request(submit(&got)); !errors.Is(err, ErrWindowFull) || s.Free() != 0 {
			t.Fatalf("third of two: %v, free %d", err, s.Free())
		}
		p.read(CmdSubmitSM)
		second := p.read(CmdSubmitSM)
		if second.Sequence != 2 {
			t.Errorf("sequence %d", second.Sequence)
		}
		p.answer(second, "b")
		synctest.Wait()
		if freed != 1 || s.Free() != 1 {
			t.Errorf("freed %d times, free %d", freed, s.Free())
		}
		must(t, s.Request(submit(&got)))
		p.read(CmdSubmitSM)
	})
}

// TestDoubt: a peer that hangs makes one window of requests without an answer. The link is tested at once, and
// the window opens again when the peer is heard.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freed := 0
		s, p := pipe(t, Config{ResponseTimeout: 10 * time.Second, EnquireLink: time.Hour, Freed: func() { freed++ }})
		defer s.Close()
		var got results
		must(t, s.Request(submit(&got)))
		p.read(CmdSubmitSM)
		begun := time.Now()
		probe := p.read(CmdEnquireLink)
		if d := time.Since(begun); d != 10*time.Second {
			t.Errorf("the link was tested after %v", d)
		}
		if err := s.Request(submit(&got)); !errors.Is(err, ErrWindowFull) || s.Free() != 0 {
			t.Errorf("in doubt: %v, free %d", err, s.Free())
		}
		before := freed
		p.write(PDU{Command: CmdEnquireLinkResp, Sequence: probe.Sequence})
		synctest.Wait()
		if s.Free() != 10 || freed != before+1 {
			t.Errorf("heard: free %d, told %d times", s.Free(), freed-before)
		}
		must(t, s.Request(submit(&got)))
		p.read(CmdSubmitSM)
		p.write(PDU{Command: CmdEnquireLink, Sequence: 1})
		p.read(CmdEnquireLinkResp)
		time.Sleep(10*time.Second - time.Nanosecond)
		p.write(PDU{Command: CmdEnquireLink, Sequence: 2})
		p.read(CmdEnquireLinkResp)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(got.list()) != 2 || s.Free() != 10 {
			t.Errorf("a peer that is heard is not in doubt: %d results, free %d", len(got.list()), s.Free())
		}
	})
}

// TestForeignAnswers: answers that match nothing, or another kind of request, change nothing and are not
// answered.
func TestForeignAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe(t, Config{})
		defer s.Close()
		var got results
		must(t, s.Request(submit(&got)))
		req := p.read(CmdSubmitSM)
		p.write(PDU{Command: CmdSubmitSMResp, Sequence: 99})
		p.write(PDU{Command: 0x80000099, Sequence: req.Sequence})
		p.write(PDU{Command: CmdEnquireLinkResp, Sequence: req.Sequence})
		p.write(PDU{Command: CmdEnquireLink, Sequence: 5})
		if r := p.read(CmdEnquireLinkResp); r.Sequence != 5 {
			t.Errorf("sequence %d", r.Sequence)
		}
		if len(got.list()) != 0 {
			t.Errorf("%+v", got.list())
		}
		p.write(PDU{Command: CmdGenericNack, Status: StatusInvCmdID, Sequence: req.Sequence})
		synctest.Wait()
		if all := got.list(); len(all) != 1 || all[0].PDU.Status != StatusInvCmdID {
			t.Errorf("%+v", all)
		}
	})
}

func TestEnquireLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe(t, Config{EnquireLink: 30 * time.Second, ResponseTimeout: 10 * time.Second})
		begun := time.Now()
		req := p.read(CmdEnquireLink)
		p.write(PDU{Command: CmdEnquireLinkResp, Sequence: req.Sequence})
		p.read(CmdEnquireLink)
		if d := time.Since(begun); d != 60*time.Second {
			t.Errorf("second test of the link after %v", d)
		}
		<-s.Done()
		if d := time.Since(begun); d != 70*time.Second || !errors.Is(s.Err(), ErrLinkDead) {
			t.Errorf("ended after %v: %v", d, s.Err())
		}
	})
}

// TestCloseOnce: whatever a request's state is when the session ends, it has one result, and only what was
// given to the connection counts as written.
func TestCloseOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe(t, Config{Window: 100})
		var answered, open, stuck results
		must(t, s.Request(submit(&answered)))
		p.answer(p.read(CmdSubmitSM), "a")
		must(t, s.Request(submit(&open)))
		p.read(CmdSubmitSM)
		synctest.Wait()
		must(t, s.Request(submit(&open))) // the write blocks: nobody reads
		synctest.Wait()
		for range 5 {
			must(t, s.Request(submit(&stuck)))
		}
		p.conn.Close()
		<-s.Done()
		if all := answered.list(); len(all) != 1 || all[0].Err != nil {
			t.Errorf("answered: %+v", all)
		}
		if all := open.list(); len(all) != 2 || !all[0].Written || !all[1].Written {
			t.Errorf("open: %+v", all)
		}
		for _, r := range stuck.list() {
			if r.Written || r.Err == nil {
				t.Errorf("stuck: %+v", r)
			}
		}
		if len(stuck.list()) != 5 || !errors.Is(s.Request(submit(&stuck)), ErrClosed) {
			t.Errorf("%d results", len(stuck.list()))
		}
	})
}

// TestExpired: a request whose time is over when the writer comes to it leaves no octet.
func TestExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe(t, Config{Window: 100})
		defer s.Close()
		var first, late results
		must(t, s.Request(submit(&first))) // blocks the writer until it is read
		synctest.Wait()
		r := submit(&late)
		r.Expires = time.Now().Add(time.Second)
		must(t, s.Request(r))
		time.Sleep(time.Second)
		p.read(CmdSubmitSM)
		synctest.Wait()
		if all := late.list(); len(all) != 1 || !errors.Is(all[0].Err, ErrExpired) || all[0].Written || s.Free() != 99 {
			t.Fatalf("%+v, free %d", all, s.Free())
		}
		must(t, s.Request(submit(&first)))
		if seq := p.read(CmdSubmitSM).Sequence; seq != 2 {
			t.Errorf("sequence %d: something was written in between", seq)
		}
	})
}

// TestUnbind: the answers under way are awaited, then unbind is said, then the connection is closed.
func TestUnbind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe(t, Config{})
		var got results
		must(t, s.Request(submit(&got)))
		go s.Unbind(t.Context())
		req := p.read(CmdSubmitSM)
		synctest.Wait()
		if err := s.Request(submit(&got)); !errors.Is(err, ErrClosed) {
			t.Errorf("a request while unbinding: %v", err)
		}
		p.answer(req, "a")
		p.write(PDU{Command: CmdUnbindResp, Sequence: p.read(CmdUnbind).Sequence})
		<-s.Done()
		if all := got.list(); len(all) != 1 || all[0].Err != nil {
			t.Errorf("%+v", all)
		}
	})
}

func TestUnbindGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe(t, Config{})
		var got results
		must(t, s.Request(submit(&got)))
		p.read(CmdSubmitSM)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Unbind(ctx)
		if all := got.list(); len(all) != 1 || !errors.Is(all[0].Err, ErrClosed) || !all[0].Written {
			t.Errorf("%+v", all)
		}
	})
}

func TestUnknownCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe(t, Config{Handle: func(*Session, *PDU, []byte, error) { t.Error("handled") }})
		defer s.Close()
		p.write(PDU{Command: 0x99, Sequence: 7})
		if r := p.read(CmdGenericNack); r.Status != StatusInvCmdID || r.Sequence != 7 {
			t.Errorf("%+v", r)
		}
	})
}

// tcp returns two ends of a loopback connection.
func tcp(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	b, err := l.Accept()
	must(t, err)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestBadLength(t *testing.T) {
	a, b := tcp(t)
	s := NewSession(a, Config{})
	p := &peer{t, b, bufio.NewReader(b)}
	if _, err := b.Write([]byte{0, 0, 0, 15, 0, 0, 0, 0x15, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if r := p.read(CmdGenericNack); r.Status != StatusInvCmdLen || r.Sequence != 0 {
		t.Errorf("%+v", r)
	}
	b.Close()
	<-s.Done()
	if !errors.Is(s.Err(), ErrLength) {
		t.Error(s.Err())
	}
}

// TestHangup: what was queued is written before the connection ends, and requests that come after are dropped.
func TestHangup(t *testing.T) {
	a, b := tcp(t)
	s := NewSession(a, Config{Handle: func(s *Session, p *PDU, _ []byte, _ error) {
		s.Respond(&PDU{Command: CmdSubmitSMResp, Sequence: p.Sequence})
		s.Hangup()
	}})
	p := &peer{t, b, bufio.NewReader(b)}
	for i := range uint32(100) {
		p.write(PDU{Command: CmdSubmitSM, Sequence: i + 1, Body: &Message{}})
	}
	if r := p.read(CmdSubmitSMResp); r.Sequence != 1 {
		t.Errorf("%+v", r)
	}
	if raw, err := ReadFrame(p.r); err == nil {
		t.Errorf("more was written: %x", raw)
	}
	b.Close()
	<-s.Done()
}

// countingConn counts writes, and holds the first until it is told to go on.
type countingConn struct {
	net.Conn
	writes  int
	started chan struct{}
	proceed chan struct{}
}

func (c *countingConn) Write(b []byte) (int, error) {
	if c.writes++; c.writes == 1 {
		close(c.started)
		<-c.proceed
	}
	return c.Conn.Write(b)
}

// TestCoalescing: what gathers while a write runs leaves together with the next one.
func TestCoalescing(t *testing.T) {
	a, b := tcp(t)
	conn := &countingConn{Conn: a, started: make(chan struct{}), proceed: make(chan struct{})}
	s := NewSession(conn, Config{Window: 1000})
	var got results
	must(t, s.Request(submit(&got)))
	<-conn.started
	for range 500 {
		must(t, s.Request(submit(&got)))
	}
	close(conn.proceed)
	p := &peer{t, b, bufio.NewReader(b)}
	for range 501 {
		p.read(CmdSubmitSM)
	}
	s.Close()
	if conn.writes != 2 {
		t.Errorf("%d writes", conn.writes)
	}
}

// TestWriteFails: where the connection is known to be gone, nothing counts as written.
func TestWriteFails(t *testing.T) {
	a, _ := tcp(t)
	must(t, a.(*net.TCPConn).CloseWrite())
	s := NewSession(a, Config{})
	var got results
	must(t, s.Request(submit(&got)))
	<-s.Done()
	if all := got.list(); len(all) != 1 || all[0].Written || all[0].Err == nil {
		t.Errorf("%+v", all)
	}
}

func TestSequenceWraps(t *testing.T) {
	s := &Session{waiting: map[uint32]*Request{1: {}}, late: map[uint32]*Request{2: {}}, next: MaxSequence - 1}
	if a, b := s.sequence(), s.sequence(); a != MaxSequence || b != 3 {
		t.Errorf("%d, %d", a, b)
	}
}

func BenchmarkSession(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	smsc := NewSession(c, Config{Handle: func(s *Session, p *PDU, _ []byte, _ error) {
		s.Respond(&PDU{Command: CmdSubmitSMResp, Sequence: p.Sequence, Body: &MessageID{"0123456789"}})
	}})
	window := make(chan struct{}, 200)
	esme := NewSession(a, Config{Window: cap(window) + 1})
	for b.Loop() {
		window <- struct{}{}
		err := esme.Request(&Request{PDU: PDU{Command: CmdSubmitSM, Body: &Message{ShortMessage: make([]byte, 100)}},
			Done: func(Result) { <-window }})
		if err != nil {
			b.Fatal(err)
		}
	}
	esme.Close()
	smsc.Close()
}
