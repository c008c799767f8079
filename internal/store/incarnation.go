package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Mark is what a node keeps beside the store (D20): how many transactions the store has acknowledged to it. A store
// that knows of fewer went back in time.
type Mark struct {
	Node        ident.Node // whose numbers these are; it outlives the process
	Incarnation ident.Incarnation
	Numbers     []int64 // the last number of each of the node's writers
}

// Marker keeps marks. Its methods are called by one goroutine at a time.
type Marker interface {
	// Marks returns the node's own mark, nil if there is none, and those of other nodes that it can see.
	Marks() (own *Mark, others []Mark, err error)
	// Put replaces the own mark. It is durable when Put returns nil.
	Put(m Mark) error
}

// Incarnation is one life of the store: it begins with the store, or with the release after a restore. While it is
// held nothing is decided, claimed, opened, taken back or expired; what comes as evidence is taken.
type Incarnation struct {
	ID      ident.Incarnation
	N       int          // 1 is the first
	BegunAt clock.Micros // 0: the first
	HeldAt  clock.Micros // since when traffic waits; 0: it does not
	Why     string       // it waits
	Release *Release     // asked for and under way; nil: none
}

// Held reports whether traffic waits.
func (i *Incarnation) Held() bool { return i.HeldAt != 0 }

// Release is a person's word on a store that was restored.
type Release struct {
	AsOf        clock.Micros // when the copy was taken; 0: not known
	KeepPending bool         // nothing has left since the copy: what waits may be sent
	Person      string
	Reason      string
	At          clock.Micros // set by the store
}

// Watched is what Watch found.
type Watched struct {
	Incarnation
	Behind string // why the store is held by this call; empty: it is not behind
	// Unmarked: there was no mark of this node. It goes on from the numbers that the store has, and would not
	// have noticed a jump before its start.
	Unmarked bool
}

// Unfinished is a message that waits or is being sent.
type Unfinished struct {
	Message    ident.Message
	Tenant     ident.Partition
	Purpose    string
	State      message.State
	CreatedAt  clock.Micros
	ValidUntil clock.Micros
	Open       bool // an attempt has no answer
}

// Incarnations notices a store that went back in time, and makes traffic wait until somebody releases it.
type Incarnations interface {
	// Watch compares the store with the marks, holds it if it is behind, and keeps the own mark from now on. It is
	// called once, before anything else is written.
	Watch(ctx context.Context, m Marker) (Watched, error)
	// HoldTraffic makes traffic wait. A store that is held already stays as it is.
	HoldTraffic(ctx context.Context, why string) error
	// Incarnation is the current one.
	Incarnation(ctx context.Context) (Incarnation, error)
	// Held reports what the last transaction of this node knew. It asks nobody.
	Held() bool
	// Unfinished lists what waits or is being sent, from the cursor on; it returns the cursor to go on from, zero
	// after the last one.
	Unfinished(ctx context.Context, from Cursor, limit int) ([]Unfinished, Cursor, error)
	// CountUnfinished counts what waits and what is being sent, at most so many of each.
	CountUnfinished(ctx context.Context, most int) (waiting, sending int, err error)
	// BeginRelease notes that the store is to be released. fault.State: it is not held, or another release is under
	// way; the same one again is no error.
	BeginRelease(ctx context.Context, r Release) error
	// EndRelease begins a new incarnation, in which traffic goes on. Whoever calls it has seen to what was in doubt.
	// If the given one is over already, it does nothing.
	EndRelease(ctx context.Context, of ident.Incarnation) error
}
