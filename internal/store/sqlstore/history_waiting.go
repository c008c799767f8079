package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/ground/ident"
)

// Receipts wait for an answer that may bring their id. Most of those that have waited for long are somebody else's.
var findWaiting = define(`select e.id_space, e.kind, e.id from external_id e where length(e.candidates) = 0 and length(e.waiting) > 0
	and substr(e.waiting, 1, 16) < {1} and (select 1 from receipt p where p.id = substr(e.waiting, 1, 16)) is null order by substr(e.waiting, 1, 16) limit {2}`)

var receiptsThere = define(`select p.id from {rows id bytes} cross join receipt p where p.id = r.id`)

// forgetWaiting takes receipts that are forgotten off the records that stand for nothing else.
func (t *tx) forgetWaiting(ctx context.Context, bound [16]byte, limit int) (int, error) {
	found := map[int]map[recordKey][]partKey{}
	err := t.query(ctx, findWaiting, nil, func(res *sql.Rows) error {
		var (
			k  recordKey
			id []byte
		)
		err := res.Scan(&k.Space, &k.Kind, &id)
		k.ID = string(id)
		if found[k.Kind] == nil {
			found[k.Kind] = map[recordKey][]partKey{}
		}
		found[k.Kind][k] = nil
		return err
	}, bound[:], limit)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	z := &settling{t: t, records: map[recordKey]*record{}}
	for _, kind := range []int{kindExternal, kindReference, kindNormalised} {
		if err := t.query(ctx, lockExisting, recordRows(found[kind]), z.scanRecord, kind); err != nil {
			return 0, err
		}
	}
	there, err := t.waitingThere(ctx, z.records)
	if err != nil {
		return 0, err
	}
	return t.dropWaiting(ctx, z.records, there)
}

// waitingThere are those of the receipts that wait which are not forgotten.
func (t *tx) waitingThere(ctx context.Context, records map[recordKey]*record) (map[ident.Receipt]bool, error) {
	ids, there := &rows{}, map[ident.Receipt]bool{}
	for _, r := range records {
		for _, w := range r.waiting {
			ids.add(w)
		}
	}
	return there, t.query(ctx, receiptsThere, ids, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		there[ident.Receipt(keyFrom(id))] = true
		return err
	})
}

func (t *tx) dropWaiting(ctx context.Context, records map[recordKey]*record, there map[ident.Receipt]bool) (int, error) {
	changed, empty := &rows{}, &rows{}
	for k, r := range records {
		r.waiting = slices.DeleteFunc(r.waiting, func(id ident.Receipt) bool { return !there[id] })
		if len(r.waiting) == 0 && len(r.candidates) == 0 {
			empty.add(k.Space, k.Kind, []byte(k.ID))
			continue
		}
		changed.add(k.Space, k.Kind, []byte(k.ID), r.packed(), r.packedWaiting())
	}
	if _, err := t.exec(ctx, updateRecords, changed); err != nil {
		return 0, err
	}
	_, err := t.exec(ctx, deleteRecords, empty)
	return changed.len() + empty.len(), err
}
