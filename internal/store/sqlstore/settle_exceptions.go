package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	findPairs = define(`select x.id from {rows id bytes} cross join exception x where x.message_id = r.id and x.state = 1 and x.kind = 'lost_answer'`)
	lockOpen  = define(`select ` + exceptionColumns + ` from {rows id bytes} cross join exception x where x.id = r.id order by x.id {update}`)
)

// lockExceptions locks those that this batch may close: the ones that a person resolves, those of receipts that find
// their attempt at last, and pairs of a receipt with an attempt whose answer was lost.
func (z *settling) lockExceptions(ctx context.Context) error {
	ids := map[ident.Exception]bool{}
	for _, r := range z.resolving {
		ids[r.Exception] = true
	}
	for _, x := range z.excepted {
		if !x.IsZero() {
			ids[x] = true
		}
	}
	for _, x := range z.mayHold {
		ids[x] = true
	}
	lost := &rows{}
	for _, c := range z.cases {
		if slices.Contains(c.outcomes, message.OutcomeUnknown) {
			lost.add(c.Message)
		}
	}
	err := z.t.query(ctx, findPairs, lost, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		ids[ident.Exception(keyFrom(id))] = true
		return err
	})
	if err != nil {
		return err
	}
	wanted := &rows{}
	for id := range ids {
		wanted.add(id)
	}
	return z.t.query(ctx, lockOpen, wanted, func(res *sql.Rows) error {
		x, err := scanException(res)
		z.held[x.ID] = x
		return err
	})
}

// mayClose reports whether a receipt that a person was told of may have its effect now; one without an exception of
// its own repeats another.
func (z *settling) mayClose(x ident.Exception) bool {
	return x.IsZero() || z.held[x] != nil && z.held[x].State == exception.Open
}

// close resolves an exception that is locked and open.
func (z *settling) close(x *exception.Exception, to exception.State, how exception.Resolution) {
	if !exception.Allowed(x.State, to) {
		return
	}
	how.At = z.now
	x.State, x.Resolution = to, how
	z.closed = append(z.closed, x)
}

// settleLost closes the pairs whose attempt is not without an answer any more. A receipt that was not the answer is
// again one without a match, or may belong to another attempt.
func (z *settling) settleLost(ctx context.Context) error {
	var settled []*exception.Exception
	for _, x := range z.held {
		if x.Kind == exception.LostAnswer && x.State == exception.Open && z.answered(exception.Part{Message: x.Message, Attempt: x.Attempt, Part: x.Part}) {
			settled = append(settled, x)
		}
	}
	slices.SortFunc(settled, func(a, b *exception.Exception) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	alone := &rows{}
	for _, x := range settled {
		z.close(x, exception.Settled, exception.Resolution{Reason: "other evidence has settled the attempt"})
		if !z.applied[x.Receipt] {
			alone.add(x.Receipt)
		}
	}
	var left []*store.LoggedReceipt
	err := z.t.query(ctx, readEarly, alone, func(res *sql.Rows) error {
		r, err := scanReceipt(res)
		left = append(left, r)
		return err
	})
	for i := 0; err == nil && i < len(left); i++ {
		n := store.NewsOf(left[i])
		err = z.exceptUnmatched(ctx, &n, evidence.NoMatch)
	}
	return err
}

var findContradiction = define(`select 1 from exception where message_id = {1} and kind = 'conflicting' and length(receipt_id) = 0 and detail = {2} limit 1`)

// recall reads whether a person was told already of an answer that contradicts: the same answer comes again where
// the commit that kept it was lost.
func (z *settling) recall(ctx context.Context, c *caseRow, e evidence.Evidence) error {
	if e.Kind != evidence.Outcome {
		return nil
	}
	words := c.Contradiction(e)
	if words == "" {
		return nil
	}
	return z.t.query(ctx, findContradiction, nil, func(*sql.Rows) error {
		c.Told = append(c.Told, words)
		return nil
	}, c.Message, words)
}
