package store

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Tenant is one of those who share the installation.
type Tenant struct {
	ID        ident.Partition
	Name      string // its public id: it never changes
	Label     string // for people
	State     tenant.State
	Prepaid   bool         // it pays from a wallet; the installation's own tenant does not
	CreatedAt clock.Micros // 0: not known
	CreatedBy string

	// Of the last change of State; 0 and "": there was none.
	StateAt              clock.Micros
	StateBy, StateReason string
}

// TenantChange is what becomes different; nil and 0: that does not.
type TenantChange struct {
	Label      *string
	State      tenant.State
	By, Reason string // of a change of state
}

// Administration is what is changed of tenants while nodes run. Each change raises the control count. Lists of one
// tenant hold nothing of another, and what is another's is not found.
type Administration interface {
	Tenants
	Users
	Senders
	Numbers
}

// Tenants are made and changed by the installation.
type Tenants interface {
	// CreateTenant makes a tenant and gives it the next partition. fault.State: there is one of this name.
	CreateTenant(ctx context.Context, t Tenant) (Tenant, error)
	// TenantByName is fault.NotFound if there is none.
	TenantByName(ctx context.Context, name string) (Tenant, error)
	// ListTenants lists tenants by name, those after a name.
	ListTenants(ctx context.Context, after string, limit int) ([]Tenant, error)
	// ChangeTenant changes a tenant. To be in the state already changes nothing. fault.State: it is suspended by somebody
	// else, or for another reason, which the text says.
	ChangeTenant(ctx context.Context, id ident.Partition, c TenantChange) (Tenant, error)
}

// Rotated is a key with the one that replaces it.
type Rotated struct{ Old, New APIKey }

// KeyLimit refuses a key more of a name of which so many work.
type KeyLimit func(live int) error

// Rotation replaces a key by one of the same name, kind, scopes and user.
type Rotation struct {
	Tenant  ident.Partition
	Old     string
	New     APIKey        // ID, Hash, ExpiresAt and CreatedBy of it count
	OldEnds time.Duration // from now, unless the old one ends sooner by itself
	Limit   KeyLimit
}

// User is a person of a tenant. A key may be a user's: then it does no more than the user's role allows, and the audit
// names the user.
type User struct {
	ID        ident.User
	Tenant    ident.Partition
	Login     string // one of it in a tenant
	Name      string
	Phone     string // E.164; "": not known
	Role      string // space-separated scopes
	State     tenant.State
	CreatedAt clock.Micros
	CreatedBy string
}

// UserChange is what becomes different; nil and 0: that does not.
type UserChange struct {
	Name, Phone, Role *string
	State             tenant.State
}

// Guest is somebody whom a team key may write to and who is no user.
type Guest struct {
	ID        ident.Guest
	Tenant    ident.Partition
	Name      string
	Phone     string // E.164
	CreatedAt clock.Micros
	CreatedBy string
}

// Users are a tenant's people.
type Users interface {
	// CreateUser returns the user as it is stored. fault.State: the login is taken.
	CreateUser(ctx context.Context, u User) (User, error)
	User(ctx context.Context, tenant ident.Partition, id ident.User) (User, error)
	ListUsers(ctx context.Context, tenant ident.Partition, p Page) ([]User, error)
	ChangeUser(ctx context.Context, tenant ident.Partition, id ident.User, c UserChange) (User, error)

	// CreateGuest returns the guest of this phone: the given one, or the one that is there, with made false.
	CreateGuest(ctx context.Context, g Guest) (stored Guest, made bool, err error)
	ListGuests(ctx context.Context, tenant ident.Partition, p Page) ([]Guest, error)
	DeleteGuest(ctx context.Context, tenant ident.Partition, id ident.Guest) (Guest, error)
	// TeamPhones gives the phones of each tenant's active users and guests, for the copies that nodes keep.
	TeamPhones(ctx context.Context) (map[ident.Partition][]string, error)
}

// Sender is one that a tenant may send under.
type Sender struct {
	Tenant    ident.Partition
	Sender    string // as phone.Sender writes it
	Default   bool   // of requests that name none; a tenant with senders has one
	CreatedAt clock.Micros
	CreatedBy string
}

// Senders are registered by the installation.
type Senders interface {
	// PutSender registers a sender, or makes one that is registered the default. A tenant's first one is the default.
	PutSender(ctx context.Context, s Sender) (stored Sender, made bool, err error)
	// DeleteSender is fault.State for the default one as long as there are others.
	DeleteSender(ctx context.Context, tenant ident.Partition, sender string) (Sender, error)
	ListSenders(ctx context.Context, tenant ident.Partition) ([]Sender, error)
	// AllSenders lists all tenants' senders, for the copies that nodes keep.
	AllSenders(ctx context.Context) ([]Sender, error)
}

// Lease is a number that is a tenant's for a time.
type Lease struct {
	ID     ident.Lease
	Number string // E.164
	Tenant ident.Partition
	tenant.Term
	CreatedAt clock.Micros
	CreatedBy string
}

// LeaseRule is tenant.Lease: it refuses a term beside others of the same number.
type LeaseRule func(wanted tenant.Term, others []tenant.Term) error

// Numbers are leased to tenants by the installation.
type Numbers interface {
	// LeaseNumber stores a lease that the rule allows beside those that the number has. A lease that begins at 0 begins
	// now.
	LeaseNumber(ctx context.Context, l Lease, rule LeaseRule) (Lease, error)
	// EndLease gives a lease another end: 0 takes the end away, and a time that is past ends it now, or before it began.
	EndLease(ctx context.Context, tenant ident.Partition, id ident.Lease, ends clock.Micros, rule LeaseRule) (Lease, error)
	ListLeases(ctx context.Context, tenant ident.Partition, p Page) ([]Lease, error)
}
