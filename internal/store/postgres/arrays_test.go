package postgres

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// Our way writes what the driver's own writes.
func TestArraysAreWrittenAsTheDriverDoes(t *testing.T) {
	for _, c := range []struct {
		oid, element uint32
		value        any
	}{
		{pgtype.Int8ArrayOID, pgtype.Int8OID, []int64{0, -1, 1 << 62}}, {pgtype.Int8ArrayOID, pgtype.Int8OID, []int64{}},
		{pgtype.TextArrayOID, pgtype.TextOID, []string{"", "a", "größer"}}, {pgtype.ByteaArrayOID, pgtype.ByteaOID, [][]byte{{}, {1, 2}, nil}},
	} {
		m := pgtype.NewMap()
		want, err := m.Encode(c.oid, pgtype.BinaryFormatCode, c.value, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := arrayPlan(c.element).Encode(c.value, []byte("before"))
		got = bytes.TrimPrefix(got, []byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		// The flag for nulls may be set where there are none.
		if len(got) > 8 {
			got[7], want[7] = 0, 0
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%v\n got %x\nwant %x", c.value, got, want)
		}
	}
}

func BenchmarkArrays(b *testing.B) {
	numbers, texts, keys := make([]int64, 256), make([]string, 256), make([][]byte, 256)
	for i := range numbers {
		numbers[i], texts[i], keys[i] = int64(i)<<20, fmt.Sprintf("order-%d", i), make([]byte, 16)
	}
	for name, ours := range map[string]bool{"driver": false, "ours": true} {
		b.Run(name, func(b *testing.B) {
			m := pgtype.NewMap()
			if ours {
				for _, a := range arrays {
					element, _ := m.TypeForOID(a.element)
					m.RegisterType(&pgtype.Type{Name: a.name, OID: a.oid, Codec: arrayCodec{&pgtype.ArrayCodec{ElementType: element}, a.element}})
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				buf := make([]byte, 0, 256)
				for oid, v := range map[uint32]any{pgtype.Int8ArrayOID: numbers, pgtype.TextArrayOID: texts, pgtype.ByteaArrayOID: keys} {
					var err error
					if buf, err = m.Encode(oid, pgtype.BinaryFormatCode, v, buf); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
