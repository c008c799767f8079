package outbound

import (
	"context"
	"sync"

	"github.com/einmal/einmal/internal/store"
)

// maxFlows is how many flows are remembered. A client that invents senders makes the store be asked again, and
// not this node's memory grow.
const maxFlows = 16_384

// flows remembers the numbers of flows. They never change.
type flows struct {
	store Store
	mu    sync.RWMutex
	ids   map[store.FlowSpec]int64
}

func newFlows(s Store) *flows { return &flows{store: s, ids: map[store.FlowSpec]int64{}} }

func (f *flows) id(ctx context.Context, spec store.FlowSpec) (int64, error) {
	f.mu.RLock()
	id, known := f.ids[spec]
	f.mu.RUnlock()
	if known {
		return id, nil
	}
	id, err := f.store.EnsureFlow(ctx, spec)
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ids) >= maxFlows {
		clear(f.ids)
	}
	f.ids[spec] = id
	return id, nil
}
