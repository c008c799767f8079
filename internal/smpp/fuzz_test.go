package smpp_test

import (
	"bufio"
	"bytes"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/smpp"
	"github.com/einmal/einmal/internal/smpp/smpptest"
)

// seeds adds every vector and every sample.
func seeds(f *testing.F, add func(raw []byte)) {
	for _, v := range smpptest.Vectors(f) {
		add(v.Raw(f))
	}
	for _, s := range smpptest.Samples() {
		raw, err := s.PDU.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		add(raw)
	}
}

// FuzzDecode: reading never panics, what was read without a warning is written again octet for octet, and what was
// read with one says the same after it was written and read again.
func FuzzDecode(f *testing.F) {
	seeds(f, func(raw []byte) { f.Add(raw) })
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := smpp.Decode(raw)
		if err != nil {
			return
		}
		again, err := p.Append(nil)
		if len(p.Warnings) == 0 && (err != nil || !bytes.Equal(again, raw)) {
			t.Fatalf("read without a warning, written as %x, %v", again, err)
		}
		if err != nil {
			return
		}
		q, err := smpp.Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		p.Warnings, q.Warnings = nil, nil
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("read again:\n%+v\nbefore:\n%+v", q, p)
		}
	})
}

// FuzzTLVs: whatever follows the fixed fields, they are read, and what is left out of the optional ones is warned of.
func FuzzTLVs(f *testing.F) {
	f.Add([]byte("\x02\x04\x00\x02\x12\x67"))
	f.Add([]byte("\x00\x04\x27\x00\x01\x02"))
	f.Add([]byte("\x04\x27\x00\x09\x02"))
	f.Add([]byte{0})
	for _, v := range smpptest.TLVs() {
		p := smpp.PDU{Command: smpp.CmdDataSM, Body: &smpp.Data{}, TLVs: []smpp.TLV{v}}
		raw, err := p.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[smpp.HeaderLen+10:])
	}
	f.Fuzz(func(t *testing.T, rest []byte) {
		p := smpp.PDU{Command: smpp.CmdSubmitSMResp, Body: &smpp.MessageID{ID: "7"}, Sequence: 1}
		raw, err := p.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(rest) > smpp.MaxPDU-len(raw) {
			return
		}
		raw = append(raw, rest...)
		raw[1], raw[2], raw[3] = byte(len(raw)>>16), byte(len(raw)>>8), byte(len(raw))
		got, err := smpp.Decode(raw)
		if err != nil || got.Body.(*smpp.MessageID).ID != "7" {
			t.Fatalf("%+v, %v", got, err)
		}
		read := 0
		for _, v := range got.TLVs {
			read += 4 + len(v.Value)
		}
		if read > len(rest) || read < len(rest) && len(got.Warnings) == 0 {
			t.Fatalf("%d of %d octets were read, warnings %q", read, len(rest), got.Warnings)
		}
	})
}

// FuzzReadFrame: a stream is cut into PDUs and nothing of it is lost or made up.
func FuzzReadFrame(f *testing.F) {
	var all []byte
	seeds(f, func(raw []byte) { all = append(all, raw...) })
	f.Add(all)
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, read := bufio.NewReader(bytes.NewReader(stream)), 0
		for {
			frame, err := smpp.ReadFrame(r)
			if err != nil {
				return
			}
			if len(frame) < smpp.HeaderLen || !bytes.Equal(frame, stream[read:read+len(frame)]) {
				t.Fatalf("%x is not what stands at %d", frame, read)
			}
			read += len(frame)
		}
	})
}

// FuzzSession: whatever a peer sends, the session ends when the peer does, and what it says is answers alone, each
// of which can be read.
func FuzzSession(f *testing.F) {
	seeds(f, func(raw []byte) { f.Add(raw) })
	f.Fuzz(func(t *testing.T, stream []byte) {
		conn, peer := net.Pipe()
		s := smpp.NewSession(conn, smpp.Config{Handle: func(s *smpp.Session, p *smpp.PDU, _ []byte, _ error) {
			s.Answer(p, smpp.StatusOK)
		}})
		go func() {
			_, _ = peer.Write(stream) // an error: the session has ended before
			_ = peer.Close()
		}()
		for r := bufio.NewReader(peer); ; {
			raw, err := smpp.ReadFrame(r)
			if err != nil {
				break
			}
			if p, err := smpp.Decode(raw); err != nil || !p.Command.IsResponse() || len(p.Warnings) != 0 {
				t.Fatalf("the session says %x: %v, %q", raw, err, p.Warnings)
			}
		}
		<-s.Done()
	})
}

// FuzzParseTime: an absolute time that was read is written as the same instant.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"", "261003174500300+", "261003174500012-", "000001020304000R", "999999999999999R", "260229000000000+"} {
		f.Add(s)
	}
	now := time.Date(2026, 10, 3, 17, 45, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		at, err := smpp.ParseTime(s, now)
		if err != nil || at.IsZero() || s[15] == 'R' {
			return
		}
		again, err := smpp.ParseTime(smpp.AbsoluteTime(at), now)
		if at.Year() >= 2000 && at.Year() < 2100 && (err != nil || !again.Equal(at)) {
			t.Fatalf("%q is %v, written and read again %v, %v", s, at, again, err)
		}
	})
}
