package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	insertOutbox  = define(`insert into outbox (message_id, n, tenant, at) select * from {rows message_id bytes, n int, tenant int, at int}`)
	readOutbox    = define(`select 1 from outbox limit 1`)
	lockSequencer = define(`select value from meta where name = 'sequencer' {skip}`)
	selectOutbox  = define(`select message_id, n, tenant, at from outbox order by message_id, n limit {1}`)
	// A new tenant begins where the incarnation does, see feedStep.
	raiseFeed = define(`insert into feed_head (tenant, seq)
		select tenant, seq + {1} * (select max(incarnation.n) - 1 from incarnation) from {rows tenant int, seq int} where true order by tenant
		on conflict (tenant) do update set seq = feed_head.seq + excluded.seq - {1} * (select max(incarnation.n) - 1 from incarnation)
		returning tenant, seq`)
	insertFeed   = define(`insert into feed (tenant, seq, message_id, n, at) select * from {rows tenant int, seq int, message_id bytes, n int, at int}`)
	deleteOutbox = define(`delete from outbox where (message_id, n) in (select r.message_id, r.n from {rows message_id bytes, n int})`)
	readFeed     = define(`select f.seq, ` + snapshotColumns + ` from feed f join event e on e.message_id = f.message_id and e.n = f.n
		join message m on m.id = f.message_id where f.tenant = {1} and f.seq > {2} order by f.seq limit {3}`)
	feedTenants = define(`select tenant from feed_head`)
	oldestFeed  = define(`select seq, at from feed where tenant = {1} order by seq limit {2}`)
	trimFeed    = define(`delete from feed where tenant = {1} and seq <= {2}`)
)

// leaving is an event that has no place in its tenant's feed yet.
type leaving struct {
	message []byte
	n       int64
	tenant  ident.Partition
	at      int64
	seq     int64 // once it has its place
}

func (l *leaving) key() eventKey { return eventKey{ident.Message(keyFrom(l.message)), uint32(l.n)} }

// leave puts events into the outbox, or at once into the feed where commits become visible in their order. What is
// in the outbox goes first, and while traffic waits nothing is numbered: what is released goes on under numbers that
// nobody has seen.
func (t *tx) leave(ctx context.Context, all []leaving) error {
	if len(all) == 0 {
		return nil
	}
	direct := t.s.d.OneWriter && !t.held
	if direct {
		err := t.query(ctx, readOutbox, nil, func(*sql.Rows) error {
			direct = false
			return nil
		})
		if err != nil {
			return err
		}
	}
	if direct {
		return t.place(ctx, all)
	}
	r := &rows{}
	for _, l := range all {
		r.add(l.message, l.n, l.tenant, l.at)
	}
	_, err := t.exec(ctx, insertOutbox, r)
	return err
}

// Sequence implements store.Feed. One node does it at a time, until its commit: two would give later events of a
// message lower numbers than earlier ones. Who comes second has nothing to do.
func (s *Store) Sequence(ctx context.Context, limit int) (int, error) {
	var done int
	err := s.once(ctx, func(t *tx) error {
		ctx, done = t.ctx, 0
		if t.held { // what is released goes on under numbers that nobody has seen
			return nil
		}
		var all []leaving
		var ours string
		err := t.row(ctx, lockSequencer, nil, scan1(&ours))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		err = t.query(ctx, selectOutbox, nil, func(res *sql.Rows) error {
			var l leaving
			err := res.Scan(&l.message, &l.n, &l.tenant, &l.at)
			all = append(all, l)
			return err
		}, limit)
		done = len(all)
		if err != nil || done == 0 {
			return err
		}
		if err := t.place(ctx, all); err != nil {
			return err
		}
		gone := &rows{}
		for _, l := range all {
			gone.add(l.message, l.n)
		}
		_, err = t.exec(ctx, deleteOutbox, gone)
		return err
	})
	return done, err
}

// place gives events the next places in their tenants' feeds.
func (t *tx) place(ctx context.Context, all []leaving) error {
	counts, next := map[ident.Partition]int64{}, map[ident.Partition]int64{}
	for _, l := range all {
		counts[l.tenant]++
	}
	heads := &rows{}
	for tenant, n := range counts {
		heads.add(tenant, n)
	}
	err := t.query(ctx, raiseFeed, heads, func(res *sql.Rows) error {
		var (
			tenant ident.Partition
			last   int64
		)
		err := res.Scan(&tenant, &last)
		next[tenant] = last - counts[tenant]
		return err
	}, feedStep)
	if err != nil {
		return err
	}
	feed := &rows{}
	for i := range all {
		l := &all[i]
		next[l.tenant]++
		l.seq = next[l.tenant]
		feed.add(l.tenant, l.seq, l.message, l.n, l.at)
	}
	if _, err = t.exec(ctx, insertFeed, feed); err == nil {
		err = t.tell(ctx, all)
	}
	chaos.At(chaos.FeedWritten)
	return err
}

// After implements store.Feed.
func (s *Store) After(ctx context.Context, tenant ident.Partition, seq int64, limit int) ([]store.FeedEvent, error) {
	var all []store.FeedEvent
	err := s.read().query(ctx, readFeed, nil, func(res *sql.Rows) error {
		var seq int64
		f, err := scanSnapshot(res, &seq)
		f.Seq = seq
		all = append(all, f)
		return err
	}, tenant, seq, limit)
	return all, unavailable(err)
}

// TrimFeed implements store.Feed. A tenant's oldest entries have its smallest numbers, so nothing is searched.
func (s *Store) TrimFeed(ctx context.Context, before clock.Micros, limit int) (int, error) {
	var tenants []ident.Partition
	err := s.read().query(ctx, feedTenants, nil, func(res *sql.Rows) error {
		var tenant ident.Partition
		err := res.Scan(&tenant)
		tenants = append(tenants, tenant)
		return err
	})
	done := int64(0)
	for _, tenant := range tenants {
		if err != nil || int(done) >= limit {
			break
		}
		var n int64
		n, err = s.trimTenant(ctx, tenant, before, limit-int(done))
		done += n
	}
	return int(done), unavailable(err)
}

func (s *Store) trimTenant(ctx context.Context, tenant ident.Partition, before clock.Micros, limit int) (int64, error) {
	last := int64(-1) // the largest number among the oldest entries that is old enough
	err := s.read().query(ctx, oldestFeed, nil, func(res *sql.Rows) error {
		var seq int64
		var at clock.Micros
		err := res.Scan(&seq, &at)
		if at < before {
			last = seq
		}
		return err
	}, tenant, limit)
	if err != nil || last < 0 {
		return 0, err
	}
	var n int64
	err = s.once(ctx, func(t *tx) (err error) {
		n, err = t.exec(t.ctx, trimFeed, nil, tenant, last)
		return err
	})
	return n, err
}
