package sqlstore

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	readIncarnation = define(`select n, id, begun_at, held_at, why, released_at, as_of, keep_pending, person, reason
		from incarnation where n = (select max(incarnation.n) from incarnation)`)
	lockIncarnation = define(`select n, id, begun_at, held_at, why, released_at, as_of, keep_pending, person, reason
		from incarnation where n = (select max(incarnation.n) from incarnation) {update}`)
	holdIncarnation = define(`update incarnation set held_at = {1}, why = {2} where n = (select max(i.n) from incarnation i) and held_at = 0`)
	askRelease      = define(`update incarnation set released_at = {1}, as_of = {2}, keep_pending = {3}, person = {4}, reason = {5} where n = {6}`)
	nextIncarnation = define(`insert into incarnation (n, id, begun_at, held_at, why, released_at, as_of, keep_pending, person, reason)
		select {1}, {2}, {3}, 0, '', 0, 0, 0, '', '' where true on conflict (n) do nothing`)
)

// heldFault is what everything gets that has to wait for a release.
func heldFault() error {
	return fault.New(fault.Unavailable, "the store went back in time, and nothing is taken or sent until its operator has run  einmal restored").
		After(30 * time.Second)
}

func (t *tx) incarnation(ctx context.Context) (store.Incarnation, error) {
	return t.readIncarnation(ctx, readIncarnation)
}

func (t *tx) readIncarnation(ctx context.Context, q *template) (i store.Incarnation, err error) {
	var (
		id []byte
		r  store.Release
	)
	err = t.row(ctx, q, nil, scan1(&i.N, &id, &i.BegunAt, &i.HeldAt, &i.Why, &r.At, &r.AsOf, &r.KeepPending, &r.Person, &r.Reason))
	if i.ID = ident.Incarnation(keyFrom(id)); r.At != 0 {
		i.Release = &r
	}
	return i, err
}

// Incarnation implements store.Incarnations.
func (s *Store) Incarnation(ctx context.Context) (store.Incarnation, error) {
	i, err := s.read().incarnation(ctx)
	return i, unavailable(err)
}

// Held implements store.Incarnations.
func (s *Store) Held() bool { return s.commits.isHeld() }

// HoldTraffic implements store.Incarnations.
func (s *Store) HoldTraffic(ctx context.Context, why string) error {
	return s.once(ctx, func(t *tx) error {
		t.shifting = true
		return t.hold(why)
	})
}

func (t *tx) hold(why string) error {
	now, err := t.now(t.ctx)
	if err != nil {
		return err
	}
	_, err = t.exec(t.ctx, holdIncarnation, nil, now, why)
	return err
}

// BeginRelease implements store.Incarnations.
func (s *Store) BeginRelease(ctx context.Context, r store.Release) error {
	return s.releasing(ctx, func(t *tx) error {
		i, err := t.readIncarnation(t.ctx, lockIncarnation)
		switch {
		case err != nil:
			return err
		case !i.Held():
			return fault.New(fault.State, "traffic does not wait: there is nothing to release")
		case i.Release != nil && sameRelease(*i.Release, r):
			return nil
		case i.Release != nil:
			return fault.New(fault.State, "another release is under way, which %s has asked for (%s): a gateway that runs goes on with it, and so does whoever asks for exactly the same", i.Release.Person, i.Release.Reason)
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		_, err = t.exec(t.ctx, askRelease, nil, now, r.AsOf, r.KeepPending, r.Person, r.Reason, i.N)
		return err
	})
}

// releasing runs a step of a release.
func (s *Store) releasing(ctx context.Context, step func(*tx) error) error {
	err := s.once(ctx, func(t *tx) error {
		err := step(t)
		if err == nil {
			chaos.At(chaos.ReleaseWritten)
		}
		return err
	})
	if err == nil {
		chaos.At(chaos.ReleaseCommitted)
	}
	return err
}

func sameRelease(a, b store.Release) bool {
	a.At, b.At = 0, 0
	return a == b
}

// feedStep is how far a tenant's feed jumps with each incarnation: consumers of the gap have seen numbers that the
// copy does not know of, and must not miss what comes now under numbers that they believe to have read. It fits 8000
// times into the whole numbers that JSON readers keep exact.
const feedStep = 1 << 40

var jumpFeed = define(`update feed_head set seq = {1} where seq < {1}`)

// EndRelease implements store.Incarnations.
func (s *Store) EndRelease(ctx context.Context, of ident.Incarnation) error {
	next := ident.NewIncarnation()
	return s.releasing(ctx, func(t *tx) error {
		t.shifting = true
		i, err := t.readIncarnation(t.ctx, lockIncarnation)
		switch {
		case err != nil || i.ID != of:
			return err
		case i.Release == nil:
			return fault.New(fault.State, "nobody has asked for a release")
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		if _, err := t.exec(t.ctx, jumpFeed, nil, int64(i.N)*feedStep); err != nil {
			return err
		}
		_, err = t.exec(t.ctx, nextIncarnation, nil, i.N+1, next, now)
		return err
	})
}

// What is unfinished is in the queue of leases or in a flow; what was handed over waits in the queue between.
var listUnfinished = define(`select s.message_id, s.queue, s.ready_at, s.state, s.valid_until, m.tenant, m.purpose, m.created_at,
	(select count(*) from attempt_part a where a.message_id = s.message_id and a.outcome = {1})
	from message_state s cross join message m where (s.queue, s.ready_at, s.message_id) > ({4}, {5}, {6})
	and s.queue >= {2} and s.queue <= {3} and s.queue > 0 and m.id = s.message_id order by s.queue, s.ready_at, s.message_id limit {7}`)

// Counting reads nothing but the queue's index.
var countUnfinished = define(`select count(*) from (select 1 from message_state s where s.queue >= {1} and s.queue <= {2} and s.queue > 0 limit {3}) w`)

// CountUnfinished implements store.Incarnations.
func (s *Store) CountUnfinished(ctx context.Context, most int) (waiting, sending int, err error) {
	t := s.read()
	err = t.row(ctx, countUnfinished, nil, scan1(&waiting), evidence.FirstFlow, lastFlow, most)
	if err == nil {
		err = t.row(ctx, countUnfinished, nil, scan1(&sending), evidence.QueueLease, evidence.QueueLease, most)
	}
	return waiting, sending, unavailable(err)
}

// lastFlow is as high as a flow's number can be.
const lastFlow = evidence.Queue(math.MaxInt64)

// Unfinished implements store.Incarnations.
func (s *Store) Unfinished(ctx context.Context, from store.Cursor, limit int) ([]store.Unfinished, store.Cursor, error) {
	low, high := evidence.QueueLease, evidence.QueueLease
	if from.Queue > evidence.QueueLease {
		low, high = evidence.FirstFlow, lastFlow
	}
	var all []store.Unfinished
	last := from
	err := s.read().query(ctx, listUnfinished, nil, func(res *sql.Rows) error {
		var (
			id   []byte
			open int
			u    store.Unfinished
		)
		err := res.Scan(&id, &last.Queue, &last.ReadyAt, &u.State, &u.ValidUntil, &u.Tenant, &u.Purpose, &u.CreatedAt, &open)
		u.Message, u.Open = ident.Message(keyFrom(id)), open > 0
		last.Message = u.Message
		all = append(all, u)
		return err
	}, message.OutcomeOpen, low, high, from.Queue, from.ReadyAt, from.Message, limit)
	switch {
	case len(all) == limit:
	case low == evidence.QueueLease:
		last = store.Cursor{Queue: evidence.FirstFlow - 1}
	default:
		last = store.Cursor{}
	}
	return all, last, unavailable(err)
}
