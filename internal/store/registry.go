package store

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// FlowSpec is what one queue of waiting messages has in common.
type FlowSpec struct {
	Connection int64
	Lane       int // flow.Urgent is the most urgent
	Tenant     ident.Partition
	Sender     string
	Purpose    string
}

// Place is where the flow stands in the queue.
func (f FlowSpec) Place() flow.Place {
	return flow.Place{Connection: f.Connection, Lane: f.Lane, Tenant: f.Tenant}
}

// Registry holds the small tables that give names immutable numbers, and the installation's values and keys.
type Registry interface {
	// EnsureTenant returns the partition of the tenant of that name and makes one if there is none.
	EnsureTenant(ctx context.Context, name string) (ident.Partition, error)
	// EnsureConnection returns the number of the connection of that name. idSpace is the name of the connection
	// whose id space it shares; empty: its own.
	EnsureConnection(ctx context.Context, name, idSpace string) (id, space int64, err error)
	// EnsureFlow returns the immutable number of a flow, of which flow.PlaceOf gives the place.
	EnsureFlow(ctx context.Context, spec FlowSpec) (int64, error)
	// TenantNames gives every tenant's name by its partition.
	TenantNames(ctx context.Context) (map[ident.Partition]string, error)
	// ConnectionNames gives every connection's name by its number.
	ConnectionNames(ctx context.Context) (map[int64]string, error)

	// Meta reads a value of the installation, such as the identity key's check value; "" if there is none.
	Meta(ctx context.Context, name string) (string, error)
	// EnsureMeta stores the value if there is none, and returns the one that is there then.
	EnsureMeta(ctx context.Context, name, value string) (string, error)
	// SetMeta stores the value, whatever is there.
	SetMeta(ctx context.Context, name, value string) error

	// EnsureSealingKey returns the key of a tenant and day (UTC, days since 1970), wrapped; it stores the given
	// one if there is none.
	EnsureSealingKey(ctx context.Context, tenant ident.Partition, day int32, wrapped []byte) (id int64, stored []byte, err error)
	SealingKey(ctx context.Context, id int64) ([]byte, error)
	// OwnKey is the wrapped key of a message of kind authentication; fault.NotFound once it is destroyed.
	OwnKey(ctx context.Context, m ident.Message) ([]byte, error)
	// DestroyOwnKeys removes own keys whose time is over and whose message is not waiting to be sent.
	DestroyOwnKeys(ctx context.Context, limit int) (int, error)
}

// APIKey is a stored key. Its secret is kept as a keyed hash alone.
type APIKey struct {
	ID        string // public part, such as "k3v9…"
	Tenant    ident.Partition
	Name      string
	Hash      [16]byte
	Kind      tenant.KeyKind
	Scopes    string     // space-separated: send read review admin
	User      ident.User // whose it is; zero: no person's
	CreatedAt clock.Micros
	CreatedBy string
	ExpiresAt clock.Micros // 0: it does not
	RevokedAt clock.Micros // 0: it was not
}

// KeyHolder is a key with what decides whether, and for what, it works.
type KeyHolder struct {
	APIKey
	// Works says that it was neither revoked nor had expired when it was read, by the store's clock. Left is how much
	// longer it works; 0: it does not end.
	Works       bool
	Left        time.Duration
	TenantState tenant.State
	// Of the user whose key it is; nothing where there is none.
	UserName, Role string
	UserState      tenant.State
}

// Keys holds API keys. A change raises the control count.
type Keys interface {
	// PutKey stores a key. The limit, unless it is nil, is asked with the number of keys of that name that work.
	PutKey(ctx context.Context, k APIKey, limit KeyLimit) (APIKey, error)
	// RotateKey stores a key in another one's place, which ends some time later. fault.NotFound: there is no such key
	// that works.
	RotateKey(ctx context.Context, r Rotation) (Rotated, error)
	Key(ctx context.Context, id string) (KeyHolder, error)
	ListKeys(ctx context.Context, tenant ident.Partition) ([]APIKey, error)
	RevokeKey(ctx context.Context, tenant ident.Partition, id string) (APIKey, error)
}

// Slot is a node's right to use one bind of a connection until its lease ends.
type Slot struct {
	Connection int64
	N          int
	Fence      int64
}

// SlotSpec says who wants binds of which connection.
type SlotSpec struct {
	Connection int64
	Binds      int // of the connection, over all nodes
	Node       ident.Node
	Lease      time.Duration
	// Share is flow.BindShare: how many binds the node may hold that stands at this place in the line of those that want some.
	Share func(binds, nodes, rank int) int
}

// SlotShare is what a node has of a connection's binds.
type SlotShare struct {
	Held  []Slot // by number; their leases run anew
	Share int    // how many it may have. It holds more as long as it has not given them back
	Nodes int    // how many nodes want binds of the connection, itself among them
}

// Slots shares the binds of a connection among nodes.
type Slots interface {
	// KeepSlots says that the node wants binds for one lease more, renews the slots that it holds and has not lost, and
	// takes free ones, or such whose lease has ended, up to its share. It waits for no other node: what others have
	// locked is passed over.
	KeepSlots(ctx context.Context, spec SlotSpec) (SlotShare, error)
	// GiveSlot gives back a slot that the node holds.
	GiveSlot(ctx context.Context, s Slot, node ident.Node) error
	// LeaveSlots gives back all slots of a node on a connection, which wants none any more: others have larger shares
	// from now on.
	LeaveSlots(ctx context.Context, connection int64, node ident.Node) error
}
