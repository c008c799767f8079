package smpp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ErrTruncated says that a PDU ends inside one of its fixed fields.
var ErrTruncated = errors.New("smpp: the PDU ends inside a mandatory field")

// FieldError says that a field cannot be written. It has no value: values may be numbers or texts.
type FieldError struct {
	Field  string
	Reason string
}

func (e *FieldError) Error() string { return "smpp: " + e.Field + " " + e.Reason }

// fields walks over a PDU's mandatory fields in order. The same walk writes and reads, so that each layout is
// stated once.
type fields struct {
	writing  bool
	buf      []byte // written so far, or left to read
	err      error  // the first one; every later step does nothing
	warnings []string
}

// maxWarnings bounds what a PDU full of oddities leaves behind: warnings are stored.
const maxWarnings = 10

func (f *fields) warn(warning string) {
	if len(f.warnings) < maxWarnings {
		f.warnings = append(f.warnings, warning)
	}
}

// cstring is a C-octet string of at most size octets, the NUL included.
func (f *fields) cstring(name string, s *string, size int) {
	switch {
	case f.err != nil:
	case f.writing:
		f.writeCString(name, *s, size)
	default:
		*s = f.readCString(name, size)
	}
}

func (f *fields) writeCString(name, s string, size int) {
	switch {
	case len(s) >= size:
		f.err = &FieldError{name, fmt.Sprintf("is longer than %d octets", size-1)}
	case strings.IndexByte(s, 0) >= 0:
		f.err = &FieldError{name, "has a NUL inside"}
	default:
		f.buf = append(append(f.buf, s...), 0)
	}
}

// readCString reads to the NUL or to the PDU's end, never further. A string that is longer than the
// specification allows is kept whole: a message id that is cut would match nothing.
func (f *fields) readCString(name string, size int) string {
	end := bytes.IndexByte(f.buf, 0)
	if end < 0 {
		f.warn(name + " has no closing NUL")
		s := string(f.buf)
		f.buf = nil
		return s
	}
	if end >= size {
		f.warn(name + " is too long")
	}
	s := string(f.buf[:end])
	f.buf = f.buf[end+1:]
	return s
}

// octet is an integer of one octet.
func (f *fields) octet(v *uint8) {
	switch {
	case f.err != nil:
	case f.writing:
		f.buf = append(f.buf, *v)
	case len(f.buf) == 0:
		f.err = ErrTruncated
	default:
		*v, f.buf = f.buf[0], f.buf[1:]
	}
}

// uint32 is an integer of four octets.
func (f *fields) uint32(v *uint32) {
	switch {
	case f.err != nil:
	case f.writing:
		f.buf = binary.BigEndian.AppendUint32(f.buf, *v)
	case len(f.buf) < 4:
		f.err = ErrTruncated
	default:
		*v, f.buf = binary.BigEndian.Uint32(f.buf), f.buf[4:]
	}
}

// list is a count of one octet and as many elements, at most most of them when writing.
func list[T any](f *fields, name string, most int, all *[]T, each func(*T)) {
	if f.writing && len(*all) > most && f.err == nil {
		f.err = &FieldError{name, fmt.Sprintf("are more than %d", most)}
	}
	n := uint8(len(*all)) // at most 255 when writing, overwritten when reading
	f.octet(&n)
	if !f.writing && n > 0 {
		*all = make([]T, n)
	}
	for i := range *all {
		if f.err != nil {
			return
		}
		each(&(*all)[i])
	}
}

// maxShortMessage is the largest sm_length (section 5.2.21).
const maxShortMessage = 254

// shortMessage is sm_length and as many octets.
func (f *fields) shortMessage(b *[]byte) {
	if f.writing && len(*b) > maxShortMessage && f.err == nil {
		f.err = &FieldError{"short_message", fmt.Sprintf("is longer than %d octets", maxShortMessage)}
	}
	length := uint8(len(*b)) // at most 254 when writing, overwritten when reading
	f.octet(&length)
	switch {
	case f.err != nil:
	case f.writing:
		f.buf = append(f.buf, *b...)
	default:
		*b = f.readMessage(int(length))
	}
}

// readMessage takes what is there when sm_length promises more: the bytes of a receipt that was cut are still
// evidence.
func (f *fields) readMessage(length int) []byte {
	if length > len(f.buf) {
		f.warn("short_message is cut off")
		length = len(f.buf)
	}
	if length > maxShortMessage {
		f.warn("short_message is too long")
	}
	if length == 0 {
		return nil
	}
	b := f.buf[:length:length]
	f.buf = f.buf[length:]
	return b
}
