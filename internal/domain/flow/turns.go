package flow

import (
	"maps"

	"github.com/einmal/einmal/internal/ground/ident"
)

// Turns is who was served last: a node's memory from claim to claim. It may be lost; then the turns begin anew.
// The zero value is the beginning.
type Turns struct {
	passed [Lanes]int // messages of more urgent lanes that were taken while the lane waited
	tenant [Lanes]ident.Partition
	flow   map[share]int64
}

// share is a tenant's share of a lane.
type share struct {
	lane   int
	tenant ident.Partition
}

// Turn is what a deal has changed.
type Turn struct {
	passed  [Lanes]int
	tenants map[int]ident.Partition
	flows   map[share]int64
}

// TenantAfter is the tenant after which the lane's turn goes on.
func (t *Turns) TenantAfter(lane int) ident.Partition { return t.tenant[lane] }

// FlowAfter is the flow after which the tenant's turn in a lane goes on; 0: from its first one.
func (t *Turns) FlowAfter(lane int, tenant ident.Partition) int64 { return t.flow[share{lane, tenant}] }

// Take takes over what a deal has changed, once its messages are taken for good.
func (t *Turns) Take(turn Turn) {
	t.passed = turn.passed
	for lane, tenant := range turn.tenants {
		t.tenant[lane] = tenant
	}
	if t.flow == nil {
		t.flow = map[share]int64{}
	}
	maps.Copy(t.flow, turn.flows)
}
