package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// Kinds of rows in external_id.
const (
	kindExternal   = 0 // a provider's message id as received
	kindReference  = 1 // our own reference
	kindNormalised = 2 // a message id in the form that its connection declares
)

// references is how many own references an id space has (user_message_reference, SMPP 3.4 section 5.3.2.17).
const references = 1 << 16

// referenceCounter proposes references. Each process starts at a random place, so that nodes seldom meet.
type referenceCounter struct{ n atomic.Uint32 }

func (c *referenceCounter) next() uint16 {
	if c.n.Load() == 0 {
		c.n.CompareAndSwap(0, rand.Uint32()|1)
	}
	return uint16(c.n.Add(1))
}

var takeReferences = define(`insert into external_id (id_space, kind, id, candidates, waiting, held_until)
	select {1}, {2}, id, candidates, {3}, {4} from {rows id bytes, candidates bytes} where true order by id
	on conflict (id_space, kind, id) do update set candidates = excluded.candidates, held_until = excluded.held_until
		where external_id.held_until <= {5}
	returning id`)

// mostReferenceTries bounds how often free references are looked for: after it an attempt goes without one.
const mostReferenceTries = 4

// takeOwnReferences gives a free reference to as many of the parts as it can: one that no other attempt without
// a message id holds, unless that one is older than the look-back. The others get -1.
func (t *tx) takeOwnReferences(ctx context.Context, spec store.OpenSpec, parts []partKey, now clock.Micros) ([]int32, error) {
	got := make([]int32, len(parts))
	for i := range got {
		got[i] = -1
	}
	open := make([]int, len(parts)) // indexes that still want one
	for i := range open {
		open[i] = i
	}
	for try := 0; try < mostReferenceTries && len(open) > 0; try++ {
		wanted := t.proposeReferences(open)
		taken, err := t.tryReferences(ctx, spec, parts, wanted, now)
		if err != nil {
			return nil, err
		}
		open = slices.DeleteFunc(open, func(i int) bool {
			if ref := wanted[i]; taken[ref] {
				got[i] = int32(ref)
				return true
			}
			return false
		})
	}
	return got, nil
}

// proposeReferences names a number for each index; more than there are numbers get none beyond the last.
func (t *tx) proposeReferences(open []int) map[int]uint16 {
	wanted := make(map[int]uint16, len(open))
	for _, i := range open[:min(len(open), references)] {
		wanted[i] = t.s.next.next()
	}
	return wanted
}

func (t *tx) tryReferences(ctx context.Context, spec store.OpenSpec, parts []partKey, wanted map[int]uint16, now clock.Micros) (map[uint16]bool, error) {
	r := &rows{}
	for i, ref := range wanted {
		r.add(referenceID(ref), parts[i].bytes())
	}
	taken := map[uint16]bool{}
	err := t.query(ctx, takeReferences, r, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		if err == nil {
			taken[binary.BigEndian.Uint16(id)] = true
		}
		return err
	}, spec.IDSpace, kindReference, []byte{}, now.Add(spec.LookBack), now)
	return taken, err
}

func referenceID(ref uint16) []byte { return binary.BigEndian.AppendUint16(nil, ref) }

// defaultLookBack is used where a connection names none.
const defaultLookBack = 72 * time.Hour
