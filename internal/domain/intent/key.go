package intent

import (
	"encoding/binary"

	"github.com/einmal/einmal/internal/domain/policy"
)

// keyVersion is the first byte of every form. A form that changes its meaning gets a new version, so that an
// old key never equals a new one by accident.
const keyVersion = 1

// KeyForm is the clear form of a request's intent key: length-prefixed, so that no two different lists of
// parts give the same bytes. Tenant, purpose and destination are part of every key (D1). The names of the
// parts are in it: a policy that changes its list of parts makes other keys, one that reorders it does not. The
// text's fingerprint must be there before, for a key that has the text among its parts. What is simulated has keys of its
// own: a test never holds back the message that somebody is to get, nor is a test answered with that.
func KeyForm(p policy.Purpose, r *Request) []byte {
	label := "intent"
	if r.Simulated {
		label = "simulated intent"
	}
	f := newForm(label)
	f.number(uint64(r.Tenant))
	f.text(p.Name)
	f.text(r.To.E164())
	for _, part := range sortedParts(p.Key) {
		f.text(string(part))
		f.text(partValue(part, r))
	}
	return f.bytes
}

// MakeKeys gives the request the keys under which it is compared now. Those of older policy versions are the
// caller's to add.
func (r *Request) MakeKeys(text string, key Keyer) {
	r.TextKey = key(TextForm(r, text))
	r.Keys = Keys{Intent: key(KeyForm(r.Purpose, r))}
	if r.Purpose.OnOtherText == policy.OtherTextAllow {
		r.Keys.Variant = key(VariantForm(r.Keys.Intent, r.TextKey))
	}
	if r.Purpose.Unnamed {
		r.Keys.Unanswered = key(UnansweredForm(r.Keys.Intent))
	}
}

// VariantForm is the clear form of the key of an intent together with its text.
func VariantForm(intentKey, textKey Key) []byte {
	f := newForm("variant")
	f.raw(intentKey[:])
	f.raw(textKey[:])
	return f.bytes
}

// UnansweredForm is the clear form of the key of an intent whose answer is on its way.
func UnansweredForm(intentKey Key) []byte {
	f := newForm("unanswered")
	f.raw(intentKey[:])
	return f.bytes
}

// TextForm is the clear form of a text's fingerprint (D17). It is taken for each tenant apart, so that equal
// texts of two tenants cannot be told.
func TextForm(r *Request, text string) []byte {
	f := newForm("text")
	f.number(uint64(r.Tenant))
	f.text(text)
	return f.bytes
}

// IdempotencyForm is the clear form of a client's idempotency key, scoped to tenant and operation (D8).
func IdempotencyForm(tenant uint64, operation, key string) []byte {
	f := newForm("idempotency")
	f.number(tenant)
	f.text(operation)
	f.text(key)
	return f.bytes
}

// Simulated is an operation as test keys ask for it: their idempotency keys are not those of other keys.
func Simulated(operation string) string { return operation + ".simulated" }

// Missing lists the parts of the purpose's key that the request does not have.
func Missing(p policy.Purpose, r *Request) []policy.KeyPart {
	if p.Unnamed {
		return nil
	}
	var missing []policy.KeyPart
	for _, part := range p.Key {
		if partValue(part, r) == "" {
			missing = append(missing, part)
		}
	}
	return missing
}

func partValue(part policy.KeyPart, r *Request) string {
	switch part {
	case policy.KeyEventType:
		return r.Event.Type
	case policy.KeyEventID:
		return r.Event.ID
	case policy.KeyEventVersion:
		return r.Event.Version
	case policy.KeySender:
		return r.Sender
	case policy.KeyTemplateID:
		return r.Template.ID
	case policy.KeyTemplateVersion:
		return r.Template.Version
	case policy.KeyCorrelationID:
		return r.CorrelationID
	case policy.KeyText:
		return string(r.TextKey[:])
	}
	return ""
}

// form builds a clear form: a version, a label and length-prefixed parts.
type form struct{ bytes []byte }

func newForm(label string) *form {
	f := &form{bytes: []byte{keyVersion}}
	f.text(label)
	return f
}

func (f *form) raw(b []byte) {
	f.bytes = binary.AppendUvarint(f.bytes, uint64(len(b)))
	f.bytes = append(f.bytes, b...)
}

func (f *form) text(s string) {
	f.bytes = binary.AppendUvarint(f.bytes, uint64(len(s)))
	f.bytes = append(f.bytes, s...)
}

func (f *form) number(n uint64) { f.bytes = binary.AppendUvarint(f.bytes, n) }
