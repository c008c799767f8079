package simulator

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/einmal/einmal/internal/domain/receipt"
	wire "github.com/einmal/einmal/internal/smpp"
)

// TestEndings is the table of endings, on the wire and in the ledger, with and without an echo.
func TestEndings(t *testing.T) {
	const lost = wire.Status(0xFFFFFFFF) // no answer
	for digits, c := range map[string]struct {
		ledger  []Outcome
		status  []wire.Status
		reports []string
	}{
		"00": {[]Outcome{Accepted}, []wire.Status{0}, []string{"04 DELIVRD"}},
		"77": {[]Outcome{Accepted}, []wire.Status{0}, []string{"04 DELIVRD"}},
		"01": {[]Outcome{Accepted}, []wire.Status{0}, []string{"04 UNDELIV"}},
		"02": {[]Outcome{Rejected}, []wire.Status{0x0B}, nil},
		"03": {[]Outcome{Throttled, Accepted}, []wire.Status{0x58, 0}, []string{"04 DELIVRD"}},
		"04": {[]Outcome{Accepted}, []wire.Status{lost}, []string{"04 DELIVRD"}},
		"05": {[]Outcome{Ignored}, []wire.Status{lost}, nil},
		"06": {[]Outcome{Accepted}, []wire.Status{0}, []string{"04 DELIVRD", "04 DELIVRD"}},
		"07": {[]Outcome{Accepted}, []wire.Status{0}, []string{"04 DELIVRD", "20 ENROUTE"}},
		"08": {[]Outcome{Accepted}, []wire.Status{0}, []string{"04 DELIVRD", "04 UNDELIV"}},
		"10": {[]Outcome{Accepted}, []wire.Status{0}, []string{"04 DELIVRD"}},
		"14": {[]Outcome{Accepted}, []wire.Status{0}, nil},
	} {
		for _, echo := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, echo %v", digits, echo), func(t *testing.T) {
				s := start(t, Config{Echo: echo, SlowReceipt: 50 * time.Millisecond})
				e := bind(t, s, wire.CmdBindTransceiver)
				var ids []string
				for _, want := range c.status {
					answer := ask(t, e.session, submission(digits, "hello"))
					if want == lost {
						e.settle() // answers come in order: there is none
						if len(answer) != 0 {
							t.Errorf("answered: %+v", <-answer)
						}
						continue
					}
					r := <-answer
					if r.PDU == nil || r.PDU.Status != want {
						t.Fatalf("%+v, want status %v", r, want)
					}
					if b, ok := r.PDU.Body.(*wire.MessageID); ok {
						ids = append(ids, b.ID)
					}
				}
				checkReports(t, e, s, c.reports, echo)
				checkLedger(t, s.entries(t), c.ledger, ids)
			})
		}
	}
}

func checkReports(t *testing.T, e *esme, s *Server, want []string, echo bool) {
	t.Helper()
	for _, w := range want {
		p := e.deliver()
		m := p.Body.(*wire.Message)
		text := receipt.ParseText(string(m.ShortMessage))
		if got := fmt.Sprintf("%02x %s", m.ESMClass, text.Stat); got != w {
			t.Errorf("receipt %q, want %q", got, w)
		}
		id, _ := p.TLVString(wire.TagReceiptedMessageID)
		if entries := s.entries(t); id == "" || id != text.ID || id != entries[len(entries)-1].MessageID {
			t.Errorf("ids %q in the TLV, %q in the text", id, text.ID)
		}
		if m.Source.Addr[:9] != "120255501" || m.Dest.Addr != "SHOP" || text.Quoted != "hello" {
			t.Errorf("%+v", m)
		}
		ref, has := p.TLVUint(wire.TagUserMessageReference)
		if has != echo || has && ref != 4711 {
			t.Errorf("reference %d, %v", ref, has)
		}
	}
	e.settle()
	if len(e.delivers) != 0 {
		t.Errorf("%d receipts more", len(e.delivers))
	}
}

func checkLedger(t *testing.T, got []Entry, want []Outcome, ids []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i, e := range got {
		if e.Outcome != want[i] || (e.MessageID != "") != (want[i] == Accepted) || *e.Reference != 4711 ||
			e.SystemID != "esme" || string(e.ShortMessage) != "hello" || e.Source != "SHOP" {
			t.Errorf("%+v", e)
		}
	}
	if n := len(ids); n > 0 && ids[n-1] != "" && ids[n-1] != got[len(got)-1].MessageID {
		t.Errorf("answered with %q", ids)
	}
}

// TestReceiptBeforeAnswer is ending 09.
//
// covers: R5
func TestReceiptBeforeAnswer(t *testing.T) {
	e := bind(t, start(t, Config{}), wire.CmdBindTransceiver)
	r := e.request(submission("09", "hello"))
	if r.PDU == nil || r.PDU.Status != 0 || len(e.delivers) != 1 {
		t.Errorf("%+v, %d receipts before it", r, len(e.delivers))
	}
}

