package smpp

import (
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// build makes the submit_sm of a submission. Its errors are for good: the message itself cannot be sent here.
func (p *Provider) build(sub provider.Submission) (wire.PDU, error) {
	for _, r := range sub.Source {
		if r > 126 || r < 32 {
			return wire.PDU{}, &wire.FieldError{Field: "source_addr", Reason: "is not ASCII"}
		}
	}
	octets, err := gsm.EncodeAs(sub.Text, sub.DataCoding)
	if err != nil {
		return wire.PDU{}, err
	}
	m := &wire.Message{
		Source:             p.cfg.Addresses.source(sub.Source),
		Dest:               p.cfg.Addresses.destination(sub.Destination),
		ValidityPeriod:     wire.RelativeTime(sub.Validity),
		RegisteredDelivery: p.cfg.RegisteredDelivery,
		DataCoding:         sub.DataCoding,
	}
	if sub.NoReceipt {
		m.RegisteredDelivery = 0
	}
	pdu := wire.PDU{Command: wire.CmdSubmitSM, Body: m}
	if sub.HasReference {
		pdu.AddUint16(wire.TagUserMessageReference, sub.Reference)
	}
	return pdu, carry(&pdu, m, sub.Segment, octets)
}

// carry puts the octets of a text, or of a part of one, where they belong. Nothing is cut here: what does not fit
// should have been cut before.
func carry(pdu *wire.PDU, m *wire.Message, s provider.Segment, octets []byte) error {
	if s.By == provider.JoinedByPayload {
		pdu.Add(wire.TagMessagePayload, octets)
		return nil
	}
	one, header := gsm.Capacity(m.DataCoding, 0), []byte(nil)
	if s.Total > 1 {
		var width gsm.ReferenceBits
		if width, header = join(pdu, s); width == 0 {
			return &wire.FieldError{Field: "short_message", Reason: "is part of a long message, and nothing is named that joins it"}
		}
		one = gsm.Capacity(m.DataCoding, width)
	}
	if len(octets) > one {
		return &wire.FieldError{Field: "short_message", Reason: "does not fit into one part"}
	}
	if header != nil {
		m.ESMClass |= wire.ESMUDHI
	}
	m.ShortMessage = append(header, octets...)
	return nil
}

// join returns the header that a part begins with, if it has one, and the width of the reference that parts must
// leave room for. What a message centre makes of the sar_ parameters may be either; the wider one fits.
func join(pdu *wire.PDU, s provider.Segment) (gsm.ReferenceBits, []byte) {
	c := gsm.Concat{Reference: s.Reference, Wide: s.By == provider.JoinedByUDH16, Total: s.Total, Sequence: s.Number}
	switch s.By {
	case provider.JoinedByUDH8:
		return gsm.Reference8, c.Header()
	case provider.JoinedByUDH16:
		return gsm.Reference16, c.Header()
	case provider.JoinedBySAR:
		pdu.AddUint16(wire.TagSARMsgRefNum, s.Reference)
		pdu.AddOctet(wire.TagSARTotalSegments, s.Total)
		pdu.AddOctet(wire.TagSARSegmentSeqnum, s.Number)
		return gsm.Reference16, nil
	}
	return 0, nil
}
