package secret

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
)

// saltSize is the length of a wrapped key's salt, in bytes.
const saltSize = 32

// wrap seals a key under the master key. Every wrapping has a key of its own, derived from the master key and a
// random salt that is put in front: a random nonce alone is good for 2^32 uses of one key, which a busy
// installation reaches in months.
func wrap(master [KeySize]byte, kind byte, number uint64, key [KeySize]byte) []byte {
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails
	return append(salt, seal(wrapping(master, salt), kind, number, nil, key[:])...)
}

func unwrap(master [KeySize]byte, want byte, wrapped []byte) (key [KeySize]byte, number uint64, err error) {
	if len(wrapped) < saltSize {
		return key, 0, ErrDamaged
	}
	salt, sealed := wrapped[:saltSize], wrapped[saltSize:]
	kind, number, err := readHead(sealed)
	if err != nil || kind != want {
		return key, 0, ErrDamaged
	}
	raw, err := open(wrapping(master, salt), nil, sealed)
	if err != nil || len(raw) != KeySize {
		return key, 0, ErrDamaged
	}
	return [KeySize]byte(raw), number, nil
}

func wrapping(master [KeySize]byte, salt []byte) cipher.AEAD {
	m := hmac.New(sha256.New, master[:])
	m.Write([]byte("einmal wrapping 1"))
	m.Write(salt)
	return newAEAD([KeySize]byte(m.Sum(nil)))
}

func newKey() (key [KeySize]byte) {
	rand.Read(key[:]) // never fails
	return key
}
