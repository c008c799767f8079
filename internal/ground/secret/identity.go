// Package secret keeps the installation's two kinds of keys and what is made with them: keyed hashes, sealed
// content, API keys.
//
// The identity key makes the keys of registers and the fingerprints of personal data. There is one for an
// installation; another one would make every register look empty, so the store holds a check value and a node
// with another key does not start. Sealing keys encrypt content. They may be replaced and are destroyed by day
// and tenant. Without its key nothing is opened: this package fails closed, and no error of it has content.
package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
)

// KeySize is the length of the identity key and of the sealing key, in bytes.
const KeySize = 32

// Identity makes keyed hashes: HMAC-SHA256, the first 16 bytes. Each use has a key of its own, derived from the
// identity key under a label, so that a hash of one use is never one of another. Safe for concurrent use.
type Identity struct {
	forms, keys sync.Pool // of hash.Hash: an HMAC that is reset costs half of a new one
	check       string
}

// NewIdentity derives the keys of all uses.
func NewIdentity(key [KeySize]byte) *Identity {
	check := derive(key, "check value")
	return &Identity{
		forms: macs(derive(key, "forms")),
		keys:  macs(derive(key, "api keys")),
		check: hex.EncodeToString(check[:16]),
	}
}

// Key is the stored key of a clear form, such as intent.KeyForm.
func (i *Identity) Key(form []byte) [16]byte { return sum(&i.forms, form) }

// Check is the value that the store holds, to know this identity key again. It tells nothing about the key.
func (i *Identity) Check() string { return i.check }

func macs(key [KeySize]byte) sync.Pool {
	return sync.Pool{New: func() any { return hmac.New(sha256.New, key[:]) }}
}

func sum(macs *sync.Pool, data []byte) [16]byte {
	m := macs.Get().(hash.Hash) // see macs
	defer macs.Put(m)
	m.Reset()
	m.Write(data)
	var full [sha256.Size]byte
	return [16]byte(m.Sum(full[:0])[:16])
}

// derive makes the key of one use. The labels are part of what is stored: they never change.
func derive(key [KeySize]byte, label string) [KeySize]byte {
	m := hmac.New(sha256.New, key[:])
	m.Write([]byte("einmal " + label + " 1"))
	return [KeySize]byte(m.Sum(nil))
}
