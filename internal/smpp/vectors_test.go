package smpp_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"

	"github.com/einmal/einmal/internal/smpp"
	"github.com/einmal/einmal/internal/smpp/smpptest"
)

// handled is what a session does with a malformed PDU.
type handled struct {
	answer  string // of the session itself or of the side that it hands the PDU to; empty: none
	octets  string // the text, where the PDU is handed on
	warning string
	ends    bool // the stream cannot be read on
}

// malformed says it for every malformed vector.
var malformed = map[string]handled{
	"bad_length_15":          {answer: "generic_nack 0x00000002 sequence 0", ends: true},
	"unknown_command":        {answer: "generic_nack 0x00000003 sequence 7"},
	"unknown_response":       {},
	"tlv_overrun":            {answer: "deliver_sm_resp 0x00000000 sequence 110", octets: "STOP", warning: "bad TLV 0427 dropped"},
	"tlv_unknown":            {answer: "deliver_sm_resp 0x00000000 sequence 111", octets: "STOP"},
	"cstring_no_nul":         {}, // an answer to nothing; see TestCStringWithoutNUL
	"resp_unknown_sequence":  {},
	"both_short_and_payload": {answer: "deliver_sm_resp 0x00000000 sequence 113", octets: "STOP"},
}

// TestMalformedVectors: none of them costs the session, but the one after which no PDU can be found.
func TestMalformedVectors(t *testing.T) {
	for id, v := range smpptest.Vectors(t) {
		want, ok := malformed[id]
		if !v.Malformed {
			continue
		}
		if !ok {
			t.Errorf("nothing is said about %s", id)
			continue
		}
		t.Run(id, func(t *testing.T) { checkMalformed(t, v.Raw(t), want) })
	}
}

func checkMalformed(t *testing.T, raw []byte, want handled) {
	handed := make(chan *smpp.PDU, 1)
	s, conn := dial(t, func(s *smpp.Session, p *smpp.PDU, _ []byte, err error) {
		if err != nil {
			t.Error(err)
		}
		handed <- p
		s.Answer(p, smpp.StatusOK)
	})
	r := bufio.NewReader(conn)
	probe := smpp.PDU{Command: smpp.CmdEnquireLink, Sequence: 1000}
	link, _ := probe.Append(nil)
	if _, err := conn.Write(append(raw, link...)); err != nil {
		t.Fatal(err)
	}
	expected := []string{"enquire_link_resp 0x00000000 sequence 1000"}
	if want.ends {
		expected = nil
	}
	if want.answer != "" {
		expected = append([]string{want.answer}, expected...)
	}
	for _, e := range expected {
		got := next(t, r)
		if got != e {
			t.Errorf("got %s, want %s", got, e)
		}
	}
	if want.octets != "" {
		p := <-handed
		if string(p.Octets()) != want.octets || fmt.Sprint(p.Warnings) != "["+want.warning+"]" {
			t.Errorf("handed on: %q, warnings %q", p.Octets(), p.Warnings)
		}
	}
	conn.Close()
	<-s.Done()
}

// dial returns a session and the peer's end of its connection.
func dial(t *testing.T, handle func(*smpp.Session, *smpp.PDU, []byte, error)) (*smpp.Session, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close() })
	return smpp.NewSession(conn, smpp.Config{Handle: handle}), peer
}

func next(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	raw, err := smpp.ReadFrame(r)
	if err != nil {
		t.Fatal(err)
	}
	p, err := smpp.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v %v sequence %d", p.Command, p.Status, p.Sequence)
}

func TestCStringWithoutNUL(t *testing.T) {
	p, err := smpp.Decode(smpptest.Vectors(t)["cstring_no_nul"].Raw(t))
	if err != nil || p.Body.(*smpp.MessageID).ID != "7b1c9f2e" || fmt.Sprint(p.Warnings) != "[message_id has no closing NUL]" {
		t.Errorf("%+v, %v", p, err)
	}
}
