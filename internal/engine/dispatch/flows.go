package dispatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/store"
)

const (
	flowsLife = time.Second // flows that another node made are seen after this at the latest
	// flowsRest is how long the list is good at least. A wake-up asks for a new one, since the message may be
	// the first of its flow, and there may be thousands of wake-ups a second.
	flowsRest = 20 * time.Millisecond
)

// flows is the list of a connection's flows and whose turn it is. It belongs to the claiming goroutine.
type flows struct {
	list   []flow
	loaded time.Time
	asked  bool // somebody wants a new list
	turn   uint64
}

type flow struct {
	id     int64
	lane   int
	served uint64 // the turn in which it last gave a message
}

// refresh reads the list if it is old, or if it is asked for and not quite new.
func (d *Dispatcher) refreshFlows(ctx context.Context, now time.Time) error {
	age := now.Sub(d.flows.loaded)
	if age < flowsRest || age < flowsLife && !d.flows.asked {
		return nil
	}
	list, err := d.cfg.Store.Flows(ctx, d.cfg.Connection.ID)
	if err != nil {
		return err
	}
	d.flows.replace(list)
	d.flows.loaded, d.flows.asked = now, false
	return nil
}

func (f *flows) replace(list []store.Flow) {
	served := make(map[int64]uint64, len(f.list))
	for _, old := range f.list {
		served[old.id] = old.served
	}
	f.list = f.list[:0]
	for _, s := range list {
		f.list = append(f.list, flow{id: s.ID, lane: s.Lane, served: served[s.ID]})
	}
}

// order lists the flows as they are to be taken from: the urgent lanes first, and within a lane those first
// that were not served for the longest time.
func (f *flows) order() []int64 {
	slices.SortStableFunc(f.list, func(a, b flow) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.served, b.served))
	})
	ids := make([]int64, len(f.list))
	for i, one := range f.list {
		ids[i] = one.id
	}
	return ids
}

// took notes who was served, and reports whether a flow gave as much as it was allowed to: it may have more.
func (f *flows) took(claimed []store.Claimed, perFlow int) (capped bool) {
	f.turn++
	given := map[int64]int{}
	for _, c := range claimed {
		given[c.Flow]++
	}
	for i := range f.list {
		n := given[f.list[i].id]
		if n > 0 {
			f.list[i].served = f.turn
		}
		capped = capped || n >= perFlow
	}
	return capped
}
