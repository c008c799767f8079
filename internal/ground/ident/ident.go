// Package ident makes and reads the gateway's ids.
//
// An id is a UUIDv7 (RFC 9562) of which twelve random bits carry the tenant's partition, a number from 0 to
// 4095. In text it is a prefix, an underscore and 32 hexadecimal digits. Nothing may rely on an order of ids:
// lists go by (created_at, id).
package ident

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Partition is a tenant's partition, 0 to 4095.
type Partition uint16

// MaxPartition is the largest partition.
const MaxPartition Partition = 4095

// Kind names what an id stands for. It is a type parameter only, so that a receipt's id cannot be passed
// where a message's is wanted.
type Kind interface{ Prefix() string }

// ID is an id of one kind. The zero value means "none".
type ID[K Kind] [16]byte

// The kinds of ids.
type (
	messageKind   struct{}
	decisionKind  struct{}
	receiptKind   struct{}
	exceptionKind struct{}
	stopKind      struct{}
	nodeKind      struct{}
	userKind      struct{}
	guestKind     struct{}
	leaseKind     struct{}
	transferKind  struct{}
	webhookKind   struct{}

	incarnationKind struct{}
)

func (messageKind) Prefix() string   { return "msg" }
func (decisionKind) Prefix() string  { return "dec" }
func (receiptKind) Prefix() string   { return "rcp" }
func (exceptionKind) Prefix() string { return "exc" }
func (stopKind) Prefix() string      { return "stop" }
func (nodeKind) Prefix() string      { return "node" }
func (userKind) Prefix() string      { return "usr" }
func (guestKind) Prefix() string     { return "gst" }
func (leaseKind) Prefix() string     { return "lse" }
func (transferKind) Prefix() string  { return "trf" }
func (webhookKind) Prefix() string   { return "whk" }

func (incarnationKind) Prefix() string { return "inc" }

// Typed ids.
type (
	Message   = ID[messageKind]
	Decision  = ID[decisionKind]
	Receipt   = ID[receiptKind]
	Exception = ID[exceptionKind]
	Stop      = ID[stopKind]
	Node      = ID[nodeKind]
	User      = ID[userKind]
	Guest     = ID[guestKind]
	Lease     = ID[leaseKind]
	Transfer  = ID[transferKind]
	Webhook   = ID[webhookKind]

	// Incarnation is one life of a store.
	Incarnation = ID[incarnationKind]
)

// NewMessage and the others make an id of their kind.
func NewMessage(p Partition) Message     { return New[messageKind](p) }
func NewDecision(p Partition) Decision   { return New[decisionKind](p) }
func NewReceipt(p Partition) Receipt     { return New[receiptKind](p) }
func NewException(p Partition) Exception { return New[exceptionKind](p) }
func NewStop(p Partition) Stop           { return New[stopKind](p) }
func NewUser(p Partition) User           { return New[userKind](p) }
func NewGuest(p Partition) Guest         { return New[guestKind](p) }
func NewLease(p Partition) Lease         { return New[leaseKind](p) }
func NewTransfer(p Partition) Transfer   { return New[transferKind](p) }
func NewNode() Node                      { return New[nodeKind](0) }
func NewWebhook(p Partition) Webhook     { return New[webhookKind](p) }
func NewIncarnation() Incarnation        { return New[incarnationKind](0) }

// New makes an id in the partition p. It panics only if the system has no source of randomness.
func New[K Kind](p Partition) ID[K] {
	u := uuid.Must(uuid.NewV7())
	// rand_b is the 62 bits after the variant; its last twelve bits hold the partition.
	u[14] = u[14]&0xf0 | byte(p>>8)&0x0f
	u[15] = byte(p)
	return ID[K](u)
}

// Floor is the smallest id of a kind that is made at a moment or later, in milliseconds since 1970 by the clock of
// whoever makes it. Clocks of nodes differ, so it parts what is old from what is young and orders nothing.
func Floor[I ~[16]byte](ms int64) (floor I) {
	for i := range 6 {
		floor[i] = byte(ms >> (40 - 8*i))
	}
	return floor
}

// Partition returns the partition that the id was made in.
func (id ID[K]) Partition() Partition {
	return Partition(id[14]&0x0f)<<8 | Partition(id[15])
}

// IsZero reports whether the id is "none".
func (id ID[K]) IsZero() bool { return id == ID[K]{} }

// String returns the id's text, or "" for none.
func (id ID[K]) String() string {
	if id.IsZero() {
		return ""
	}
	var k K
	return k.Prefix() + "_" + hex.EncodeToString(id[:])
}

// MarshalText writes the id's text.
func (id ID[K]) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *ID[K]) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = ID[K]{}
		return nil
	}
	got, err := Parse[K](string(b))
	*id = got
	return err
}

// Parse reads an id's text. The error says which prefix was expected.
func Parse[K Kind](s string) (ID[K], error) {
	var (
		id ID[K]
		k  K
	)
	rest, ok := strings.CutPrefix(s, k.Prefix()+"_")
	if !ok || len(rest) != 32 {
		return id, fmt.Errorf("not an id of this kind: it starts with %q and goes on with 32 hexadecimal digits", k.Prefix()+"_")
	}
	if _, err := hex.Decode(id[:], []byte(rest)); err != nil {
		return ID[K]{}, fmt.Errorf("not an id: after %q come 32 hexadecimal digits", k.Prefix()+"_")
	}
	return id, nil
}
