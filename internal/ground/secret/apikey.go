package secret

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strings"
)

// An API key's text is em_<id>_<secret>_<checksum>: an id of 50 random bits, by which it is found and shown, a
// secret of 128 bits, of which the store has a keyed hash alone, and the CRC-32 of what is before it, so that a
// mistyped key costs no look-up and scanners of source code can tell a real one.
const (
	keyPrefix   = "em"
	idLength    = 10
	secretBytes = 16
)

var base = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ErrNotAKey says that a text is no API key, or one with a typing error.
var ErrNotAKey = errors.New("not an API key: it starts with em_ and has three more parts, the last one a checksum")

// APIKey is a key in clear. It masks itself wherever it is printed; Text is the only way to see it.
type APIKey struct {
	ID     string
	secret string
}

// NewAPIKey makes a key.
func NewAPIKey() APIKey {
	var id [7]byte
	var secret [secretBytes]byte
	rand.Read(id[:])     // never fails
	rand.Read(secret[:]) // never fails
	return APIKey{ID: base.EncodeToString(id[:])[:idLength], secret: base.EncodeToString(secret[:])}
}

// ParseAPIKey reads a key's text. Whether it is known and live is the store's to say.
func ParseAPIKey(text string) (APIKey, error) {
	parts := strings.Split(text, "_")
	if len(parts) != 4 || parts[0] != keyPrefix || len(parts[1]) != idLength {
		return APIKey{}, ErrNotAKey
	}
	k := APIKey{ID: parts[1], secret: parts[2]}
	if raw, err := base.DecodeString(k.secret); err != nil || len(raw) != secretBytes || k.Text() != text {
		return APIKey{}, ErrNotAKey
	}
	return k, nil
}

// Text is the whole key, to be shown once to whoever it is for.
func (k APIKey) Text() string {
	body := keyPrefix + "_" + k.ID + "_" + k.secret
	return fmt.Sprintf("%s_%08x", body, crc32.ChecksumIEEE([]byte(body)))
}

// String is the part that may be seen.
func (k APIKey) String() string { return keyPrefix + "_" + k.ID + "_…" }

// GoString masks the key in %#v.
func (k APIKey) GoString() string { return k.String() }

// LogValue masks the key in logs.
func (k APIKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// HashAPIKey is what the store keeps of a key.
func (i *Identity) HashAPIKey(k APIKey) [16]byte { return sum(&i.keys, []byte(k.ID+"_"+k.secret)) }

// MatchAPIKey compares a key with a stored hash, in constant time.
func (i *Identity) MatchAPIKey(k APIKey, stored [16]byte) bool {
	hash := i.HashAPIKey(k)
	return subtle.ConstantTimeCompare(hash[:], stored[:]) == 1
}
