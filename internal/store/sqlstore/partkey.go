package sqlstore

import (
	"encoding/binary"

	"github.com/einmal/einmal/internal/ground/ident"
)

// partKey names one part of one attempt. Its stored form, 20 bytes, is what external_id holds as a candidate.
type partKey struct {
	Message       ident.Message
	Attempt, Part uint16
}

const partKeySize = 20

func (k partKey) bytes() []byte {
	b := make([]byte, 0, partKeySize)
	b = append(b, k.Message[:]...)
	b = binary.BigEndian.AppendUint16(b, k.Attempt)
	return binary.BigEndian.AppendUint16(b, k.Part)
}

// partKeys reads a list of candidates. A tail that is no whole key is left out.
func partKeys(b []byte) []partKey {
	var keys []partKey
	for ; len(b) >= partKeySize; b = b[partKeySize:] {
		keys = append(keys, partKey{
			Message: ident.Message(b[:16]),
			Attempt: binary.BigEndian.Uint16(b[16:]), Part: binary.BigEndian.Uint16(b[18:]),
		})
	}
	return keys
}
