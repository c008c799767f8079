package sqlstore

import (
	"context"
	"encoding/binary"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

const repeatsSize = 8 + 4 + 16

// packRepeats writes a count as its column holds it.
func packRepeats(n *intent.Repeats) []byte {
	b := make([]byte, 0, repeatsSize)
	b = binary.BigEndian.AppendUint64(b, uint64(n.Since))
	b = binary.BigEndian.AppendUint32(b, uint32(n.Count)) // refused repeats end at a minute's worth
	return append(b, n.Run[:]...)
}

// unpackRepeats reads a count; nil: there is none.
func unpackRepeats(b []byte) *intent.Repeats {
	if len(b) != repeatsSize {
		return nil
	}
	return &intent.Repeats{
		Since: clock.Micros(binary.BigEndian.Uint64(b)), Count: int(binary.BigEndian.Uint32(b[8:])), Run: ident.Decision(b[12:]),
	}
}

var (
	countRepeats = define(`update register set repeats = r.repeats
		from {rows space int, key bytes, repeats bytes} where register.space = r.space and register.key = r.key`)
	addToRuns = define(`insert into run (decision_id, last_at, count)
		select * from {rows decision_id bytes, last_at int, count int} where true order by decision_id
		on conflict (decision_id) do update set last_at = excluded.last_at, count = run.count + excluded.count`)
)

// writeRepeats counts what the batch repeated. A batch that is made again after a lost commit may count twice: a
// run's number says how strong a storm was, and nothing depends on it.
func (d *deciding) writeRepeats(ctx context.Context) error {
	counts, runs := &rows{}, &rows{}
	for key, n := range d.facts.Repeats {
		if !n.Changed {
			continue
		}
		counts.add(intent.SpaceIntent, key, packRepeats(n))
		if n.Added > 0 {
			runs.add(n.Run, d.facts.Now, n.Added)
		}
	}
	if _, err := d.t.exec(ctx, countRepeats, counts); err != nil {
		return err
	}
	_, err := d.t.exec(ctx, addToRuns, runs)
	return err
}
