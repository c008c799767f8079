package provider

// Reader reads stored payloads again: after a parser was mended, and to take out what must not stay.
type Reader interface {
	// Read reads a payload as it is read when it arrives. It never fails: see Parsed.
	Read(payload []byte) Parsed
	// Redact masks the part of the message's text that a receipt quotes and returns the payload with everything
	// else as it was. quoted is false, and the payload unchanged, where none is quoted. A payload that it cannot
	// read it masks from where a text may begin: it fails closed.
	Redact(payload []byte) (redacted []byte, quoted bool)
}
