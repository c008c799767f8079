package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// ExceptionFilter narrows a list; zero values do not.
type ExceptionFilter struct {
	About      ident.Message
	State      exception.State
	Kind       exception.Kind
	Connection int64
	Hour       clock.Micros // the group's: the first moment of an hour
	// AllTenants lists open ones of every tenant. It is for those who run the installation.
	AllTenants bool
}

// ExceptionView is a stored exception.
type ExceptionView struct {
	exception.Exception
	GroupCount int64 // how many exceptions of its connection, kind and hour there are, counted ones included
}

// ExceptionGroup is the exceptions of one connection, kind and hour.
type ExceptionGroup struct {
	GroupKey
	Count int64 // all of them
	Open  int64 // those that were kept one by one and wait
}

// GroupKey names a group among those of a tenant.
type GroupKey struct {
	Hour       clock.Micros
	Connection int64
	Kind       exception.Kind
}

// Exceptions is what the gateway could not settle by itself. A receipt without a match belongs to the installation:
// its exception is its own tenant's, the first one.
type Exceptions interface {
	// Exception returns one; fault.NotFound for another tenant's.
	Exception(ctx context.Context, tenant ident.Partition, id ident.Exception) (*ExceptionView, error)
	Exceptions(ctx context.Context, tenant ident.Partition, f ExceptionFilter, p Page) ([]*ExceptionView, error)
	// ExceptionGroups lists groups, the newest hour first; after is where the page before ended, zero: from the newest
	// on. open leaves out groups of which none is open.
	ExceptionGroups(ctx context.Context, tenant ident.Partition, open bool, after GroupKey, limit int) ([]ExceptionGroup, error)
}

// Resolution is what a person makes of an exception.
type Resolution struct {
	Exception ident.Exception
	Tenant    ident.Partition // who resolves it: another tenant's is not found
	Action    exception.Action
	Person    string
	Reason    string
	// To is the attempt to attach to; zero: the one that the exception names, where it names one alone. An attempt of
	// another tenant is not found, unless Anywhere is set and the exception belongs to nobody's message.
	To       exception.Part
	Anywhere bool
	// State is what the receipt stands for, where its status has no documented meaning.
	State string
}

// Resolver settles exceptions by a person's word.
type Resolver interface {
	// Resolve takes resolutions in their order, in one transaction. An exception that was resolved in the very same way
	// before (the same action, attempt and state) is Known and nothing happens; one that was resolved otherwise is fault.State.
	Resolve(ctx context.Context, rs []Resolution, rules Rules) ([]Settled, error)
}
