package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Installation is the tenant that owns what belongs to no other: the first one. Its keys may stop everybody.
const Installation ident.Partition = 1

// Stop is an emergency stop: what waits in its scope is not claimed until it is lifted. It is kept for ever, with
// who did what and why.
type Stop struct {
	ID                     ident.Stop
	Scope                  flow.Scope
	At                     clock.Micros
	Owner                  ident.Partition // the tenant whose key set it
	Person, Reason, Caller string          // Caller is the API key's id

	LiftedAt                           clock.Micros // 0: it is in force
	LiftedBy, LiftedReason, LiftedCall string
}

// Lift is the end of a stop.
type Lift struct {
	Stop                   ident.Stop
	Owner                  ident.Partition
	Person, Reason, Caller string
}

// Stops sets and lifts emergency stops. Claims read them in their own transaction: one that begins after PutStop or
// LiftStop has returned, on any node, obeys. So does what opens later parts of long messages.
type Stops interface {
	// PutStop sets a stop. If one of this owner and scope is in force already, it returns that one, and made is false.
	PutStop(ctx context.Context, s Stop) (inForce Stop, made bool, err error)
	// LiftStop ends a stop; the same person's same word again changes nothing and returns it as it was lifted.
	// fault.NotFound: this owner has none of this id; fault.State: it was lifted before, by another person or for another
	// reason.
	LiftStop(ctx context.Context, l Lift) (Stop, error)
	// ListStops lists the stops that a tenant set, and those in force of the installation that hold what is its.
	ListStops(ctx context.Context, tenant ident.Partition, onlyInForce bool, p Page) ([]Stop, error)
	// HoldingStops lists what holds messages of a tenant at this moment, the oldest first.
	HoldingStops(ctx context.Context, tenant ident.Partition) ([]Stop, error)
	// CountFlows counts the flows that were ever used in a scope: 0 where a name is misspelt.
	CountFlows(ctx context.Context, s flow.Scope) (int, error)
}
