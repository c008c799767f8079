package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// firstEffect gives a receipt that had none its effect, or tells a person of it: in the way of one that arrives.
func (z *settling) firstEffect(ctx context.Context, i int, r *rereading) error {
	if !settledKind(r.now.Kind) {
		z.closeReread(r, store.RereadSettled) // it is no receipt
		return nil
	}
	if r.dismissed && len(r.open) == 0 {
		return nil
	}
	n := &z.news[i]
	facts := *n.Receipt
	facts.Repeated = z.owners[n.EventKey] != [16]byte(facts.ID)
	m := z.rules.Correlate(&facts, z.candidatesByID(z.identified(n)), z.candidates(z.references(n, facts.Reference)))
	if m.Found {
		c := z.cases[m.Candidate.Message]
		r.out.Message, r.out.From = c.Message, c.State
		z.applyReceipt(i, &facts, m)
		r.out.Effect, r.out.To = store.RereadApplied, c.State
		z.closeReread(r, store.RereadApplied)
		return nil
	}
	told := len(z.exceptions)
	if err := z.exceptReceipt(ctx, n, &facts, m); err != nil {
		return err
	}
	made := z.exceptions[told:]
	if len(made) == 1 && z.saidAlready(r, &made[0]) {
		z.exceptions = z.exceptions[:told] // the exception that there is says the same
		return nil
	}
	if len(made) > 0 {
		r.out.Effect = store.RereadExcepted
		z.closeReread(r, store.RereadExcepted)
	}
	if m.Kind == exception.Unmatched && facts.Problem == "" {
		z.identified(n).each(func(rec *record) { rec.addWaiting(facts.ID) })
	}
	return nil
}

// saidAlready reports whether an exception that is open, or was resolved, says what another would.
func (z *settling) saidAlready(r *rereading, x *exception.Exception) bool {
	for _, o := range r.open {
		if o.Kind == x.Kind && o.Message == x.Message && (o.Kind != exception.Unreadable || o.Detail == x.Detail) {
			return true
		}
	}
	return len(r.open) == 0 && !r.out.Changed // a person has resolved it, and nothing is read otherwise
}

// closeReread resolves the receipt's exceptions as read again.
func (z *settling) closeReread(r *rereading, effect store.RereadEffect) {
	for _, x := range r.open {
		if x.State != exception.Open || effect == store.RereadSettled && z.contradicts(x) {
			continue
		}
		z.close(x, exception.Reread, exception.Resolution{By: z.rereadBy.Person, Reason: z.rereadBy.Reason})
		if r.out.Effect == store.RereadNothing {
			r.out.Effect = effect
		}
	}
}

// contradicts reports whether what an exception is about contradicts still, or says nothing: then it stays open.
func (z *settling) contradicts(x *exception.Exception) bool {
	return x.Kind == exception.Conflicting || x.Kind == exception.Unreadable
}

// sameReading compares what was read, not what read it.
func sameReading(a, b *store.LoggedReceipt) bool {
	return a.Kind == b.Kind && a.EventID == b.EventID && string(a.ExternalID) == string(b.ExternalID) && a.Reference == b.Reference &&
		a.Status == b.Status && a.State == b.State && a.ErrorCode == b.ErrorCode && a.Source == b.Source && a.Dest == b.Dest &&
		a.SubmitDate == b.SubmitDate && a.DoneDate == b.DoneDate && a.Parsed == b.Parsed && a.EventKey == b.EventKey
}

var (
	keepReading = define(`insert into receipt_reading (receipt_id, until, replaced_by, replaced_reason, kind, provider_event_id, external_id, reference,
		status, state, error_code, source, dest, submit_date, done_date, parsed, parser, event_key)
		select p.id, {1}, {2}, {3}, p.kind, p.provider_event_id, p.external_id, p.reference, p.status, p.state, p.error_code, p.source, p.dest,
		p.submit_date, p.done_date, p.parsed, p.parser, p.event_key from {rows id bytes} cross join receipt p where p.id = r.id`)
	readReadings = define(`select p.kind, p.provider_event_id, p.external_id, p.reference, p.status, p.state, p.error_code, p.source, p.dest, p.submit_date,
		p.done_date, p.parsed, p.parser, p.until, p.replaced_by, p.replaced_reason from receipt_reading p where p.receipt_id = {1} order by p.until`)
	updateReading = define(`update receipt set kind = r.kind, provider_event_id = r.event_id, external_id = r.external_id, reference = r.reference,
		status = r.status, state = r.state, error_code = r.error_code, source = r.source, dest = r.dest, submit_date = r.submit_date,
		done_date = r.done_date, parsed = r.parsed, parser = r.parser, event_key = r.event_key
		from {rows id bytes, kind text, event_id text, external_id bytes, reference int, status text, state text, error_code text, source text, dest text,
		submit_date text, done_date text, parsed text, parser text, event_key bytes} where receipt.id = r.id`)
	wakeIntake = define(`update intake set due_at = {1} from {rows id bytes} where intake.receipt_id = r.id`)
)

// writeReadings keeps the former readings of receipts that are read otherwise, and puts the new ones in their place.
func (z *settling) writeReadings(ctx context.Context) error {
	former, readings, awake := &rows{}, &rows{}, &rows{}
	for _, r := range z.rereads {
		if r.out.Err != nil || !r.out.Changed {
			continue
		}
		n := r.now
		former.add(n.ID)
		readings.add(n.ID, n.Kind, n.EventID, some(n.ExternalID), n.Reference, n.Status, n.State, n.ErrorCode, n.Source, n.Dest,
			n.SubmitDate, n.DoneDate, n.Parsed, n.Parser, n.EventKey)
		if r.waits {
			awake.add(n.ID)
		}
	}
	if _, err := z.t.exec(ctx, keepReading, former, z.now, z.rereadBy.Person, z.rereadBy.Reason); err != nil {
		return err
	}
	if _, err := z.t.exec(ctx, updateReading, readings); err != nil {
		return err
	}
	_, err := z.t.exec(ctx, wakeIntake, awake, z.now)
	return err
}

var logFrom = define(`select ` + receiptColumns + ` from receipt p where (p.received_at, p.id) > ({1}, {2}) and ({3} = 0 or +p.connection = {3}) order by p.received_at, p.id limit {4}`)

// LogFrom implements store.Rereader.
func (s *Store) LogFrom(ctx context.Context, connection int64, from store.LogPlace, limit int) ([]*store.LoggedReceipt, error) {
	var all []*store.LoggedReceipt
	err := s.read().query(ctx, logFrom, nil, func(res *sql.Rows) error {
		r, err := scanReceipt(res)
		all = append(all, r)
		return err
	}, from.At, from.ID, connection, limit)
	return all, unavailable(err)
}

// Readings implements store.Reader.
func (s *Store) Readings(ctx context.Context, id ident.Receipt) ([]store.Reading, error) {
	var all []store.Reading
	err := s.read().query(ctx, readReadings, nil, func(res *sql.Rows) error {
		var external []byte
		r := store.Reading{}
		r.ID = id
		err := res.Scan(&r.Kind, &r.EventID, &external, &r.Reference, &r.Status, &r.State, &r.ErrorCode, &r.Source, &r.Dest, &r.SubmitDate,
			&r.DoneDate, &r.Parsed, &r.Parser, &r.Until, &r.By, &r.Reason)
		r.ExternalID = orNil(external)
		all = append(all, r)
		return err
	}, id)
	return all, unavailable(err)
}
