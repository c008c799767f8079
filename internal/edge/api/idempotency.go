package api

import (
	"net/http"
	"strings"

	"github.com/einmal/einmal/internal/ground/fault"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	maxIdempotencyKey = 255 // characters, after unquoting
)

// idempotencyKey reads the header: a structured string (RFC 8941 §3.3.3, as the HTTPAPI working group's draft
// asks for) or, as many clients send it, the bare value. Both give the same key. "" is: no header.
func idempotencyKey(h http.Header) (string, *fault.Field) {
	lines := h.Values(idempotencyHeader)
	if len(lines) == 0 {
		return "", nil
	}
	wrong := func(detail string) (string, *fault.Field) {
		return "", &fault.Field{Pointer: idempotencyHeader, Detail: detail}
	}
	if len(lines) > 1 {
		return wrong("the header is there more than once: send one")
	}
	value := strings.Trim(lines[0], " \t")
	key, ok := value, true
	if strings.HasPrefix(value, `"`) {
		key, ok = quoted(value)
	} else {
		ok = !strings.ContainsAny(value, "\",;\\")
	}
	if !ok {
		key = "\x00" // no key either
	}
	if problem := keyProblem(key); problem != "" {
		return wrong(problem)
	}
	return key, nil
}

// keyProblem says what is wrong with a key; "": nothing.
func keyProblem(key string) string {
	switch {
	case !printable(key):
		return `not a key: send up to 255 printable ASCII characters, as in "8e03978e-40d5-43e8-bc93-6894a57f9324", with or without the quotes`
	case key == "":
		return "the key is empty: send a random one, or leave it out"
	case len(key) > maxIdempotencyKey:
		return "the key is too long: at most 255 characters"
	}
	return ""
}

// quoted reads a structured string. Parameters behind it are permitted and have no meaning.
func quoted(value string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(value); i++ {
		switch value[i] {
		case '"':
			rest := strings.TrimLeft(value[i+1:], " ")
			return b.String(), rest == "" || rest[0] == ';'
		case '\\':
			i++
			if i >= len(value) || value[i] != '"' && value[i] != '\\' {
				return "", false
			}
		}
		b.WriteByte(value[i])
	}
	return "", false // no closing quote
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
