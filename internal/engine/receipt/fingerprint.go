package receipt

import (
	"encoding/binary"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/provider"
)

// FingerprintVersion is part of every fingerprint. A release that takes it over other components raises it, so
// that an old one never equals a new one by accident.
const FingerprintVersion = 2

// EventKey is the key of the logical event that a provider's call is about: two calls with the same key say the
// same thing (R3). It is a keyed hash, since its parts hold numbers.
//
// Its components are values as received, never what the gateway made of them:
//
//   - the id space, and the provider's own id of the event, where it gives one; nothing else then;
//   - for receipts and intermediate notifications: the id space, the kind, the message id, our own reference as
//     echoed, raw status, raw error code, done date, source, destination; without a message id the submit date
//     too, since a reference is used again after days;
//   - for what cannot be read: the id space, the kind and the payload without its framing, since a provider that has
//     no answer sends the same again in another frame;
//   - for everything else: the id space, the kind and the whole payload.
//
// What is ambiguous: a provider that reports no done date says "en route" for the second time in the same words
// as for the first, and both become one event, which loses nothing. One that also gives the same message id to
// another message within thirty days (the time for which events are remembered) makes that message's receipt
// look like a repeat: it is kept and shown as repeated, and moves nothing. Two that cannot be read and are equal to
// the last octet, addresses included, are one event: both are kept, and one exception tells of them.
func EventKey(key intent.Keyer, idSpace int64, e *provider.RawEvent) intent.Key {
	f := form{FingerprintVersion}
	f.text("receipt event")
	f.number(uint64(idSpace)) // the bits of it
	p := &e.Parsed
	switch {
	case p.EventID != "":
		f.text("id")
		f.text(p.EventID)
	case p.Kind == provider.KindReceipt || p.Kind == provider.KindIntermediate:
		f.receipt(p)
	case p.Kind == provider.KindUnreadable:
		f.text(string(p.Kind))
		f.text(string(e.Payload[min(e.Framing, len(e.Payload)):]))
	default:
		f.text(string(p.Kind))
		f.text(string(e.Payload))
	}
	return key(f)
}

// form is a clear form of length-prefixed parts: no two different lists of parts give the same bytes.
type form []byte

func (f *form) number(n uint64) { *f = binary.AppendUvarint(*f, n) }

func (f *form) text(s string) {
	f.number(uint64(len(s)))
	*f = append(*f, s...)
}

func (f *form) receipt(p *provider.Parsed) {
	f.text(string(p.Kind))
	f.text(string(p.ExternalID))
	f.number(uint64(referenceOf(p) + 1))
	for _, s := range []string{p.Status, p.ErrorCode, p.DoneDate, p.Source, p.Dest} {
		f.text(s)
	}
	if len(p.ExternalID) == 0 {
		f.text(p.SubmitDate)
	}
}

// referenceOf is our own reference as echoed, -1 if there is none.
func referenceOf(p *provider.Parsed) int32 {
	if !p.HasReference {
		return -1
	}
	return int32(p.Reference)
}
