package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Version is what changes of a message whenever something has happened to it.
type Version struct {
	State     message.State
	Final     bool
	LastEvent uint32
}

// Watcher tells whether something has happened, on this node or another.
type Watcher interface {
	// Versions reads the versions of messages, whoever they belong to. Those that do not exist are left out.
	Versions(ctx context.Context, ids []ident.Message) (map[ident.Message]Version, error)
}
