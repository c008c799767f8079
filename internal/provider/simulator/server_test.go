package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// TestLedgerLine: the keys and forms that scripts read.
func TestLedgerLine(t *testing.T) {
	at := clock.NewManual(time.Date(2026, 10, 3, 17, 45, 0, 120_000_000, time.UTC))
	s := start(t, Config{Clock: at})
	e := bind(t, s, wire.CmdBindTransceiver)
	e.request(submission("14", "hi"))
	p := submission("02", "\x00")
	p.TLVs = nil
	e.request(p)
	e.request(with("050003070201|x"))
	raw, err := os.ReadFile(s.cfg.LedgerPath)
	if err != nil {
		t.Fatal(err)
	}
	id := s.entries(t)[0].MessageID
	want := `{"at":"2026-10-03T17:45:00.120000Z","system_id":"esme","seq":2,"reference":4711,"source":"SHOP","destination":"12025550114","message_id":"` + id + `","short_message_hex":"6869","outcome":"accepted"}
{"at":"2026-10-03T17:45:00.120000Z","system_id":"esme","seq":3,"reference":null,"source":"SHOP","destination":"12025550102","message_id":"","short_message_hex":"00","outcome":"rejected"}
{"at":"2026-10-03T17:45:00.120000Z","system_id":"esme","seq":4,"reference":4711,"source":"SHOP","destination":"12025550114","message_id":"` + s.entries(t)[2].MessageID + `","short_message_hex":"05000307020178","segment":{"reference":7,"number":1,"total":2},"outcome":"accepted"}
`
	if string(raw) != want {
		t.Errorf("got\n%swant\n%s", raw, want)
	}
}

func TestReadLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	l, err := openLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	ref := uint16(65535)
	want := Entry{At: time.UnixMicro(1).UTC(), SystemID: "a", Seq: 1, Reference: &ref, Destination: "1",
		MessageID: "m", ShortMessage: []byte{0, 255}, Outcome: Accepted}
	if err := l.add(want); err != nil {
		t.Fatal(err)
	}
	// A kill in the middle of a write leaves a line without its end.
	if _, err := l.file.WriteString(`{"at":"2026`); err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLedger(path)
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	a, _ := json.Marshal(got[0])
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("%s, want %s", a, b)
	}
	if err := os.WriteFile(path, []byte("{}x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLedger(path); err == nil {
		t.Error("a broken line was read")
	}
}

// TestLedgerComesFirst: what cannot be written down is not taken.
func TestLedgerComesFirst(t *testing.T) {
	s := start(t, Config{})
	e := bind(t, s, wire.CmdBindTransceiver)
	e.settle()
	if err := s.ledger.file.Close(); err != nil {
		t.Fatal(err)
	}
	r := e.request(submission("00", "hello"))
	if r.PDU == nil || r.PDU.Status != wire.StatusMsgQueueFull {
		t.Errorf("%+v", r)
	}
	e.settle()
	if len(e.delivers) != 0 || len(s.Handset("12025550100")) != 0 {
		t.Error("it was delivered all the same")
	}
	s.ledger.file = nil
}

// TestIDsAcrossRuns: a message id never comes twice, not even after a restart.
func TestIDsAcrossRuns(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		s := New(Config{})
		for range 1000 {
			id := s.messageID()
			if seen[id] || len(id) > 64 {
				t.Fatalf("%q", id)
			}
			seen[id] = true
		}
	}
}

// As many sessions of an account are bound as it may have; one that ends makes room.
func TestBindsAreCounted(t *testing.T) {
	s := start(t, Config{Binds: 2})
	bind := func(id string) (*wire.Session, wire.Status) {
		session := connect(t, s, nil)
		r := <-ask(t, session, wire.PDU{Command: wire.CmdBindTransceiver, Body: &wire.Bind{SystemID: id, InterfaceVersion: 0x34}})
		return session, r.PDU.Status
	}
	first, status := bind("esme")
	for i, want := range []wire.Status{wire.StatusOK, wire.StatusOK, wire.StatusAlreadyBound} {
		if status != want || s.Bound("esme") > 2 {
			t.Fatalf("bind %d: %v, want %v; %d are bound", i+1, status, want, s.Bound("esme"))
		}
		_, status = bind("esme")
	}
	if _, status = bind("other"); status != wire.StatusOK {
		t.Errorf("another account: %v", status)
	}
	first.Close()
	for end := time.Now().Add(10 * time.Second); s.Bound("esme") > 1; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a session that has ended is counted")
		}
	}
	if _, status = bind("esme"); status != wire.StatusOK {
		t.Errorf("after one has ended: %v", status)
	}
}

