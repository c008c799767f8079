package simulator

import (
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// concatOf says which part of a long message a submission is: by its user data header, or by the sar_ parameters, of
// which a message centre makes a header with a reference of 16 bits.
func concatOf(pdu *wire.PDU, m *wire.Message) (gsm.Concat, bool) {
	if m.ESMClass&wire.ESMUDHI != 0 {
		header, _, _ := wire.SplitUDH(pdu.Octets())
		udh, err := gsm.ParseUDH(header)
		if err != nil {
			return gsm.Concat{}, false
		}
		return udh.Concat()
	}
	ref, ok := pdu.TLVUint(wire.TagSARMsgRefNum)
	total, _ := pdu.TLVUint(wire.TagSARTotalSegments)
	number, _ := pdu.TLVUint(wire.TagSARSegmentSeqnum)
	if !ok || ref > 0xFFFF || total > gsm.MaxParts || number == 0 || number > total {
		return gsm.Concat{}, false
	}
	return gsm.Concat{Reference: uint16(ref), Wide: true, Total: uint8(total), Sequence: uint8(number)}, true // checked
}

// mostUnjoined is how many long messages a handset keeps of which parts are missing; the oldest gives way.
const mostUnjoined = 10

// unjoined is a long message of which parts are missing.
type unjoined struct {
	from      string
	reference uint16
	wide      bool
	parts     []string // by their number
	have      []bool
	firstID   string // the message id of part 1
	missing   int
}

func (u *unjoined) is(from string, c gsm.Concat) bool {
	return u.from == from && u.reference == c.Reference && u.wide == c.Wide && len(u.parts) == int(c.Total)
}

// join takes a part and returns the whole message once all of its parts are there, as a handset does: parts belong
// together by sender, reference and total, whatever their order, and one that comes twice counts once.
func (p *phone) join(c gsm.Concat, m provider.PhoneMessage) (provider.PhoneMessage, bool) {
	at := -1
	for i, u := range p.unjoined {
		if u.is(m.From, c) {
			at = i
		}
	}
	if at < 0 {
		if len(p.unjoined) >= mostUnjoined {
			p.unjoined = append(p.unjoined[:0], p.unjoined[1:]...)
		}
		at = len(p.unjoined)
		p.unjoined = append(p.unjoined, &unjoined{
			from: m.From, reference: c.Reference, wide: c.Wide, missing: int(c.Total),
			parts: make([]string, c.Total), have: make([]bool, c.Total),
		})
	}
	u := p.unjoined[at]
	u.take(c.Sequence, m)
	if u.missing > 0 {
		return m, false
	}
	p.unjoined = append(p.unjoined[:at], p.unjoined[at+1:]...)
	return u.whole(m), true
}

func (u *unjoined) take(number uint8, m provider.PhoneMessage) {
	if u.have[number-1] {
		return
	}
	u.parts[number-1], u.have[number-1] = m.Text, true
	u.missing--
	if number == 1 {
		u.firstID = m.MessageID
	}
}

// whole is the message as it is shown, at the time of its last part.
func (u *unjoined) whole(last provider.PhoneMessage) provider.PhoneMessage {
	last.Text, last.Parts, last.MessageID = "", len(u.parts), u.firstID
	for _, text := range u.parts {
		last.Text += text
	}
	return last
}
