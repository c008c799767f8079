package intent

import (
	"bytes"
	"slices"

	"github.com/einmal/einmal/internal/domain/policy"
)

// FingerprintVersion is stored with every fingerprint: a release that takes it over other fields must not
// turn a client's retry into an error.
const FingerprintVersion = 1

// fingerprintFields are the places of a request that a fingerprint covers, in their stored order.
var fingerprintFields = []string{
	"to", "region", "purpose", "event", "sender", "template", "text", "correlation_id", "valid_for", "metadata", "exception",
}

// fieldBytes is how much of each field's HMAC is kept: enough to name the fields that differ, too little to
// find a value by trying.
const fieldBytes = 4

// Fingerprint says whether two requests under one idempotency key are the same as sent (D8).
type Fingerprint struct {
	Whole  Key
	Fields []byte // fieldBytes for each of fingerprintFields
}

// TakeFingerprint computes it over the request as sent: canonical holds the canonical JSON of each member
// that was there.
func TakeFingerprint(key Keyer, canonical map[string][]byte) Fingerprint {
	whole := newForm("fingerprint")
	fields := make([]byte, 0, fieldBytes*len(fingerprintFields))
	for _, name := range fingerprintFields {
		one := newForm("field")
		one.text(name)
		value, there := canonical[name]
		if there {
			one.raw(value)
		}
		k := key(one.bytes)
		fields = append(fields, k[:fieldBytes]...)
		whole.raw(one.bytes)
	}
	return Fingerprint{Whole: key(whole.bytes), Fields: fields}
}

// Differing names the members in which two requests differ.
func (f Fingerprint) Differing(o Fingerprint) []string {
	var names []string
	for i, name := range fingerprintFields {
		lo, hi := i*fieldBytes, (i+1)*fieldBytes
		if hi > len(f.Fields) || hi > len(o.Fields) || !bytes.Equal(f.Fields[lo:hi], o.Fields[lo:hi]) {
			names = append(names, name)
		}
	}
	return names
}

func sortedParts(parts []policy.KeyPart) []policy.KeyPart {
	sorted := slices.Clone(parts)
	slices.Sort(sorted)
	return sorted
}
