package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var lockHistorian = define(`select value from meta where name = 'historian' {skip}`)

// historian runs fn if no other node is at it and traffic does not wait. Two that forget at the same time would do no
// harm, and each the other's work.
func (s *Store) historian(ctx context.Context, fn func(t *tx) error) error {
	return s.once(ctx, func(t *tx) error {
		if t.held {
			return nil
		}
		var none string
		err := t.row(t.ctx, lockHistorian, nil, scan1(&none))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return fn(t)
	})
}

var (
	// What is not final, or has become so lately, is looked at and stays.
	selectOld = define(`select s.message_id, s.final, s.since, m.intent_key, m.variant_key from message_state s cross join message m
		where s.message_id > {1} and s.message_id < {2} and m.id = s.message_id order by s.message_id limit {3}`)
	lockWindows = define(`select register.owner, register.ends from {rows space int, key bytes} cross join register
		where register.space = r.space and register.key = r.key order by register.space, register.key {update}`)
	// Under the lock of its state nothing begins to need a message.
	lockOld = define(`select s.message_id from {rows id bytes} cross join message_state s
		where s.message_id = r.id and s.final = 1 and s.since < {1} order by s.message_id {update}`)
	forgetStates = define(`delete from message_state where message_id in (select r.id from {rows id bytes})`)
	forgetParts  = define(`delete from attempt_part where message_id in (select r.id from {rows id bytes})`)
	forgetOwn    = define(`delete from own_key where message_id in (select r.id from {rows id bytes})`)
	// Where there are partitions these go with theirs.
	forgetMessages = define(`delete from message where id in (select r.id from {rows id bytes})`)
	forgetEvents   = define(`delete from event where message_id in (select r.id from {rows id bytes})`)
)

// ForgetMessages implements store.Histories.
func (s *Store) ForgetMessages(ctx context.Context, before clock.Micros, from ident.Message, limit int, rules store.Rules) (gone int, next ident.Message, err error) {
	err = s.historian(ctx, func(t *tx) error {
		f := &forgetting{t: t, before: before, rules: rules}
		gone, next, err = f.messages(t.ctx, from, limit)
		return err
	})
	return gone, next, err
}

// forgetting is one transaction of ForgetMessages.
type forgetting struct {
	t      *tx
	before clock.Micros
	rules  store.Rules
}

// old is a message that may go if nothing holds it.
type old struct {
	id   ident.Message
	keys []intent.Key
}

// messages locks in the order of all: ids at the provider, keys, messages.
func (f *forgetting) messages(ctx context.Context, from ident.Message, limit int) (int, ident.Message, error) {
	found, next, err := f.candidates(ctx, from, limit)
	if err != nil || len(found) == 0 {
		return 0, next, err
	}
	records, err := f.t.lockRecordsOf(ctx, found, f.rules)
	if err != nil {
		return 0, from, err
	}
	free, err := f.unheld(ctx, found)
	if err != nil {
		return 0, from, err
	}
	if free, err = f.unneeded(ctx, free); err != nil {
		return 0, from, err
	}
	gone, err := f.forget(ctx, free)
	if err != nil {
		return 0, from, err
	}
	return len(gone), next, f.t.forgetCandidates(ctx, records, gone)
}

func (f *forgetting) candidates(ctx context.Context, from ident.Message, limit int) (found []old, next ident.Message, err error) {
	seen := 0
	err = f.t.query(ctx, selectOld, nil, func(res *sql.Rows) error {
		var (
			id, key, variant []byte
			final            int
			since            clock.Micros
		)
		if err := res.Scan(&id, &final, &since, &key, &variant); err != nil {
			return err
		}
		seen++
		next = ident.Message(keyFrom(id))
		if final == 1 && since < f.before {
			found = append(found, old{next, []intent.Key{keyFrom(key), keyFrom(variant)}})
		}
		return nil
	}, from, ident.Floor[ident.Message](millis(f.before)), limit)
	if seen < limit {
		next = ident.Message{}
	}
	return found, next, err
}

// unheld locks the keys of messages, and leaves out those that hold one whose window runs.
func (f *forgetting) unheld(ctx context.Context, found []old) (*rows, error) {
	keys, asked := &rows{}, map[intent.Key]bool{{}: true} // a message without a variant has none to lock
	for _, o := range found {
		for _, k := range o.keys {
			if !asked[k] {
				asked[k] = true
				keys.add(intent.SpaceIntent, k)
			}
		}
	}
	ends := map[ident.Message]clock.Micros{}
	err := f.t.query(ctx, lockWindows, keys, func(res *sql.Rows) error {
		var (
			owner []byte
			until clock.Micros
		)
		err := res.Scan(&owner, &until)
		id := ident.Message(keyFrom(owner))
		ends[id] = max(ends[id], until)
		return err
	})
	if err != nil {
		return nil, err
	}
	now, err := f.t.now(ctx)
	free := &rows{}
	for _, o := range found {
		if ends[o.id] <= now {
			free.add(o.id)
		}
	}
	return free, err
}

// forget removes messages that are locked.
func (f *forgetting) forget(ctx context.Context, ids *rows) (map[ident.Message]bool, error) {
	gone := map[ident.Message]bool{}
	for _, id := range ids.vals {
		gone[ident.Message(keyFrom(id.([]byte)))] = true
	}
	statements := []*template{forgetStates, forgetParts, forgetOwn}
	if !f.t.s.d.Partitions {
		statements = append(statements, forgetEvents, forgetMessages)
	}
	for _, q := range statements {
		if _, err := f.t.exec(ctx, q, ids); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// millis is a moment as ids have it.
func millis(m clock.Micros) int64 { return int64(m) / 1000 }
