package provider

import (
	"context"
	"errors"
	"time"
)

// ErrNobody says that no bind is known over which an answer of a handset could go.
var ErrNobody = errors.New("nobody is bound who could receive the handset's answer")

// PhoneMessage is a text that a simulated handset shows.
type PhoneMessage struct {
	N         int64 // counts what its number received, from 1
	At        time.Time
	From      string // sender as the handset shows it
	Text      string
	Parts     int    // how many parts it came in
	MessageID string // the provider's, of its first part
}

// Phones are the handsets behind a provider that simulates them. Numbers are digits without a plus sign.
type Phones interface {
	// Received lists what a number received after the n-th message, the oldest first. Of old ones some may be
	// forgotten.
	Received(number string, after int64) []PhoneMessage
	// Await returns when there is something after the n-th message, or when ctx ends.
	Await(ctx context.Context, number string, after int64)
	// Answer sends a text from a handset. It returns when whoever receives for the other number has taken it, or
	// with the context's error; then it goes on being tried. ErrNobody: nobody is known who could receive it.
	// Other errors are about the text.
	Answer(ctx context.Context, number, to, text string) error
}
