package smpp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// HeaderLen is the length of a PDU's header, in octets.
	HeaderLen = 16
	// MaxPDU is the largest PDU that is read or written, in octets: a message_payload of 64 KiB and its
	// fields fit in, and a peer cannot make us allocate more.
	MaxPDU = 128 << 10
	// MaxSequence is the largest sequence number (section 5.1.4).
	MaxSequence = 0x7FFFFFFF
)

// ErrLength says that a command_length is below the header's or above MaxPDU. The stream cannot be read on.
var ErrLength = errors.New("smpp: impossible command_length")

// PDU is one protocol data unit.
type PDU struct {
	Command  CommandID
	Status   Status
	Sequence uint32
	Body     Body // nil where there is none, as in a response that only reports an error
	TLVs     []TLV
	// Unread is the body of a command that has no layout here.
	Unread []byte
	// Warnings is what was odd but did not prevent reading. It has names of fields, never values.
	Warnings []string
}

// Append writes the PDU after dst. On an error dst is returned unchanged.
func (p *PDU) Append(dst []byte) ([]byte, error) {
	start := len(dst)
	f := fields{writing: true, buf: append(dst, make([]byte, HeaderLen)...)}
	if p.Body != nil {
		p.Body.layout(&f)
	}
	f.buf = append(f.buf, p.Unread...)
	for _, t := range p.TLVs {
		f.tlv(t)
	}
	length := len(f.buf) - start
	if f.err == nil && length > MaxPDU {
		f.err = &FieldError{"PDU", fmt.Sprintf("is longer than %d octets", MaxPDU)}
	}
	if f.err != nil {
		return dst, f.err
	}
	h := f.buf[start:]
	binary.BigEndian.PutUint32(h, uint32(length)) // at most MaxPDU
	binary.BigEndian.PutUint32(h[4:], uint32(p.Command))
	binary.BigEndian.PutUint32(h[8:], uint32(p.Status))
	binary.BigEndian.PutUint32(h[12:], p.Sequence)
	return f.buf, nil
}

// Decode reads one whole PDU. Byte slices of the result share b's memory. Where only the header could be read
// the result has it, beside the error, so that a peer can be answered.
func Decode(b []byte) (PDU, error) {
	if len(b) < HeaderLen || len(b) > MaxPDU || binary.BigEndian.Uint32(b) != uint32(len(b)) { // checked
		return PDU{}, ErrLength
	}
	p := PDU{
		Command:  CommandID(binary.BigEndian.Uint32(b[4:])),
		Status:   Status(binary.BigEndian.Uint32(b[8:])),
		Sequence: binary.BigEndian.Uint32(b[12:]),
	}
	rest := b[HeaderLen:]
	body, known := newBody(p.Command)
	switch {
	case !known:
		p.Unread = rest
		return p, nil
	case len(rest) == 0 && p.Command.IsResponse():
		return p, nil // "if command_status is not 0 the body is left out", and some leave it out anyway
	}
	return p, p.decodeBody(body, rest)
}

func (p *PDU) decodeBody(body Body, rest []byte) error {
	f := fields{buf: rest}
	if body != nil {
		body.layout(&f)
		if f.err != nil {
			return fmt.Errorf("%s: %w", p.Command, f.err)
		}
		p.Body = body
	}
	p.TLVs = f.tlvs()
	p.Warnings = f.warnings
	return nil
}

// ReadFrame reads the bytes of one PDU. The stated length is checked before anything is allocated. An end of
// the stream between two PDUs is io.EOF, inside one io.ErrUnexpectedEOF.
func ReadFrame(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(4)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	length := binary.BigEndian.Uint32(head)
	if length < HeaderLen || length > MaxPDU {
		return nil, ErrLength
	}
	b := make([]byte, length)
	_, err = io.ReadFull(r, b)
	return b, err
}
