// Package fault is the gateway's one vocabulary of errors: a code from a closed list, a text that may be shown
// to anybody, and a cause that is only logged. internal/edge/api has the one table from codes to HTTP statuses.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code says what kind of thing went wrong.
type Code string

// The codes. Each is part of the public API: clients branch on it.
const (
	Invalid             Code = "invalid_request"      // the request's content is wrong; Fields says where
	Unauthenticated     Code = "unauthenticated"      // no key, or not a valid one
	Scope               Code = "scope"                // the key is valid but may not do this
	Suspended           Code = "suspended"            // the key's tenant is, and begins nothing new
	NotFound            Code = "not_found"            // no such thing for this tenant
	InProgress          Code = "in_progress"          // the same idempotency key is being worked on
	IdempotencyMismatch Code = "idempotency_mismatch" // the same idempotency key came with another request
	State               Code = "state"                // the thing's state does not permit this
	TooLarge            Code = "too_large"            // the body is over the limit
	MediaType           Code = "media_type"           // the body is not JSON
	Team                Code = "team"                 // the API key reaches the team's own numbers alone
	Limit               Code = "limit"                // more than a tenant may spend before somebody has looked at it
	Funds               Code = "funds"                // it cannot be paid
	Storm               Code = "storm"                // the same thing is asked for far too often
	Unavailable         Code = "unavailable"          // the store cannot be reached, or the queue is full
	Internal            Code = "internal"             // a defect of the gateway
)

// Field is one wrong place of a request, with what would be right. Values of the request are never repeated:
// they may be numbers or codes.
type Field struct {
	Pointer string // JSON Pointer in fragment form, such as "#/event/id"
	Detail  string
}

// Fault is an error with a public side and a hidden one.
type Fault struct {
	Code       Code
	Detail     string // public
	Fields     []Field
	RetryAfter time.Duration // 0 means: no advice
	About      string        // the id of what exists already; "": nothing does
	Cause      error         // never shown
}

// New returns a fault with a public text.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// List writes what there is to choose from for people: "send, read, admin".
func List[T any](all []T) string {
	words := make([]string, len(all))
	for i := range all {
		words[i] = fmt.Sprint(all[i])
	}
	return strings.Join(words, ", ")
}

// Wrap returns a fault with a public text and a hidden cause.
func Wrap(cause error, code Code, format string, args ...any) *Fault {
	f := New(code, format, args...)
	f.Cause = cause
	return f
}

// After sets how long a client should wait before it tries again.
func (f *Fault) After(d time.Duration) *Fault {
	f.RetryAfter = d
	return f
}

// Error is for logs: it has the cause.
func (f *Fault) Error() string {
	if f.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", f.Code, f.Detail, f.Cause)
	}
	return fmt.Sprintf("%s: %s", f.Code, f.Detail)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// CodeOf returns the code of the first fault in err's chain, or Internal.
func CodeOf(err error) Code {
	var f *Fault
	if errors.As(err, &f) {
		return f.Code
	}
	return Internal
}
