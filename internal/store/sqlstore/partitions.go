package sqlstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// partitioned are the tables that lie in partitions, by the time in the ids of their rows (UUIDv7, RFC 9562). What is
// looked up by its id is looked up in one partition. A partition "rest" has what no other wants: rows of a node whose
// clock is far ahead, or of a gateway whose worker has not run for long, and what was kept when its own partition went.
var partitioned = []struct{ table, key, spare, kept string }{
	{"message", "id", spareMessage, keptWith + `k.id` + keptBefore},
	{"event", "message_id", spareEvent, keptWith + `k.message_id` + keptBefore},
	{"decision", "id", spareEvent, keptWith + `k.message_id` + keptBefore},
	{"receipt", "id", spareReceipt, `select k.* from %s k where k.id in (
		select i.receipt_id from intake i where i.receipt_id < $1
		union select x.receipt_id from exception x where x.tenant >= 0 and x.state = 1 and length(x.receipt_id) > 0
		union select e.receipt_id from message_state s join event e on e.message_id = s.message_id where s.message_id < $1 and length(e.receipt_id) > 0)`},
}

// What is kept of a partition is found from the few that are needed, and not by looking at all that is in it.
const (
	keptWith   = `select k.* from message_state s join %s k on s.message_id = `
	keptBefore = ` where s.message_id < $1`
)

// They are of the one engine that has partitions, and so no statement of both.
var (
	lastPartition   = parseTemplate(`select upto from history_partition order by upto desc limit 1`)
	firstPartitions = parseTemplate(`select upto, name from history_partition where upto <= {1} order by upto limit 1`)
	notePartition   = parseTemplate(`insert into history_partition (upto, name) select {1}, {2} where true`)
	noPartition     = parseTemplate(`delete from history_partition where upto = {1}`)
)

// PartitionHistory implements store.Histories.
func (s *Store) PartitionHistory(ctx context.Context, length time.Duration) error {
	if !s.d.Partitions {
		return nil
	}
	return s.historian(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		var last []byte
		if err := t.row(t.ctx, lastPartition, nil, scan1(&last)); err != nil {
			return err
		}
		end := idTime(last)
		if end >= now.Add(length) {
			return nil
		}
		// After a long rest one partition has all of it.
		return t.makePartition(t.ctx, last, end, max(end, now).Add(length))
	})
}

// idTime is the time in an id.
func idTime(id []byte) clock.Micros {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return clock.Micros(ms * 1000)
}

// makePartition makes the partitions between two times, of all tables. Each is filled with what "rest" has of it and
// attached then: that waits for nobody who reads or writes the table, but for those who write into "rest".
func (t *tx) makePartition(ctx context.Context, from []byte, begin, end clock.Micros) error {
	upto := ident.Floor[[16]byte](millis(end))
	name := begin.Time().Format("20060102_150405")
	for _, p := range partitioned {
		bounds := fmt.Sprintf(`'\x%s' and %s < '\x%s'`, hex.EncodeToString(from), p.key, hex.EncodeToString(upto[:]))
		for _, ddl := range []string{
			fmt.Sprintf(`create table %[1]s_%[2]s (like %[1]s including defaults)`, p.table, name),
			fmt.Sprintf(`with moved as (delete from %[1]s_rest where %[3]s >= %[4]s returning *) insert into %[1]s_%[2]s select * from moved`, p.table, name, p.key, bounds),
			fmt.Sprintf(`alter table %[1]s attach partition %[1]s_%[2]s for values from ('\x%[3]s') to ('\x%[4]s')`, p.table, name, hex.EncodeToString(from), hex.EncodeToString(upto[:])),
		} {
			if _, err := t.e.ExecContext(ctx, ddl); err != nil {
				return fmt.Errorf("%s: %w", ddl, err)
			}
		}
	}
	_, err := t.exec(ctx, notePartition, nil, upto[:], name)
	return err
}
