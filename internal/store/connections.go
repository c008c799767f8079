package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
)

// ConnectionSetting is a connection that is administered while nodes run. Its number and its name are for ever, its row
// too: one that was removed may be brought back, and what is known of its receipts is needed for those that come late.
type ConnectionSetting struct {
	ID       int64
	Name     string
	Settings string // JSON, as it was given
	Enabled  bool   // messages are sent over it
	Removed  bool   // it is not shown any more, and not enabled
	Changed
}

// Changed says which change of something this is. Whoever changes it names the version that they have seen.
type Changed struct {
	Version int64 // from 1 on; 0: there is none yet
	At      clock.Micros
	By      string
}

// RouteList is the whole list of routes, in their order.
type RouteList struct {
	Rules []route.Rule
	Changed
}

// ErrOtherVersion says that somebody else was faster: what is there is of another version than the one that was seen.
// Read it again, and decide again.
var ErrOtherVersion = fault.New(fault.State, "it was changed meanwhile, and is of another version than the one that was named: read it again")

// Connections holds connections and routes that are administered. Each change raises Controls.ControlVersion.
type Connections interface {
	// PutConnection stores a connection under the number that EnsureConnection gave its name. c.Version is the one that
	// was seen, 0 of a new one; c.At is the store's. It returns what is stored. ErrOtherVersion: nothing has changed.
	// fault.State: it would be removed, and the stored routes lead to it.
	PutConnection(ctx context.Context, c ConnectionSetting) (ConnectionSetting, error)
	// ConnectionSettings lists all of them by their numbers, with those that were removed.
	ConnectionSettings(ctx context.Context) ([]ConnectionSetting, error)
	// PutRoutes replaces the list. l.Version is the one that was seen. ErrOtherVersion: nothing has changed. fault.State:
	// they lead to a connection that was removed.
	PutRoutes(ctx context.Context, l RouteList) (RouteList, error)
	// Routes is the list; version 0: nobody has written one.
	Routes(ctx context.Context) (RouteList, error)
}
