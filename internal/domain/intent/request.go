// Package intent recognises that two requests mean the same thing and decides what follows from that.
//
// Everything here is pure: Decide is a fold over the requests of a batch and the facts that the store read
// under its locks. The same function serves live traffic, dry runs, tests of a policy and the replay of
// recorded traffic.
package intent

import (
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Key is a deduplication key, an idempotency key or a fingerprint as the store holds it: 16 bytes of an HMAC.
type Key [16]byte

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k == Key{} }

// Keyer turns the clear form of a key into the stored one. It is an HMAC under the installation's identity
// key, so that nobody can find a number by trying them all.
type Keyer func(form []byte) Key

// Event is the business event that a message is about.
type Event struct{ Type, ID, Version string }

// Template is the template that a text was made from.
type Template struct{ ID, Version string }

// Request is one intent, normalised and ready to be decided. Its ids are made before the first try, so that
// the same batch can be committed again after a lost connection without a second message.
type Request struct {
	Decision ident.Decision
	Message  ident.Message // used only if the request is allowed

	Tenant        ident.Partition
	PolicyID      string // name@version
	Purpose       policy.Purpose
	MappedBy      string // the policy's rule that gave purpose and event; "": the request named them, or none did
	To            phone.Number
	Event         Event
	Sender        string
	Template      Template
	CorrelationID string
	Connection    int64 // immutable number of the connection that was chosen for it
	Simulated     bool  // a test key asks: it reaches no phone, and is no message like one that does

	Keys        Keys
	TextKey     Key
	Text        message.Layout
	Idempotency Idempotency
	// Before are the messages that the requests before this one in its call would make: of a call with several, none is
	// answered before all of them are.
	Before []ident.Message

	// Guards are what rules beside deduplication say of the request, as far as that is known before the store is asked.
	Guards []Guard

	Charge Charge

	// DryRun says that nothing comes of the decision. It changes its words alone.
	DryRun bool

	// ValidFor is how long the message may wait to be sent, counted from the store's clock at the decision.
	ValidFor time.Duration
}

// Keys are the register keys under which a request is compared.
type Keys struct {
	Intent Key
	// Older are the keys under policy versions whose windows may still run (D6).
	Older []OlderKey
	// Variant is the key of this intent with this very text. It is set where the policy lets another text
	// through as a new version, so that the same other text twice is still one message (D17).
	Variant Key
	// OlderVariants are the same under policy versions whose windows may still run.
	OlderVariants []OlderKey
	// Unanswered is held by the last message of requests without a purpose until its answer got out (D18).
	Unanswered Key
}

// OlderKey is the key that an earlier version of the policy would have made of a request.
type OlderKey struct {
	Key Key
	// Purpose is that version's, in the mode of the policy in force. It decides about a repeat where the request names
	// no purpose and no rule is for it any more: by itself such a request would be sent, and the window reopened.
	Purpose policy.Purpose
}

// Idempotency is what came with a client's Idempotency-Key header.
type Idempotency struct {
	Key         Key // zero: the request came without one
	Fingerprint Fingerprint
}

// IdempotencyLife is how long a key stays valid at least (D8). It stays longer while its message is not final.
const IdempotencyLife = 24 * time.Hour