func TestBindRules(t *testing.T) {
	s := start(t, Config{SystemID: "esme", Password: "right"})
	session := connect(t, s, nil)
	ask := func(p wire.PDU) *wire.PDU { return (<-ask(t, session, p)).PDU }
	bind := func(id, password string) *wire.PDU {
		return ask(wire.PDU{Command: wire.CmdBindReceiver, Body: &wire.Bind{SystemID: id, Password: password, InterfaceVersion: 0x34}})
	}
	for _, c := range []struct {
		got  *wire.PDU
		want wire.Status
	}{
		{ask(submission("00", "x")), wire.StatusInvBindStatus},
		{bind("other", "right"), wire.StatusInvSystemID},
		{bind("esme", "wrong"), wire.StatusInvPassword},
		{bind("esme", "right"), wire.StatusOK},
		{bind("esme", "right"), wire.StatusAlreadyBound},
		{ask(submission("00", "x")), wire.StatusInvBindStatus}, // a receiver may not submit
		{ask(wire.PDU{Command: wire.CmdQuerySM, Body: &wire.Query{}}), wire.StatusInvBindStatus},
		{ask(wire.PDU{Command: wire.CmdCancelSM, Body: &wire.Cancel{}}), wire.StatusInvCmdID},
	} {
		if c.got == nil || c.got.Status != c.want {
			t.Errorf("%+v, want %v", c.got, c.want)
		}
	}
	if len(s.entries(t)) != 0 {
		t.Error("something was taken")
	}
}

// TestUnreadableTimes: what is no time is refused, in the ledger too.
func TestUnreadableTimes(t *testing.T) {
	s := start(t, Config{})
	e := bind(t, s, wire.CmdBindTransceiver)
	for _, c := range []struct {
		schedule, validity string
		want               wire.Status
	}{
		{"", "", wire.StatusOK},
		{"261003174500000+", "000001000000000R", wire.StatusOK},
		{"tomorrow", "", wire.StatusInvSchedule},
		{"", "1d", wire.StatusInvExpiry},
	} {
		p := submission("00", "hi")
		p.Body.(*wire.Message).ScheduleDeliveryTime, p.Body.(*wire.Message).ValidityPeriod = c.schedule, c.validity
		r := e.request(p)
		last := s.entries(t)
		if r.PDU.Status != c.want || (last[len(last)-1].Outcome == Accepted) != (c.want == wire.StatusOK) {
			t.Errorf("%+v: %v, %+v", c, r.PDU.Status, last[len(last)-1])
		}
	}
}

// TestReceiptQuotes: the first twenty characters, none of them cut.
func TestReceiptQuotes(t *testing.T) {
	text := strings.Repeat("€", 19) + "😀я tail"
	part, err := gsm.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	e := bind(t, start(t, Config{}), wire.CmdBindTransceiver)
	p := submission("00", "")
	p.Body.(*wire.Message).ShortMessage, p.Body.(*wire.Message).DataCoding = part.Octets, part.DataCoding
	e.request(p)
	_, quote, _ := bytes.Cut(e.deliver().Octets(), []byte("text:"))
	if got, _ := gsm.Decode(0, quote); got != strings.Repeat("€", 19)+"?" {
		t.Errorf("%q", got)
	}
}

