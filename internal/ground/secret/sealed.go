package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
)

// Errors of opening. They say nothing about the content.
var (
	// ErrDamaged says that content or a wrapped key is not what was sealed, or is not opened in its place.
	ErrDamaged = errors.New("secret: sealed content does not fit its key or its place")
	// ErrNoKey says that content has a key of its own, which was not given: it may be destroyed.
	ErrNoKey = errors.New("secret: the content's own key is not there")
)

// Kinds of sealed forms.
const (
	underDay byte = 1 // content, under a tenant's key of the day
	underOwn byte = 2 // content, under a key of its own
	wrapDay  byte = 3 // a day key, under the master key
	wrapOwn  byte = 4 // an own key, under the master key
)

// A sealed form is a version, a kind, a number (8 bytes, big-endian), a nonce (12 bytes) and the ciphertext
// with its tag (16 bytes), by AES-256-GCM. The number is a day key's id; in a wrapped day key it is tenant and
// day. Version, kind and number are authenticated together with the caller's associated data.
const (
	formVersion = 1
	headSize    = 10
)

func newAEAD(key [KeySize]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return aead
		}
	}
	panic(err) // the size is right, so it cannot be
}

func seal(a cipher.AEAD, kind byte, number uint64, aad, plaintext []byte) []byte {
	head := make([]byte, headSize, headSize+a.Overhead()+len(plaintext))
	head[0], head[1] = formVersion, kind
	binary.BigEndian.PutUint64(head[2:], number)
	return a.Seal(head, nil, plaintext, withHead(head, aad))
}

func open(a cipher.AEAD, aad, sealed []byte) ([]byte, error) {
	plaintext, err := a.Open(nil, nil, sealed[headSize:], withHead(sealed[:headSize], aad))
	if err != nil {
		return nil, ErrDamaged
	}
	return plaintext, nil
}

func withHead(head, aad []byte) []byte {
	return append(append(make([]byte, 0, len(head)+len(aad)), head...), aad...)
}

// readHead returns kind and number of a form.
func readHead(sealed []byte) (kind byte, number uint64, err error) {
	if len(sealed) < headSize || sealed[0] != formVersion {
		return 0, 0, ErrDamaged
	}
	return sealed[1], binary.BigEndian.Uint64(sealed[2:]), nil
}

// Place is the associated data that binds content to what it is and to the row that it belongs to, so that a
// sealed value cannot be moved to another row or be taken for another thing.
func Place(what string, row [16]byte) []byte {
	return append(append(make([]byte, 0, len(what)+1+len(row)), what...), append([]byte{0}, row[:]...)...)
}
