package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// recordKey names an external-id record.
type recordKey struct {
	Space int64
	Kind  int
	ID    string
}

// record is an external-id record under its lock: where an outcome and a receipt meet, whoever is first.
type record struct {
	candidates []partKey
	waiting    []ident.Receipt
	changed    bool
	freed      bool
}

// mostListed bounds a record's lists: an id that a provider gives to everything must not grow a row for ever.
const mostListed = 64

func (r *record) addCandidate(k partKey) {
	if !slices.Contains(r.candidates, k) && len(r.candidates) < mostListed {
		r.candidates, r.changed = append(r.candidates, k), true
	}
}

func (r *record) addWaiting(id ident.Receipt) {
	if !slices.Contains(r.waiting, id) && len(r.waiting) < mostListed {
		r.waiting, r.changed = append(r.waiting, id), true
	}
}

func (r *record) removeWaiting(id ident.Receipt) {
	if i := slices.Index(r.waiting, id); i >= 0 {
		r.waiting, r.changed = slices.Delete(r.waiting, i, i+1), true
	}
}

// free marks a reference as free if the part still holds it.
func (r *record) free(k partKey) { r.freed = r.freed || slices.Contains(r.candidates, k) }

func externalKey(space int64, id []byte) recordKey { return recordKey{space, kindExternal, string(id)} }

func normalisedKey(space int64, form []byte) recordKey {
	return recordKey{space, kindNormalised, string(form)}
}

func referenceKey(space int64, ref int32) recordKey {
	return recordKey{space, kindReference, string(referenceID(uint16(ref)))}
}

// identified are the locked records of a piece of news: that of its message id as received, and that of the id's
// normalised form.
type identified struct{ exact, normalised *record }

func (z *settling) identified(n *store.News) identified {
	id, form, _ := z.idsOf(n)
	return identified{z.records[externalKey(n.IDSpace, id)], z.records[normalisedKey(n.IDSpace, form)]}
}

// each calls f for the records that are there.
func (r identified) each(f func(*record)) {
	for _, one := range []*record{r.exact, r.normalised} {
		if one != nil {
			f(one)
		}
	}
}

func (z *settling) references(n *store.News, ref int32) *record {
	if ref < 0 {
		return nil
	}
	return z.records[referenceKey(n.IDSpace, ref)]
}

var lockIntake = define(`select i.receipt_id from {rows id bytes} cross join intake i where i.receipt_id = r.id order by i.receipt_id {update}`)

// lockIntake takes the receipts of the batch. One that is neither new nor on the list of work has been settled already.
func (z *settling) lockIntake(ctx context.Context) error {
	ids, listed := &rows{}, map[ident.Receipt]bool{}
	for _, n := range z.news {
		switch {
		case n.Kind != evidence.Receipt:
		case z.fresh[n.Receipt.ID]:
			listed[n.Receipt.ID] = true
		default:
			ids.add(n.Receipt.ID)
		}
	}
	err := z.t.query(ctx, lockIntake, ids, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		listed[ident.Receipt(keyFrom(id))] = true
		return err
	})
	for i, n := range z.news {
		if n.Kind != evidence.Receipt {
			continue
		}
		if z.out[i].Known = !listed[n.Receipt.ID]; z.out[i].Known {
			continue
		}
		delete(listed, n.Receipt.ID) // another one in this batch is the same
	}
	return err
}

var (
	upsertRecords = define(`insert into external_id (id_space, kind, id, candidates, waiting, held_until)
		select id_space, {1}, id, candidates, {2}, 0 from {rows id_space int, id bytes, candidates bytes} where true order by id_space, id
		on conflict (id_space, kind, id) do update set held_until = external_id.held_until
		returning id_space, kind, id, candidates, waiting`)
	insertRecords = define(`insert into external_id (id_space, kind, id, candidates, waiting, held_until)
		select id_space, {1}, id, candidates, {2}, 0 from {rows id_space int, id bytes, candidates bytes}`)
	lockExisting = define(`select e.id_space, e.kind, e.id, e.candidates, e.waiting from {rows id_space int, id bytes} cross join external_id e
		where e.id_space = r.id_space and e.id = r.id and e.kind = {1} order by e.id_space, e.id {update}`)
)

// lockRecords locks the external-id records, a kind after the other: message ids, made where they are missing,
// references, and normalised forms of message ids.
func (z *settling) lockRecords(ctx context.Context) error {
	external, reference, normalised := map[recordKey][]partKey{}, map[recordKey][]partKey{}, map[recordKey][]partKey{}
	for i := range z.news {
		n := &z.news[i]
		if z.out[i].Known {
			continue
		}
		var brings []partKey
		if n.Kind == evidence.Outcome {
			brings = []partKey{{n.Message, n.Attempt, n.Part}}
		}
		id, form, ref := z.idsOf(n)
		if len(id) > 0 {
			k := externalKey(n.IDSpace, id)
			external[k] = append(external[k], brings...)
		}
		if ref >= 0 {
			reference[referenceKey(n.IDSpace, ref)] = nil
		}
		if len(form) > 0 {
			k := normalisedKey(n.IDSpace, form)
			normalised[k] = append(normalised[k], brings...)
		}
	}
	if err := z.makeRecords(ctx, kindExternal, external); err != nil {
		return err
	}
	if err := z.t.query(ctx, lockExisting, recordRows(reference), z.scanRecord, kindReference); err != nil {
		return err
	}
	if err := z.makeRecords(ctx, kindNormalised, normalised); err != nil {
		return err
	}
	for i := range z.news {
		if n := &z.news[i]; n.Kind == evidence.Outcome {
			z.identified(n).each(func(r *record) { r.addCandidate(partKey{n.Message, n.Attempt, n.Part}) })
		}
	}
	return nil
}

