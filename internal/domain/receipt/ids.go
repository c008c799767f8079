package receipt

import (
	"bytes"
	"fmt"
	"math/big"
)

// Form says how a provider writes a message id.
type Form string

// The forms. Older centres answer a submission with one base and write the other into receipts; an id may then be
// longer than 63 bits.
const (
	Opaque  Form = "opaque" // its octets are all there is to it
	Hex     Form = "hex"
	Decimal Form = "decimal"
)

// IDs declares how one connection writes message ids: in the answer to a submission, and in receipts. The zero
// value takes them as opaque, and then every octet counts. Nothing is ever concluded from the look of one id.
type IDs struct {
	Response, Receipt Form // "" is Opaque
	AnyCase           bool // of opaque ids: upper and lower case letters are the same
	AnyZeros          bool // of opaque ids: leading zeros do not count; of numbers they never do
	// First or Last says that only so many octets are compared: receipts cut the id. 0: all.
	First, Last int
}

// ShortestCut is the fewest octets that a connection may declare to compare: fewer say nothing.
const ShortestCut = 6

// Check says what cannot be declared, with what would be right.
func (d IDs) Check() error {
	for name, f := range map[string]Form{"response": d.Response, "receipt": d.Receipt} {
		if f.base() == 0 && f != "" && f != Opaque {
			return fmt.Errorf("%s: write hex, decimal or opaque", name)
		}
	}
	number := d.Response.base() != 0
	switch {
	case number != (d.Receipt.base() != 0):
		return fmt.Errorf("response, receipt: both are numbers (hex or decimal), or both are opaque: an opaque id has no value to compare")
	case number && (d.AnyCase || d.AnyZeros):
		return fmt.Errorf("case, zeros: belong to opaque ids; of numbers neither counts")
	case number && d.First+d.Last > 0:
		return fmt.Errorf("first, last: belong to opaque ids; a part of a number has another value")
	case d.First > 0 && d.Last > 0:
		return fmt.Errorf("first, last: one of them")
	case d.First < 0 || d.Last < 0 || d.First+d.Last > 0 && d.First+d.Last < ShortestCut:
		return fmt.Errorf("first, last: at least %d, since fewer octets say nothing", ShortestCut)
	}
	return nil
}

// TwoBases reports that receipts write ids in another base than answers: then equal octets are no evidence of their
// own, "10" being two numbers.
func (d IDs) TwoBases() bool { return d.Response.base() != d.Receipt.base() }

// OfResponse is the normalised form of an id from the answer to a submission, under which a receipt's equal id is
// found. Nil: there is none beside the id as received.
func (d IDs) OfResponse(id []byte) []byte { return d.normal(d.Response, id) }

// OfReceipt is that of an id from a receipt.
func (d IDs) OfReceipt(id []byte) []byte { return d.normal(d.Receipt, id) }

func (d IDs) normal(f Form, id []byte) []byte {
	switch {
	case len(id) == 0:
		return nil
	case f.base() != 0:
		return number(id, f.base())
	case d.AnyCase || d.AnyZeros || d.First+d.Last > 0:
		return d.loose(id)
	}
	return nil
}

// loose is an opaque id without what is declared not to count. One of zeros alone keeps its last.
func (d IDs) loose(id []byte) []byte {
	if d.AnyZeros {
		if id = bytes.TrimLeft(id, "0"); len(id) == 0 {
			id = []byte("0")
		}
	}
	if d.AnyCase {
		id = lower(id)
	}
	if d.First > 0 && len(id) > d.First {
		id = id[:d.First]
	}
	if d.Last > 0 && len(id) > d.Last {
		id = id[len(id)-d.Last:]
	}
	return append([]byte("text "), id...)
}

// lower changes ASCII letters alone: an id is octets, not a text in some encoding.
func lower(id []byte) []byte {
	out := bytes.Clone(id)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}

func (f Form) base() int {
	switch f {
	case Hex:
		return 16
	case Decimal:
		return 10
	}
	return 0
}

// number is an id's value, whatever its size; nil if it is no number of that base.
func number(id []byte, base int) []byte {
	if base == 16 && len(id) > 2 && id[0] == '0' && id[1]|0x20 == 'x' {
		id = id[2:]
	}
	for _, c := range id { // the reader below takes signs and underscores, too
		if !('0' <= c && c <= '9') && !(base == 16 && 'a' <= c|0x20 && c|0x20 <= 'f') {
			return nil
		}
	}
	n, ok := new(big.Int).SetString(string(id), base)
	if !ok {
		return nil
	}
	return n.Append([]byte("number "), 10)
}
