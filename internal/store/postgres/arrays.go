package postgres

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// A batch is passed as one array a column, and most of what a statement costs this side is writing them: the driver's
// own codec looks for the way to write each element anew. These know the three kinds of column that there are, and
// leave all else to it.

// arrays are the types of columns in a batch, with their elements'.
var arrays = []struct {
	name         string
	oid, element uint32
}{
	{"_int8", pgtype.Int8ArrayOID, pgtype.Int8OID},
	{"_text", pgtype.TextArrayOID, pgtype.TextOID},
	{"_bytea", pgtype.ByteaArrayOID, pgtype.ByteaOID},
}

// registerArrays is called for each new connection.
func registerArrays(_ context.Context, c *pgx.Conn) error {
	for _, a := range arrays {
		element, ok := c.TypeMap().TypeForOID(a.element)
		if !ok {
			continue // the driver knows all of them; without one its own way is taken
		}
		c.TypeMap().RegisterType(&pgtype.Type{Name: a.name, OID: a.oid, Codec: arrayCodec{&pgtype.ArrayCodec{ElementType: element}, a.element}})
	}
	return nil
}

// arrayCodec writes the slices that batches are made of.
type arrayCodec struct {
	*pgtype.ArrayCodec
	element uint32
}

// PlanEncode implements pgtype.Codec.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []int64, []string, [][]byte:
			return arrayPlan(c.element)
		}
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// arrayPlan writes an array of one dimension without nulls, but for a nil []byte, in the binary format: dimensions, a
// flag for nulls, the elements' type, length, lower bound, and each element behind its length (array_send in
// src/backend/utils/adt/arrayfuncs.c).
type arrayPlan uint32

// Encode implements pgtype.EncodePlan.
func (p arrayPlan) Encode(value any, buf []byte) ([]byte, error) {
	switch v := value.(type) {
	case []int64:
		const each = 4 + 8
		buf = p.head(buf, len(v), len(v)*each)
		for _, n := range v {
			buf = binary.BigEndian.AppendUint32(buf, 8)
			buf = binary.BigEndian.AppendUint64(buf, uint64(n)) // the bits of it
		}
	case []string:
		buf = p.head(buf, len(v), size(v))
		for _, s := range v {
			buf = append(binary.BigEndian.AppendUint32(buf, uint32(len(s))), s...)
		}
	case [][]byte:
		buf = p.head(buf, len(v), size(v))
		for _, b := range v {
			if b == nil {
				buf = binary.BigEndian.AppendUint32(buf, null)
				continue
			}
			buf = append(binary.BigEndian.AppendUint32(buf, uint32(len(b))), b...)
		}
	}
	return buf, nil
}

// null is the length of an element that is none: -1.
const null = 1<<32 - 1

func size[T ~string | ~[]byte](v []T) (n int) {
	for _, one := range v {
		n += 4 + len(one)
	}
	return n
}

func (p arrayPlan) head(buf []byte, n, size int) []byte {
	buf = slices.Grow(buf, 20+size)
	for _, word := range []uint32{1, mayHoldNulls, uint32(p), uint32(n), 1} {
		buf = binary.BigEndian.AppendUint32(buf, word)
	}
	return buf
}

// mayHoldNulls: the server looks at each element's length.
const mayHoldNulls = 1
