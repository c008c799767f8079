package receipt

import (
	"context"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// Opener opens sealed payloads.
type Opener interface {
	Open(ctx context.Context, aad, sealed, own []byte) ([]byte, error)
}

// Again reads stored receipts again, from their payloads as received.
type Again struct {
	Sealer  Opener
	Readers func(connection int64) provider.Reader // nil: nobody reads that connection's
	Key     intent.Keyer
}

// errGone says that a payload cannot be read again.
var errGone = fault.New(fault.State, "the receipt's payload cannot be opened any more, or its connection is not configured")

// read returns a stored receipt as it is read now; errGone where nobody can read it any more.
func (a *Again) read(ctx context.Context, r *store.LoggedReceipt) (*store.LoggedReceipt, error) {
	payload, err := a.Sealer.Open(ctx, Place(r.ID), r.Payload, nil)
	switch reader := a.Readers(r.Connection); {
	case err != nil && fault.CodeOf(err) == fault.NotFound, err == nil && len(payload) == 0, reader == nil:
		return nil, errGone
	case err != nil:
		return nil, err
	default:
		return a.logged(r, payload, reader.Read(payload)), nil
	}
}

// logged is a reading in the form in which it is stored. Everything that is no reading stays, and so does the key of
// a call that is known by its whole payload: parts of that may be masked by now.
func (a *Again) logged(r *store.LoggedReceipt, payload []byte, p provider.Parsed) *store.LoggedReceipt {
	now := Logged(a.Key, r.Connection, r.IDSpace, &provider.RawEvent{Payload: payload, Parsed: p})
	now.ID, now.Payload, now.Headers, now.Peer, now.Bind, now.Seq, now.ReceivedAt = r.ID, r.Payload, r.Headers, r.Peer, r.Bind, r.Seq, r.ReceivedAt
	byFields := now.Kind == string(provider.KindReceipt) || now.Kind == string(provider.KindIntermediate) || p.EventID != ""
	if now.Kind == r.Kind && !byFields {
		now.EventKey = r.EventKey
	}
	return now
}

// Replay is what is to be read again: a piece of the log.
type Replay struct {
	Connection int64          // 0: of all of them
	From       store.LogPlace // what was received then or later, and behind this one
	Limit      int
	store.Rereading
}

// Replayed is what became of a piece of the log.
type Replayed struct {
	LookedAt int
	Changed  int                        // read otherwise than before
	Gone     int                        // whose payloads cannot be read any more
	Effects  map[store.RereadEffect]int // nothing is left out
	Changes  []store.Reread             // those with another effect than nothing, or an error
	Next     store.LogPlace             // where to go on; zero: this was the last piece
}

// Replay reads a piece of the log again (R9). Whoever wants all of it goes on from Next.
func (r *Resolver) Replay(ctx context.Context, what Replay) (Replayed, error) {
	all, err := r.cfg.Store.LogFrom(ctx, what.Connection, what.From, what.Limit)
	if err != nil {
		return Replayed{}, err
	}
	done := Replayed{LookedAt: len(all), Effects: map[store.RereadEffect]int{}}
	if len(all) == what.Limit {
		done.Next = store.LogPlace{At: all[len(all)-1].ReceivedAt, ID: all[len(all)-1].ID}
	}
	results, gone, err := r.again(ctx, all, what.Rereading)
	done.Gone = gone
	for _, one := range results {
		done.Effects[one.Effect]++
		if one.Changed {
			done.Changed++
		}
		if one.Effect != store.RereadNothing || one.Err != nil {
			done.Changes = append(done.Changes, one)
		}
	}
	return done, err
}

// again reads receipts again and gives them the effect that they have now. gone is how many nobody can read any more.
func (r *Resolver) again(ctx context.Context, all []*store.LoggedReceipt, by store.Rereading) (results []store.Reread, gone int, err error) {
	var readings []*store.LoggedReceipt
	for _, one := range all {
		now, err := r.cfg.Again.read(ctx, one)
		switch {
		case err == errGone:
			gone++
		case err != nil:
			return nil, gone, err
		default:
			readings = append(readings, now)
		}
	}
	for len(readings) > 0 {
		n := min(len(readings), groupBatch)
		some, err := r.cfg.Store.Reread(ctx, readings[:n], by, r.cfg.Rules)
		if err != nil {
			return results, gone, err
		}
		results, readings = append(results, some...), readings[n:]
	}
	if !by.Dry && r.cfg.Committed != nil {
		r.cfg.Committed()
	}
	return results, gone, nil
}

// reread resolves exceptions by reading their receipts again, and returns how many are resolved by it. All of them are
// one tenant's.
func (r *Resolver) reread(ctx context.Context, open []*store.ExceptionView, by store.Rereading) (done int, failed []error, err error) {
	var receipts []*store.LoggedReceipt
	seen := map[ident.Receipt]bool{}
	for _, x := range open {
		if x.Receipt.IsZero() || seen[x.Receipt] {
			continue
		}
		seen[x.Receipt] = true
		one, err := r.cfg.Store.Receipt(ctx, x.Tenant, x.Receipt)
		if err != nil {
			return 0, nil, err
		}
		receipts = append(receipts, one)
	}
	results, gone, err := r.again(ctx, receipts, by)
	for range gone {
		failed = append(failed, errGone)
	}
	for _, one := range results {
		switch {
		case one.Err != nil:
			failed = append(failed, one.Err)
		case one.Effect != store.RereadNothing:
			done++
		}
	}
	return done, failed, err
}