// TestRedelivery: what is answered with 0x64 comes again after a second, what is taken does not, and what had no
// answer comes again at once.
func TestRedelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken, tried := 0, 0
		o := &outbox{}
		d := &delivery{then: func() { taken++ }, tried: func() { tried++ }}
		waits := func(want int) {
			t.Helper()
			synctest.Wait()
			o.mu.Lock()
			defer o.mu.Unlock()
			if len(o.queue) != want {
				t.Fatalf("%d queued, want %d", len(o.queue), want)
			}
			o.queue = nil
		}
		refused := wire.Result{PDU: &wire.PDU{Status: wire.StatusTempAppErr}}
		o.done(d, refused)
		time.Sleep(time.Second - time.Nanosecond)
		waits(0)
		time.Sleep(time.Nanosecond)
		waits(1)
		o.done(d, wire.Result{Err: wire.ErrClosed})
		waits(1)
		o.done(d, wire.Result{PDU: &wire.PDU{}})
		o.done(d, wire.Result{PDU: &wire.PDU{}, Late: true})
		d.tries = maxTries
		o.done(d, refused)
		time.Sleep(time.Minute)
		waits(0)
		if taken != 1 || tried != 1 {
			t.Errorf("taken %d times, first try told %d times", taken, tried)
		}
	})
}

// TestPhones: a handset's messages are counted, awaited, and answered over the bind that they came from.
func TestPhones(t *testing.T) {
	s := start(t, Config{})
	e := bind(t, s, wire.CmdBindTransceiver)
	const number = "12025550114"
	came := make(chan struct{})
	go func() {
		s.Await(t.Context(), number, 1)
		close(came)
	}()
	e.request(submission("00", "another number"))
	e.request(submission("14", "one"))
	e.request(submission("14", "two"))
	<-came
	if got := s.Received(number, 1); len(got) != 1 || got[0].N != 2 || got[0].Text != "two" || got[0].Parts != 1 {
		t.Errorf("%+v", got)
	}
	if err := s.Answer(t.Context(), number, "4711", "yes"); err != nil {
		t.Error(err)
	}
	for range 2 { // the receipt of 00 came first
		if m := e.deliver().Body.(*wire.Message); m.ESMClass == 0 && (m.Source.Addr != number || m.Dest.Addr != "4711" || string(m.ShortMessage) != "yes") {
			t.Errorf("%+v", m)
		}
	}
	if len(e.delivers) != 0 {
		t.Error("more than the receipt and the answer came")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.Await(ended, number, 2)
	e.session.Close()
	if err := s.Answer(ended, number, "4711", "too late"); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody took it: %v", err)
	}
	if err := s.Answer(t.Context(), number, "4711", strings.Repeat("x", 161)); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("too long: %v", err)
	}
	if err := start(t, Config{}).Answer(t.Context(), number, "4711", "x"); !errors.Is(err, provider.ErrNobody) {
		t.Errorf("nobody: %v", err)
	}
}

func TestInboundAndHandset(t *testing.T) {
	s := start(t, Config{})
	e := bind(t, s, wire.CmdBindTransceiver)
	if err := s.Inbound("esme", "12025550143", "12025550100", "Привет"); err != nil {
		t.Fatal(err)
	}
	p := e.deliver()
	if m := p.Body.(*wire.Message); m.DataCoding != 8 || m.Source.Addr != "12025550143" || m.ESMClass != 0 {
		t.Errorf("%+v", m)
	}
	for range maxPerHandset + 5 {
		e.request(submission("14", "hello"))
	}
	if got := s.Handset("12025550114"); len(got) != maxPerHandset || got[0].Text != "hello" || got[0].From != "SHOP" {
		t.Errorf("%d messages", len(got))
	}
}

// BenchmarkSubmit is a submit_sm with its ledger line, its answer, its receipt and the receipt's answer.
func BenchmarkSubmit(b *testing.B) {
	s := start(b, Config{Echo: true})
	window := make(chan struct{}, 200)
	received := make(chan struct{}, 1)
	n := 0
	session := connect(b, s, func(session *wire.Session, p *wire.PDU, _ []byte, _ error) {
		session.Answer(p, wire.StatusOK)
		if n++; n == b.N {
			received <- struct{}{}
		}
	})
	<-ask(b, session, wire.PDU{Command: wire.CmdBindTransceiver, Body: &wire.Bind{SystemID: "esme", InterfaceVersion: 0x34}})
	b.ResetTimer()
	for range b.N {
		window <- struct{}{}
		if err := session.Request(&wire.Request{PDU: submission("00", "Your order A-1001 is confirmed."), Done: func(wire.Result) { <-window }}); err != nil {
			b.Fatal(err)
		}
	}
	<-received
}
