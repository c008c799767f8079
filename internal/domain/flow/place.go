package flow

import "github.com/einmal/einmal/internal/ground/ident"

// A flow's number says where it stands: connection, lane, tenant, and a number of its own among theirs. So the
// flows of a lane are neighbours in the queue's index, and so are a tenant's in its lane: a claim steps from
// tenant to tenant without reading what is between, however many flows one of them has.
const (
	numberBits = 32
	tenantBits = 12
	laneBits   = 3

	// TenantShift and FlowShift are how many low bits of a flow's number differ within a tenant's share of a lane,
	// and within a flow.
	TenantShift = numberBits
	FlowShift   = 0

	laneShift       = numberBits + tenantBits
	connectionShift = laneShift + laneBits

	// MaxConnection is the highest number of a connection that flows' numbers have room for.
	MaxConnection = 1<<(63-connectionShift) - 1
)

// Place is where flows stand in the queue.
type Place struct {
	Connection int64
	Lane       int
	Tenant     ident.Partition
}

// PlaceOf is where a flow stands.
func PlaceOf(id int64) Place {
	return Place{id >> connectionShift, int(id >> laneShift & (1<<laneBits - 1)), ident.Partition(id >> numberBits & (1<<tenantBits - 1))}
}

// Range is the flows' numbers of the place: from, and up to but not including, to.
func (p Place) Range() (from, to int64) {
	from = p.Connection<<connectionShift | int64(p.Lane)<<laneShift | int64(p.Tenant)<<numberBits
	return from, from + 1<<numberBits
}

// LaneRange is the numbers of all flows of the place's lane.
func (p Place) LaneRange() (from, to int64) {
	from, _ = Place{p.Connection, p.Lane, 0}.Range()
	return from, from + 1<<laneShift
}
