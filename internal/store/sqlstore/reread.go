package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// rereading is one receipt that is read again.
type rereading struct {
	old, now *store.LoggedReceipt
	waits    bool // it is on the list of work still
	open     []*exception.Exception
	// dismissed: a person has said that nothing follows from it. Reading it again does not unsay that.
	dismissed bool
	out       store.Reread
}

// errDry ends the transaction of a dry run, so that nothing of it stays.
var errDry = fault.New(fault.State, "a dry run changes nothing")

// Reread implements store.Rereader.
func (s *Store) Reread(ctx context.Context, rs []*store.LoggedReceipt, by store.Rereading, rules store.Rules) ([]store.Reread, error) {
	out := make([]store.Reread, len(rs))
	err := s.isolate(ctx, len(rs), func(t *tx, lo, hi int, _ bool) error {
		z := t.rereading(rs[lo:hi], by, rules)
		if err := z.runReread(t.ctx); err != nil {
			return err
		}
		for i, r := range z.rereads {
			out[lo+i] = r.out
		}
		if by.Dry {
			return errDry
		}
		return nil
	}, func(i int, err error) { out[i] = store.Reread{Receipt: rs[i].ID, Err: err} })
	if errors.Is(err, errDry) {
		err = nil
	}
	return out, err
}

func (t *tx) rereading(rs []*store.LoggedReceipt, by store.Rereading, rules store.Rules) *settling {
	news := make([]store.News, len(rs))
	rereads := make([]*rereading, len(rs))
	for i, r := range rs {
		news[i] = store.NewsOf(r)
		declared := rules.Profile(r.Connection)
		declared.Declare(news[i].Receipt)
		news[i].GraceOver, news[i].Receipt.EchoDeclared = true, declared.EchoesReference
		rereads[i] = &rereading{now: r, out: store.Reread{Receipt: r.ID, Effect: store.RereadNothing}}
	}
	z := newSettling(t, rules, news)
	z.rereads, z.rereadBy = rereads, by
	return z
}

