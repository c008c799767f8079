package simulator

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/gsm"
	wire "github.com/einmal/einmal/internal/smpp"
)

// with is a submission whose text begins with a user data header in hexadecimal, as in "050003000201|x".
func with(notation string) wire.PDU {
	header, text, _ := strings.Cut(notation, "|")
	octets, err := hex.DecodeString(header)
	if err != nil {
		panic(err)
	}
	p := submission("14", string(octets)+text)
	p.Body.(*wire.Message).ESMClass = wire.ESMUDHI
	return p
}

// shown are the texts on a handset, with the number of their parts.
func (s *Server) shown(number string) []string {
	var all []string
	for _, m := range s.Handset(number) {
		all = append(all, fmt.Sprintf("%s/%d", m.Text, m.Parts))
	}
	return all
}

// How a handset joins parts.
//
// covers: C54
func TestC54Joined(t *testing.T) {
	for name, c := range map[string]struct {
		parts []string
		want  []string
	}{
		"A 16-bit reference":     {[]string{"06080401020201|Hel", "06080401020202|lo"}, []string{"Hello/2"}},
		"B reference 0":          {[]string{"050003000201|x", "050003000202|y"}, []string{"xy/2"}},
		"B out of order":         {[]string{"050003000202|y", "050003000201|x"}, []string{"xy/2"}},
		"C no number of a part":  {[]string{"050003070000|solo", "050003070203|solo2", "050003070200|solo3"}, []string{"solo/1", "solo2/1", "solo3/1"}},
		"D malformed":            {[]string{"09000311020105041581|p1"}, []string{"p1/1"}},
		"E not the same":         {[]string{"06080401020201|P", "06080402020202|Q"}, nil},
		"E another width":        {[]string{"06080400020201|P", "050003020202|Q"}, nil},
		"F after a port":         {[]string{"0B05041581000000030A0201|m", "0B05041581000000030A0202|n"}, []string{"mn/2"}},
		"G twice":                {[]string{"050003080201|1", "050003080201|1", "050003080202|2"}, []string{"12/2"}},
		"the same again later":   {[]string{"050003080201|1", "050003080202|2", "050003080201|3", "050003080202|4"}, []string{"12/2", "34/2"}},
		"a part of one":          {[]string{"050003080101|one"}, []string{"one/1"}},
		"a part that is missing": {[]string{"050003080301|1", "050003080303|3"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Config{})
			e := bind(t, s, wire.CmdBindTransceiver)
			for _, p := range c.parts {
				e.request(with(p))
			}
			if got := s.shown("12025550114"); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("it shows %q, want %q", got, c.want)
			}
		})
	}
}

// The sar_ parameters join as a header does; senders are told apart; the id is that of part 1.
func TestJoinedBySAR(t *testing.T) {
	s := start(t, Config{})
	e := bind(t, s, wire.CmdBindTransceiver)
	ids := map[byte]string{}
	for _, number := range []byte{2, 1} {
		p := submission("14", string('a'+rune(number)))
		p.AddUint16(wire.TagSARMsgRefNum, 0x1122)
		p.AddOctet(wire.TagSARTotalSegments, 2)
		p.AddOctet(wire.TagSARSegmentSeqnum, number)
		ids[number] = e.request(p).PDU.Body.(*wire.MessageID).ID
		p.Body.(*wire.Message).Source.Addr, p.Body.(*wire.Message).ShortMessage = "OTHER", []byte("?")
		if number == 1 {
			e.request(p)
		}
	}
	got := s.Handset("12025550114")
	if len(got) != 1 || got[0].Text != "bc" || got[0].MessageID != ids[1] || got[0].From != "SHOP" {
		t.Errorf("it shows %+v", got)
	}
	for i, l := range s.entries(t) {
		if want := (Segment{0x1122, uint8(2 - min(i, 1)), 2}); l.Segment == nil || *l.Segment != want {
			t.Errorf("line %d has the segment %+v, want %+v", i+1, l.Segment, want)
		}
	}
}

// A text whose parts a splitter has cut comes together again, in either coding.
func TestSplitIsJoined(t *testing.T) {
	for _, text := range []string{strings.Repeat("0123456789", 30) + "{€}", strings.Repeat("Привет 😀", 30)} {
		s := start(t, Config{})
		e := bind(t, s, wire.CmdBindTransceiver)
		m, err := gsm.Split(text, gsm.Reference8)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range m.Parts {
			c := gsm.Concat{Reference: 7, Total: uint8(len(m.Parts)), Sequence: uint8(i + 1)}
			p := submission("14", "")
			body := p.Body.(*wire.Message)
			body.ESMClass, body.DataCoding, body.ShortMessage = wire.ESMUDHI, m.DataCoding, append(c.Header(), part.Octets...)
			e.request(p)
		}
		if got := s.Handset("12025550114"); len(got) != 1 || got[0].Text != text {
			t.Errorf("it shows %+v", got)
		}
	}
}

// A handset does not keep what never comes together for ever.
func TestUnjoinedAreBounded(t *testing.T) {
	s := start(t, Config{})
	e := bind(t, s, wire.CmdBindTransceiver)
	for ref := range mostUnjoined + 1 {
		e.request(with(fmt.Sprintf("050003%02x0201|a", ref)))
	}
	e.request(with("050003000202|b")) // its first part has given way
	e.request(with(fmt.Sprintf("050003%02x0202|b", mostUnjoined)))
	if got := s.shown("12025550114"); fmt.Sprint(got) != "[ab/2]" {
		t.Errorf("it shows %q", got)
	}
}