// makeRecords locks records of a kind and makes those that are missing, with the candidates that the news bring. Where
// one transaction writes at a time there is nothing to lock, and only what is missing is written.
func (z *settling) makeRecords(ctx context.Context, kind int, keys map[recordKey][]partKey) error {
	if !z.t.s.d.OneWriter {
		return z.t.query(ctx, upsertRecords, candidateRows(keys), z.scanRecord, kind, []byte{})
	}
	if err := z.t.query(ctx, lockExisting, recordRows(keys), z.scanRecord, kind); err != nil {
		return err
	}
	missing := map[recordKey][]partKey{}
	for k, candidates := range keys {
		if z.records[k] == nil {
			missing[k], z.records[k] = candidates, &record{}
			for _, c := range candidates {
				z.records[k].addCandidate(c)
			}
			z.records[k].changed = false
		}
	}
	_, err := z.t.exec(ctx, insertRecords, candidateRows(missing), kind, []byte{})
	return err
}

// idsOf are the ids under which a piece of news meets others: a message id, its normalised form, and our reference.
func (z *settling) idsOf(n *store.News) (external, normalised []byte, reference int32) {
	ids := z.rules.Profile(n.Connection).IDs
	switch {
	case n.Kind == evidence.Receipt && n.Receipt.EchoDeclared:
		return n.Receipt.ExternalID, ids.OfReceipt(n.Receipt.ExternalID), n.Receipt.Reference
	case n.Kind == evidence.Receipt:
		return n.Receipt.ExternalID, ids.OfReceipt(n.Receipt.ExternalID), -1
	case n.Kind == evidence.Resolved && n.Receipt != nil && n.Action == exception.Attach:
		return n.Receipt.ExternalID, ids.OfReceipt(n.Receipt.ExternalID), -1
	case n.Kind == evidence.Resolved && n.Outcome == message.OutcomeAccepted && n.Action == exception.Attach:
		return n.ExternalID, ids.OfResponse(n.ExternalID), -1
	case n.Kind == evidence.Outcome && n.Outcome == message.OutcomeAccepted:
		return n.ExternalID, ids.OfResponse(n.ExternalID), n.Reference
	case n.Kind == evidence.Outcome:
		return nil, nil, n.Reference
	}
	return nil, nil, -1
}

func recordRows(keys map[recordKey][]partKey) *rows {
	r := &rows{}
	for k := range keys {
		r.add(k.Space, []byte(k.ID))
	}
	return r
}

func candidateRows(keys map[recordKey][]partKey) *rows {
	r := &rows{}
	for k, parts := range keys {
		made := &record{}
		for _, p := range parts {
			made.addCandidate(p)
		}
		r.add(k.Space, []byte(k.ID), made.packed())
	}
	return r
}

// packed is the record's list of candidates as it is stored.
func (r *record) packed() []byte {
	b := make([]byte, 0, len(r.candidates)*20)
	for _, c := range r.candidates {
		b = append(b, c.bytes()...)
	}
	return b
}

func (r *record) packedWaiting() []byte {
	b := make([]byte, 0, len(r.waiting)*16)
	for _, w := range r.waiting {
		b = append(b, w[:]...)
	}
	return b
}

func (z *settling) scanRecord(res *sql.Rows) error {
	var (
		k                       recordKey
		id, candidates, waiting []byte
	)
	if err := res.Scan(&k.Space, &k.Kind, &id, &candidates, &waiting); err != nil {
		return err
	}
	k.ID = string(id)
	z.records[k] = &record{candidates: partKeys(candidates), waiting: receiptIDs(waiting)}
	return nil
}

func receiptIDs(b []byte) []ident.Receipt {
	var ids []ident.Receipt
	for ; len(b) >= 16; b = b[16:] {
		ids = append(ids, ident.Receipt(b[:16]))
	}
	return ids
}

var (
	updateRecords = define(`update external_id set candidates = r.candidates, waiting = r.waiting
		from {rows id_space int, kind int, id bytes, candidates bytes, waiting bytes}
		where external_id.id_space = r.id_space and external_id.kind = r.kind and external_id.id = r.id`)
	deleteRecords = define(`delete from external_id where (id_space, kind, id) in (select r.id_space, r.kind, r.id from {rows id_space int, kind int, id bytes})`)
)

func (z *settling) writeRecords(ctx context.Context) error {
	changed, freed := &rows{}, &rows{}
	for k, r := range z.records {
		switch {
		case r.freed:
			freed.add(k.Space, k.Kind, []byte(k.ID))
		case r.changed:
			changed.add(k.Space, k.Kind, []byte(k.ID), r.packed(), r.packedWaiting())
		}
	}
	if _, err := z.t.exec(ctx, updateRecords, changed); err != nil {
		return err
	}
	_, err := z.t.exec(ctx, deleteRecords, freed)
	return err
}