func (z *settling) runReread(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		z.readRereads, z.lockRecords, z.readMessages, z.lockRegisters, z.readClock, z.takeOverEvents, z.lockCases,
		z.lockExceptions, z.readHistories, z.foldRereads, z.settleLost, z.writeReadings, z.write,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

var (
	readEffects = define(`select e.receipt_id, e.message_id from {rows id bytes} cross join event e where length(e.receipt_id) > 0 and e.receipt_id = r.id`)
	readToldOf  = define(`select x.receipt_id, x.id, x.state from {rows id bytes} cross join exception x where length(x.receipt_id) > 0 and x.receipt_id = r.id`)
)

// readRereads reads the receipts as they were read before, and what they had an effect on. Those that are on the list
// of work are locked: they have their effect as they are read now.
func (z *settling) readRereads(ctx context.Context) error {
	ids, byID := &rows{}, map[ident.Receipt]*rereading{}
	for _, r := range z.rereads {
		ids.add(r.now.ID)
		byID[r.now.ID] = r
	}
	scan := func(f func(ident.Receipt)) func(*sql.Rows) error {
		return func(res *sql.Rows) error {
			var id []byte
			err := res.Scan(&id)
			f(ident.Receipt(keyFrom(id)))
			return err
		}
	}
	for _, step := range []struct {
		q    *template
		scan func(*sql.Rows) error
	}{
		{lockIntake, scan(func(id ident.Receipt) { byID[id].waits = true })},
		{readEarly, func(res *sql.Rows) error {
			r, err := scanReceipt(res)
			if err == nil {
				byID[r.ID].old = r
			}
			return err
		}},
		{readEffects, func(res *sql.Rows) error {
			var id, m []byte
			err := res.Scan(&id, &m)
			z.also = append(z.also, ident.Message(keyFrom(m)))
			return err
		}},
		{readToldOf, func(res *sql.Rows) error {
			var (
				id, x []byte
				state exception.State
			)
			err := res.Scan(&id, &x, &state)
			r := byID[ident.Receipt(keyFrom(id))]
			r.dismissed = r.dismissed || state == exception.Dismissed
			z.mayHold = append(z.mayHold, ident.Exception(keyFrom(x)))
			return err
		}},
	} {
		if err := z.t.query(ctx, step.q, ids, step.scan); err != nil {
			return err
		}
	}
	for i, r := range z.rereads {
		if r.old == nil {
			r.out.Err = notFound("receipt")
		}
		z.out[i].Known = r.old == nil || r.waits || !settledKind(r.now.Kind) // nothing to correlate
	}
	return nil
}

// settledKind reports whether calls of a kind have an effect on messages.
func settledKind(kind string) bool {
	return slices.Contains([]string{"receipt", "intermediate", "unreadable"}, kind)
}

// foldRereads gives each receipt its effect as it is read now.
func (z *settling) foldRereads(ctx context.Context) error {
	for _, x := range z.held {
		for _, r := range z.rereads {
			if r.now.ID == x.Receipt && x.State == exception.Open {
				r.open = append(r.open, x)
			}
		}
	}
	for i, r := range z.rereads {
		if r.out.Err != nil {
			continue
		}
		r.out.Changed = !sameReading(r.old, r.now)
		if err := z.foldReread(ctx, i, r); err != nil {
			return err
		}
	}
	return nil
}

func (z *settling) foldReread(ctx context.Context, i int, r *rereading) error {
	if r.waits {
		if r.out.Changed {
			r.out.Effect = store.RereadWaits
		}
		return nil
	}
	parts := z.effectsOf(r.now.ID)
	stays := len(parts) > 0 && z.stays(r, parts)
	for _, p := range parts {
		if err := z.rebuild(i, r, p, !stays); err != nil {
			r.out.Err = err
			return nil
		}
	}
	if stays {
		z.closeReread(r, store.RereadSettled)
		return nil
	}
	return z.firstEffect(ctx, i, r)
}

// effectsOf are the parts that a receipt had an effect on, or was set aside for, and did not leave since.
func (z *settling) effectsOf(id ident.Receipt) []exception.Part {
	var parts []exception.Part
	for m, h := range z.histories {
		for i := range h.past {
			e := &h.past[i].Event
			p := exception.Part{Message: m, Attempt: e.Attempt, Part: e.Part}
			switch {
			case e.Receipt != id || e.Kind == evidence.EventResolved && e.Detail["action"] != string(exception.Attach):
			case e.Kind == evidence.EventRebuilt && e.Detail["moved"] != "":
				parts = slices.DeleteFunc(parts, func(q exception.Part) bool { return q == p })
			case e.Kind != evidence.EventRebuilt && !slices.Contains(parts, p):
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// stays reports whether a receipt belongs where it did: its ids are what they were, or a person said so, or it was
// found by our own reference, which is read as before.
func (z *settling) stays(r *rereading, parts []exception.Part) bool {
	sameIDs := string(r.old.ExternalID) == string(r.now.ExternalID) && r.old.Reference == r.now.Reference && r.old.IDSpace == r.now.IDSpace
	if sameIDs && settledKind(r.now.Kind) {
		return true
	}
	for _, p := range parts {
		for i := range z.histories[p.Message].past {
			e := &z.histories[p.Message].past[i].Event
			byReference := e.Detail["match"] == string(evidence.ByReference) && r.old.Reference == r.now.Reference
			if e.Receipt == r.now.ID && (e.Kind == evidence.EventResolved || byReference) {
				return true
			}
		}
	}
	return false
}

// rebuild computes again what is reported of a part.
func (z *settling) rebuild(i int, r *rereading, p exception.Part, moved bool) error {
	c, h := z.cases[p.Message], z.histories[p.Message]
	before, n := c.State, len(c.Events)
	e := evidence.Evidence{
		Kind: evidence.Rebuilt, Message: p.Message, Attempt: p.Attempt, Part: p.Part, Receipt: z.news[i].Receipt,
		Person: z.rereadBy.Person, Reason: z.rereadBy.Reason, History: h.past, ToldOf: h.told, Moved: moved, FormerID: r.old.ExternalID,
	}
	if err := c.Apply(e, z.now); err != nil {
		return evidenceFault(err, c.State)
	}
	for _, written := range c.Events[n:] { // what other receipts of this batch are folded on
		h.past = append(h.past, evidence.Past{Event: written, Now: z.news[i].Receipt})
		r.out.Effect, r.out.Message, r.out.From, r.out.To = store.RereadRebuilt, p.Message, before, c.State
	}
	if !moved {
		z.identified(&z.news[i]).each(func(rec *record) { rec.addCandidate(partKey(p)) })
	}
	z.closeFitting(p.Message, c.Effects)
	return nil
}

// closeFitting closes exceptions about receipts that contradict nothing any more, as they are read now.
func (z *settling) closeFitting(m ident.Message, effects map[ident.Receipt]message.Effect) {
	for _, x := range z.held {
		effect, says := effects[x.Receipt]
		if x.Message == m && says && effect != message.Conflicting && (x.Kind == exception.Conflicting || x.Kind == exception.Unreadable) {
			z.close(x, exception.Reread, exception.Resolution{By: z.rereadBy.Person, Reason: z.rereadBy.Reason})
		}
	}
}
