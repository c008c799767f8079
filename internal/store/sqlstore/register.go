package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
)

// slot is a key of the register.
type slot struct {
	Space intent.Space
	Key   intent.Key
}

// held is what the register says of a key.
type held struct {
	Owner [16]byte
	Ends  clock.Micros
	// Repeats counts how often it was asked for again; nil: not yet.
	Repeats *intent.Repeats
	// Fresh: the row was made by this transaction, with the owner and the end that were asked for.
	Fresh bool
}

// taking is a key that is asked for.
type taking struct {
	slot
	Owner [16]byte
	Ends  clock.Micros
}

var (
	takeKeys = define(`insert into register (space, key, owner, ends)
	select space, key, owner, ends from {rows space int, key bytes, owner bytes, ends int} where true order by space, key
	on conflict (space, key) do update set owner = register.owner
	returning space, key, owner, ends, repeats`)
	insertKeys = define(`insert into register (space, key, owner, ends) select * from {rows space int, key bytes, owner bytes, ends int}`)
)

// take locks the keys and returns their holders. A key without a row gets one with the wanted owner; one with
// a row keeps it, also if its window has ended: who may take it over is decided by the caller, with the clock
// that is read after this returns. Each key is asked for once: PostgreSQL refuses a second touch.
func (t *tx) take(ctx context.Context, want []taking) (map[slot]held, error) {
	if t.s.d.OneWriter {
		return t.takeAlone(ctx, want)
	}
	r := &rows{}
	asked := make(map[slot][16]byte, len(want))
	for _, w := range want {
		r.add(w.Space, w.Key, w.Owner, w.Ends)
		asked[w.slot] = w.Owner
	}
	found := make(map[slot]held, len(want))
	err := t.query(ctx, takeKeys, r, func(res *sql.Rows) error {
		k, h, err := scanHeld(res)
		h.Fresh = h.Owner == asked[k]
		found[k] = h
		return err
	})
	return found, err
}

// takeAlone is take where one transaction writes at a time: there is nothing to lock, and only what is missing is
// written.
func (t *tx) takeAlone(ctx context.Context, want []taking) (map[slot]held, error) {
	keys := make([]slot, len(want))
	for i, w := range want {
		keys[i] = w.slot
	}
	found, err := t.look(ctx, keys)
	if err != nil {
		return nil, err
	}
	missing := &rows{}
	for _, w := range want {
		h, there := found[w.slot]
		if !there {
			missing.add(w.Space, w.Key, w.Owner, w.Ends)
			h = held{Owner: w.Owner, Ends: w.Ends}
		}
		h.Fresh = h.Owner == w.Owner
		found[w.slot] = h
	}
	_, err = t.exec(ctx, insertKeys, missing)
	return found, err
}

func scanHeld(res *sql.Rows) (k slot, h held, err error) {
	var key, owner, repeats []byte
	err = res.Scan(&k.Space, &key, &owner, &h.Ends, &repeats)
	h.Repeats = unpackRepeats(repeats)
	k.Key = keyFrom(key)
	copy(h.Owner[:], owner)
	return k, h, err
}

var (
	assignKeys = define(`update register set owner = r.owner, ends = r.ends, repeats = {1}
		from {rows space int, key bytes, owner bytes, ends int} where register.space = r.space and register.key = r.key`)
	dropKeys  = define(`delete from register where (space, key) in (select r.space, r.key from {rows space int, key bytes})`)
	closeKeys = define(`update register set ends = r.ends
		from {rows space int, key bytes, owner bytes, ends int}
		where register.space = r.space and register.key = r.key and register.owner = r.owner and register.ends > r.ends`)
	lockKeys = define(`select register.owner from {rows space int, key bytes} cross join register
		where register.space = r.space and register.key = r.key order by register.space, register.key {update}`)
)

// lockKeys locks keys of the register in their order, those that are there.
func (t *tx) lockKeys(ctx context.Context, keys *rows) error {
	if t.s.d.OneWriter {
		return nil
	}
	return t.query(ctx, lockKeys, keys, func(*sql.Rows) error { return nil })
}

// assign gives keys whose rows are locked to new owners.
func (t *tx) assign(ctx context.Context, keys []taking) error {
	r := &rows{}
	for _, k := range keys {
		r.add(k.Space, k.Key, k.Owner, k.Ends)
	}
	_, err := t.exec(ctx, assignKeys, r, []byte{})
	return err
}

// drop removes rows that take made for keys that nobody reserves.
func (t *tx) drop(ctx context.Context, keys []slot) error {
	r := &rows{}
	for _, k := range keys {
		r.add(k.Space, k.Key)
	}
	_, err := t.exec(ctx, dropKeys, r)
	return err
}
