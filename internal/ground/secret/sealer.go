package secret

import (
	"context"
	"crypto/cipher"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
)

// KeyStore keeps wrapped day keys.
type KeyStore interface {
	// EnsureSealingKey returns the key of a tenant and day, wrapped; it stores the given one if there is none.
	EnsureSealingKey(ctx context.Context, tenant ident.Partition, day int32, wrapped []byte) (id int64, stored []byte, err error)
	// SealingKey returns a wrapped key by its id, or fault.NotFound once it is destroyed.
	SealingKey(ctx context.Context, id int64) ([]byte, error)
}

// maxDayKeys is how many day keys are kept unwrapped. Beyond it any one is dropped: it is unwrapped again when
// it is needed.
const maxDayKeys = 4096

// Sealer seals and opens content. Safe for concurrent use.
type Sealer struct {
	master [KeySize]byte
	store  KeyStore

	mu    sync.RWMutex
	byDay map[tenantDay]*dayKey
	byID  map[int64]*dayKey
}

type tenantDay struct {
	tenant ident.Partition
	day    int32 // since 1970, UTC
}

// number is the form in which a wrapped day key carries them.
func (td tenantDay) number() uint64 {
	return uint64(td.tenant)<<32 | uint64(uint32(td.day))
}

type dayKey struct {
	id   int64
	of   uint64 // tenantDay.number
	aead cipher.AEAD
}

// NewSealer returns a sealer under the master key.
func NewSealer(master [KeySize]byte, store KeyStore) *Sealer {
	return &Sealer{master: master, store: store, byDay: map[tenantDay]*dayKey{}, byID: map[int64]*dayKey{}}
}

// Check is the value that the store holds, to know this master key again. It tells nothing about the key.
func (s *Sealer) Check() string {
	check := derive(s.master, "sealing check value")
	return hex.EncodeToString(check[:16])
}

// Seal seals under the tenant's key of the day. aad (see Place) must be given again to open it.
func (s *Sealer) Seal(ctx context.Context, tenant ident.Partition, at time.Time, aad, plaintext []byte) ([]byte, error) {
	td := tenantDay{tenant, dayOf(at)}
	s.mu.RLock()
	k := s.byDay[td]
	s.mu.RUnlock()
	if k == nil {
		var err error
		if k, err = s.ensure(ctx, td); err != nil {
			return nil, err
		}
	}
	return seal(k.aead, underDay, uint64(k.id), aad, plaintext), nil
}

// OwnKey is the key of one message's content. Whoever destroys every copy of its wrapped form has destroyed
// the content.
type OwnKey struct{ aead cipher.AEAD }

// NewOwnKey makes a key and returns it with its wrapped form, which Open asks for.
func (s *Sealer) NewOwnKey() (k OwnKey, wrapped []byte) {
	key := newKey()
	return OwnKey{newAEAD(key)}, wrap(s.master, wrapOwn, 0, key)
}

// Seal seals under the own key. aad (see Place) must be given again to open it.
func (k OwnKey) Seal(aad, plaintext []byte) []byte { return seal(k.aead, underOwn, 0, aad, plaintext) }

// Open opens either kind. own is the wrapped own key of content that has one, else nil.
func (s *Sealer) Open(ctx context.Context, aad, sealed, own []byte) ([]byte, error) {
	kind, number, err := readHead(sealed)
	switch {
	case err != nil:
		return nil, err
	case kind == underOwn && own == nil:
		return nil, ErrNoKey
	case kind == underOwn:
		key, _, err := unwrap(s.master, wrapOwn, own)
		if err != nil {
			return nil, err
		}
		return open(newAEAD(key), aad, sealed)
	case kind != underDay:
		return nil, ErrDamaged
	}
	k, err := s.byNumber(ctx, int64(number))
	if err != nil {
		return nil, err
	}
	return open(k.aead, aad, sealed)
}

// Reseal seals what takes the place of content, under the day key that the content is sealed with. That key is
// there, so nothing is written to find it.
func (s *Sealer) Reseal(ctx context.Context, aad, sealed, plaintext []byte) ([]byte, error) {
	kind, number, err := readHead(sealed)
	if err != nil || kind != underDay {
		return nil, ErrDamaged
	}
	k, err := s.byNumber(ctx, int64(number))
	if err != nil {
		return nil, err
	}
	return seal(k.aead, underDay, number, aad, plaintext), nil
}

// ensure takes the store's key of the day, or gives it one.
func (s *Sealer) ensure(ctx context.Context, td tenantDay) (*dayKey, error) {
	id, stored, err := s.store.EnsureSealingKey(ctx, td.tenant, td.day, wrap(s.master, wrapDay, td.number(), newKey()))
	if err != nil {
		return nil, err
	}
	k, err := s.unwrapDay(id, stored)
	if err != nil {
		return nil, err
	}
	if k.of != td.number() {
		return nil, fmt.Errorf("sealing key %d belongs to another tenant or day: %w", id, ErrDamaged)
	}
	s.keep(k, &td)
	return k, nil
}

func (s *Sealer) byNumber(ctx context.Context, id int64) (*dayKey, error) {
	s.mu.RLock()
	k := s.byID[id]
	s.mu.RUnlock()
	if k != nil {
		return k, nil
	}
	stored, err := s.store.SealingKey(ctx, id)
	if err != nil {
		return nil, err
	}
	if k, err = s.unwrapDay(id, stored); err == nil {
		s.keep(k, nil)
	}
	return k, err
}

func (s *Sealer) unwrapDay(id int64, stored []byte) (*dayKey, error) {
	key, of, err := unwrap(s.master, wrapDay, stored)
	if err != nil {
		return nil, fmt.Errorf("sealing key %d was made under another %s: %w", id, SealingFile, err)
	}
	return &dayKey{id: id, of: of, aead: newAEAD(key)}, nil
}

func (s *Sealer) keep(k *dayKey, td *tenantDay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bound(s.byID)
	s.byID[k.id] = k
	if td != nil {
		bound(s.byDay)
		s.byDay[*td] = k
	}
}

// bound makes room for one more.
func bound[K comparable](m map[K]*dayKey) {
	for k := range m {
		if len(m) < maxDayKeys {
			return
		}
		delete(m, k)
	}
}

func dayOf(at time.Time) int32 {
	const day = 24 * 60 * 60
	return int32(at.Unix() / day) // until the year 5 million
}
