package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const receiptColumns = `p.id, p.seq, p.connection, p.id_space, p.received_at, p.kind, p.payload, p.headers, p.peer, p.bind, p.provider_event_id,
	p.external_id, p.reference, p.status, p.state, p.error_code, p.source, p.dest, p.submit_date, p.done_date, p.parsed, p.parser, p.event_key`

func scanReceipt(res *sql.Rows, more ...any) (*store.LoggedReceipt, error) {
	var (
		r                 store.LoggedReceipt
		id, external, key []byte
	)
	dest := append([]any{&id, &r.Seq, &r.Connection, &r.IDSpace, &r.ReceivedAt, &r.Kind, &r.Payload, &r.Headers, &r.Peer, &r.Bind, &r.EventID,
		&external, &r.Reference, &r.Status, &r.State, &r.ErrorCode, &r.Source, &r.Dest, &r.SubmitDate, &r.DoneDate, &r.Parsed, &r.Parser, &key}, more...)
	if err := res.Scan(dest...); err != nil {
		return nil, err
	}
	r.ID, r.ExternalID, r.EventKey = ident.Receipt(keyFrom(id)), orNil(external), keyFrom(key)
	return &r, nil
}

var (
	insertReceipts = define(`insert into receipt (id, connection, id_space, received_at, kind, payload, headers, peer, bind, provider_event_id,
		external_id, reference, status, state, error_code, source, dest, submit_date, done_date, parsed, parser, event_key)
		select * from {rows id bytes, connection int, id_space int, received_at int, kind text, payload bytes, headers text, peer text, bind text, provider_event_id text,
		external_id bytes, reference int, status text, state text, error_code text, source text, dest text, submit_date text, done_date text, parsed text, parser text, event_key bytes}
		where true on conflict (id) do nothing returning id, seq`)
	insertIntake = define(`insert into intake (receipt_id, due_at, waited) select id, {1}, {2} from {rows id bytes} where true on conflict (receipt_id) do nothing`)
	readSeqs     = define(`select p.id, p.seq, p.received_at from {rows id bytes} cross join receipt p where p.id = r.id`)
)

// LogReceipts implements store.ReceiptLog. Ids are made by the caller, so that a commit that was lost and is
// made again appends nothing twice.
func (s *Store) LogReceipts(ctx context.Context, rs []*store.LoggedReceipt, retryAfter time.Duration) error {
	return s.once(ctx, func(t *tx) error { return t.logReceipts(t.ctx, rs, retryAfter) })
}

func (t *tx) logReceipts(ctx context.Context, rs []*store.LoggedReceipt, retryAfter time.Duration) error {
	now, err := t.now(ctx)
	if err != nil {
		return err
	}
	fresh, err := t.appendReceipts(ctx, rs, now)
	if err != nil {
		return err
	}
	listed := &rows{}
	for id := range fresh {
		listed.add(id)
	}
	if _, err := t.exec(ctx, insertIntake, listed, now.Add(retryAfter), 0); err != nil {
		return err
	}
	chaos.At(chaos.ReceiptWritten)
	return nil
}

// appendReceipts returns those that are new: one that is in the log already may have had its effect.
func (t *tx) appendReceipts(ctx context.Context, rs []*store.LoggedReceipt, now clock.Micros) (fresh map[ident.Receipt]bool, err error) {
	log, byID := &rows{}, make(map[ident.Receipt]*store.LoggedReceipt, len(rs))
	for _, r := range rs {
		byID[r.ID], r.ReceivedAt = r, now
		log.add(r.ID, r.Connection, r.IDSpace, now, r.Kind, some(r.Payload), r.Headers, r.Peer, r.Bind, r.EventID,
			some(r.ExternalID), r.Reference, r.Status, r.State, r.ErrorCode, r.Source, r.Dest, r.SubmitDate, r.DoneDate, r.Parsed, r.Parser, r.EventKey)
	}
	fresh = make(map[ident.Receipt]bool, len(rs))
	err = t.query(ctx, insertReceipts, log, func(res *sql.Rows) error {
		var id []byte
		var seq int64
		err := res.Scan(&id, &seq)
		r := byID[ident.Receipt(keyFrom(id))]
		r.Seq, fresh[r.ID] = seq, true
		return err
	})
	if err != nil {
		return nil, err
	}
	old := &rows{}
	for id := range byID {
		if !fresh[id] {
			old.add(id)
		}
	}
	return fresh, t.query(ctx, readSeqs, old, func(res *sql.Rows) error {
		var id []byte
		var seq, at int64
		if err := res.Scan(&id, &seq, &at); err != nil {
			return err
		}
		r := byID[ident.Receipt(keyFrom(id))]
		r.Seq, r.ReceivedAt = seq, micros(at)
		return nil
	})
}

var dueReceipts = define(`select ` + receiptColumns + `, i.waited, i.tries from intake i join receipt p on p.id = i.receipt_id
	where i.due_at <= {1} order by i.due_at, i.receipt_id limit {2}`)

// DueReceipts implements store.ReceiptLog.
func (s *Store) DueReceipts(ctx context.Context, limit int) ([]store.DueReceipt, error) {
	t := s.read()
	now, err := t.now(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	var due []store.DueReceipt
	err = t.query(ctx, dueReceipts, nil, func(res *sql.Rows) error {
		var waited, tries int
		r, err := scanReceipt(res, &waited, &tries)
		if err == nil {
			due = append(due, store.DueReceipt{LoggedReceipt: *r, Waited: waited == 1, Tries: tries})
		}
		return err
	}, now, limit)
	return due, unavailable(err)
}

var postponeIntake = define(`update intake set due_at = r.due_at, tries = intake.tries + 1 from {rows id bytes, due_at int} where intake.receipt_id = r.id`)

// PostponeReceipts implements store.ReceiptLog.
func (s *Store) PostponeReceipts(ctx context.Context, rs []store.Postponed) error {
	return s.once(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		r := &rows{}
		for _, p := range rs {
			r.add(p.ID, now.Add(p.For))
		}
		_, err = t.exec(t.ctx, postponeIntake, r)
		return err
	})
}

// GiveUpReceipts implements store.ReceiptLog. It touches nothing but the list of work and the exceptions: what a
// receipt failed at may be anything else.
func (s *Store) GiveUpReceipts(ctx context.Context, rs []*store.LoggedReceipt, detail string) error {
	news := make([]store.News, len(rs))
	for i, r := range rs {
		news[i] = store.NewsOf(r)
	}
	return s.once(ctx, func(t *tx) error { return newSettling(t, store.Rules{}, news).giveUp(t.ctx, detail) })
}

func (z *settling) giveUp(ctx context.Context, detail string) error {
	if err := z.lockIntake(ctx); err != nil {
		return err
	}
	if err := z.readClock(ctx); err != nil {
		return err
	}
	for i := range z.news {
		if !z.out[i].Known {
			z.except(&z.news[i], exception.Unreadable, detail)
		}
	}
	if err := z.writeIntake(ctx); err != nil {
		return err
	}
	return z.writeExceptions(ctx)
}

// FinishReceipts implements store.ReceiptLog.
func (s *Store) FinishReceipts(ctx context.Context, ids []ident.Receipt) error {
	r := &rows{}
	for _, id := range ids {
		r.add(id)
	}
	return s.once(ctx, func(t *tx) error {
		_, err := t.exec(t.ctx, deleteIntake, r)
		return err
	})
}
