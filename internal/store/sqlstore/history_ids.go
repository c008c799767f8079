package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var readExternalIDs = define(`select a.connection, c.id_space, a.external_id from {rows id bytes} cross join attempt_part a join connection c on c.id = a.connection
	where a.message_id = r.id and length(a.external_id) > 0`)

// lockRecordsOf locks the records of the ids under which a provider knows messages. Our own references are not among
// them: each is taken again by another attempt.
func (t *tx) lockRecordsOf(ctx context.Context, messages []old, rules store.Rules) (map[recordKey]*record, error) {
	ids := &rows{}
	for _, m := range messages {
		ids.add(m.id)
	}
	exact, normalised := map[recordKey][]partKey{}, map[recordKey][]partKey{}
	err := t.query(ctx, readExternalIDs, ids, func(res *sql.Rows) error {
		var (
			connection, space int64
			id                []byte
		)
		if err := res.Scan(&connection, &space, &id); err != nil {
			return err
		}
		exact[externalKey(space, id)] = nil
		if form := rules.Profile(connection).IDs.OfResponse(id); len(form) > 0 {
			normalised[normalisedKey(space, form)] = nil
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	z := &settling{t: t, records: map[recordKey]*record{}}
	if err := t.query(ctx, lockExisting, recordRows(exact), z.scanRecord, kindExternal); err != nil {
		return nil, err
	}
	return z.records, t.query(ctx, lockExisting, recordRows(normalised), z.scanRecord, kindNormalised)
}

// forgetCandidates takes messages out of what ids stand for. An id that stands for nothing any more goes.
func (t *tx) forgetCandidates(ctx context.Context, records map[recordKey]*record, gone map[ident.Message]bool) error {
	changed, empty := &rows{}, &rows{}
	for k, r := range records {
		before := len(r.candidates)
		r.candidates = slices.DeleteFunc(r.candidates, func(c partKey) bool { return gone[c.Message] })
		switch {
		case len(r.candidates) == before:
		case len(r.candidates) == 0 && len(r.waiting) == 0:
			empty.add(k.Space, k.Kind, []byte(k.ID))
		default:
			changed.add(k.Space, k.Kind, []byte(k.ID), r.packed(), r.packedWaiting())
		}
	}
	if _, err := t.exec(ctx, updateRecords, changed); err != nil {
		return err
	}
	_, err := t.exec(ctx, deleteRecords, empty)
	return err
}