// TestReceiptBeforeAnswerUnheard: a transmitter alone is answered though nobody takes the receipt.
func TestReceiptBeforeAnswerUnheard(t *testing.T) {
	e := bind(t, start(t, Config{}), wire.CmdBindTransmitter)
	if r := e.request(submission("09", "hello")); r.PDU == nil || r.PDU.Status != 0 {
		t.Errorf("%+v", r)
	}
}

func TestUnknownFormat(t *testing.T) {
	e := bind(t, start(t, Config{Echo: true}), wire.CmdBindTransceiver)
	e.request(submission("11", "hello"))
	p := e.deliver()
	if text := receipt.ParseText(string(p.Octets())); text.Problem == "" || len(p.TLVs) != 0 {
		t.Errorf("readable: %q, TLVs %v", p.Octets(), p.TLVs)
	}
}

// TestCuts are endings 12 and 13: the connection ends in place of an answer, and only what the ledger has as
// accepted is reported to the next session.
func TestCuts(t *testing.T) {
	s := start(t, Config{})
	for _, digits := range []string{"13", "12"} {
		want := endings[digits].outcome
		e := bind(t, s, wire.CmdBindTransceiver)
		r := e.request(submission(digits, "hello"))
		if r.PDU != nil || !r.Written {
			t.Errorf("%s: %+v", digits, r)
		}
		<-e.session.Done()
		if all := s.entries(t); all[len(all)-1].Outcome != want || (want == Accepted) != (digits == "12") {
			t.Errorf("%s: %v", digits, all[len(all)-1].Outcome)
		}
		if len(e.delivers) != 0 {
			t.Errorf("%s: a receipt on the old session", digits)
		}
	}
	again := bind(t, s, wire.CmdBindReceiver)
	id, _ := again.deliver().TLVString(wire.TagReceiptedMessageID)
	accepted := slices.IndexFunc(s.entries(t), func(e Entry) bool { return e.Outcome == Accepted })
	if id != s.entries(t)[accepted].MessageID {
		t.Errorf("receipt for %q", id)
	}
	again.settle()
	if len(again.delivers) != 0 {
		t.Error("a receipt for what was not taken")
	}
}

// TestACutSparesOthers: what is under way beside a message whose ending cuts the connection has its answer before,
// also where the answer waits for a receipt.
func TestACutSparesOthers(t *testing.T) {
	s := start(t, Config{})
	for _, digits := range []string{"12", "13"} {
		e := bind(t, s, wire.CmdBindTransceiver)
		var others []<-chan wire.Result
		var cut <-chan wire.Result
		for i := range 60 {
			switch {
			case i == 20:
				cut = ask(t, e.session, submission(digits, "hello"))
			case i%2 == 0:
				others = append(others, ask(t, e.session, submission("09", fmt.Sprint("early ", i))))
			default:
				others = append(others, ask(t, e.session, submission("00", fmt.Sprint("hello ", i))))
			}
		}
		for i, answer := range others {
			if r := <-answer; r.PDU == nil || r.PDU.Status != 0 {
				t.Errorf("%s: the answer to another message, %d, is %+v", digits, i, r)
			}
		}
		if r := <-cut; r.PDU != nil || !r.Written {
			t.Errorf("%s itself: %+v", digits, r)
		}
		<-e.session.Done()
	}
}

// TestACutComes: a connection that is never quiet is cut all the same.
func TestACutComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cut := &cut{}, make(chan struct{})
		ours, _ := net.Pipe()
		session := wire.NewSession(ours, wire.Config{Window: 1})
		begun := time.Now()
		c.cutWhenQuiet(session, 1, func() { close(cut) })
		for busy := true; busy; {
			c.hear()
			select {
			case <-cut:
				busy = false
			case <-time.After(cutQuiet / 2):
			}
		}
		if took := time.Since(begun); took < cutMost || took > cutMost+cutQuiet {
			t.Errorf("cut after %s", took)
		}
		session.Close()
	})
}

func TestRegisteredDelivery(t *testing.T) {
	e := bind(t, start(t, Config{}), wire.CmdBindTransceiver)
	for _, c := range []struct {
		digits   string
		asked    uint8
		receipts int
	}{{"00", 0, 0}, {"00", 2, 0}, {"01", 2, 1}, {"00", 0x11, 1}, {"00", 3, 1}, {"01", 3, 0}} {
		p := submission(c.digits, "hello")
		p.Body.(*wire.Message).RegisteredDelivery = c.asked
		e.request(p)
		for range c.receipts {
			e.deliver()
		}
		e.settle()
		if len(e.delivers) != 0 {
			t.Errorf("%+v: a receipt more", c)
		}
	}
}
