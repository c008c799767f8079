package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

var (
	walkKeys = define(`select space, key, owner, ends from register where (space, key) > ({1}, {2}) order by space, key limit {3}`)
	// Whose message moves at this moment waits, or has moved: the state is read with the key's row locked.
	lockEnded = define(`select register.space, register.key, register.owner, register.ends from {rows space int, key bytes} cross join register
		where register.space = r.space and register.key = r.key order by register.space, register.key {update}`)
	ownersOpen  = define(`select s.message_id from {rows id bytes} cross join message_state s where s.message_id = r.id and s.final = 0`)
	answersOpen = define(`select d.id from {rows id bytes} cross join decision d cross join message_state s
		where d.id = r.id and s.message_id = d.message_id and s.final = 0`)
)

// ForgetKeys implements store.Histories.
func (s *Store) ForgetKeys(ctx context.Context, before clock.Micros, from store.KeyCursor, limit int) (gone int, next store.KeyCursor, err error) {
	err = s.historian(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		before := min(before, now) // no window that runs ends before
		ended, seen := &rows{}, 0
		err = t.query(t.ctx, walkKeys, nil, func(res *sql.Rows) error {
			k, err := scanKey4(res)
			seen++
			next = store.KeyCursor{Space: k.Space, Key: k.Key}
			if forgettable(k, before) {
				ended.add(k.Space, k.Key)
			}
			return err
		}, from.Space, from.Key, limit)
		if seen < limit {
			next = store.KeyCursor{}
		}
		if err == nil {
			gone, err = t.forgetKeys(t.ctx, ended, before)
		}
		return err
	})
	return gone, next, err
}

// forgettable are the keys of spaces whose owners are known here. Others are kept: whoever takes them forgets them.
func forgettable(k taking, before clock.Micros) bool {
	switch k.Space {
	case intent.SpaceIntent, intent.SpaceIdempotency, intent.SpaceEvent:
		return k.Ends < before
	}
	return false
}

func scanKey4(res *sql.Rows) (k taking, err error) {
	var key, owner []byte
	err = res.Scan(&k.Space, &key, &owner, &k.Ends)
	k.Key, k.Owner = keyFrom(key), keyFrom(owner)
	return k, err
}

// forgetKeys locks keys, and forgets those that have ended and whose owner is not at work any more.
func (t *tx) forgetKeys(ctx context.Context, ended *rows, before clock.Micros) (int, error) {
	var locked []taking
	err := t.query(ctx, lockEnded, ended, func(res *sql.Rows) error {
		k, err := scanKey4(res)
		locked = append(locked, k)
		return err
	})
	if err != nil {
		return 0, err
	}
	messages, answers := &rows{}, &rows{}
	for _, k := range locked {
		switch k.Space {
		case intent.SpaceIntent:
			messages.add(k.Owner)
		case intent.SpaceIdempotency:
			answers.add(k.Owner)
		}
	}
	open := map[[16]byte]bool{}
	note := func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		open[keyFrom(id)] = true
		return err
	}
	if err := t.query(ctx, ownersOpen, messages, note); err != nil {
		return 0, err
	}
	if err := t.query(ctx, answersOpen, answers, note); err != nil {
		return 0, err
	}
	gone := &rows{}
	for _, k := range locked {
		if forgettable(k, before) && !open[k.Owner] {
			gone.add(k.Space, k.Key)
		}
	}
	n, err := t.exec(ctx, dropKeys, gone)
	return int(n), err
}
