package store

import "context"

// Controls tells nodes that something which is administered while they run has changed.
type Controls interface {
	// ControlVersion is the number of changes so far: of tenants, keys, connections, routes and whatever else nodes
	// keep a copy of. Each change raises it in its own transaction, so that who reads the number first and the things
	// after it never holds older ones under a newer number.
	ControlVersion(ctx context.Context) (int64, error)
}
