package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// foldReceipt correlates a receipt and applies it, lets it wait, or makes an exception of it.
func (z *settling) foldReceipt(ctx context.Context, i int) error {
	n := &z.news[i]
	facts := *n.Receipt
	owner := z.owners[n.EventKey]
	facts.Repeated = owner != [16]byte(facts.ID)
	facts.TwoBases = z.rules.Profiles[n.Connection].IDs.TwoBases()
	m := z.rules.Correlate(&facts, z.candidatesByID(z.identified(n)), z.candidates(z.references(n, facts.Reference)))
	switch {
	case m.Found:
		z.applyReceipt(i, &facts, m)
	case facts.Problem != "":
		z.exceptReceipt(n, exception.Unreadable, facts.Problem)
	case m.Kind == exception.Unmatched && n.GraceOver:
		return z.exceptUnmatched(ctx, n, m)
	case m.Kind == exception.Unmatched:
		z.wait(i, &facts)
	default:
		z.exceptReceipt(n, m.Kind, m.Detail)
	}
	if i < z.given {
		z.out[i].Repeated = facts.Repeated
	}
	return nil
}

func (z *settling) applyReceipt(i int, facts *evidence.ReceiptFacts, m evidence.Match) {
	n := &z.news[i]
	c := z.cases[m.Candidate.Message]
	facts.Quality = m.Quality
	e := evidence.Evidence{Kind: evidence.Receipt, Message: c.Message, Attempt: m.Candidate.Attempt, Part: m.Candidate.Part, Receipt: facts}
	if err := c.Apply(e, z.now); err != nil { // the candidate's attempt was read under its lock: a defect
		z.exceptReceipt(n, exception.Unreadable, "the receipt could not be applied: "+err.Error())
		return
	}
	part := partKey{c.Message, e.Attempt, e.Part}
	z.identified(n).each(func(r *record) {
		r.addCandidate(part)
		r.removeWaiting(facts.ID)
	})
	if r := z.references(n, facts.Reference); r != nil && m.Quality == evidence.ByReference && len(facts.ExternalID) > 0 {
		r.free(part)
	}
	z.finished = append(z.finished, facts.ID)
	if c.Secret {
		z.redact = append(z.redact, facts.ID)
	}
	if i < z.given {
		z.out[i].Message, z.out[i].Case = c.Message, &c.Case
	}
}

// wait keeps a receipt until its message id is known, or its grace is over. One without an id waits too: its
// answer may be on its way.
func (z *settling) wait(i int, facts *evidence.ReceiptFacts) {
	z.identified(&z.news[i]).each(func(r *record) { r.addWaiting(facts.ID) })
	z.waiting = append(z.waiting, facts.ID)
	if i < z.given {
		z.out[i].Waiting = true
	}
}

func (z *settling) exceptReceipt(n *store.News, k exception.Kind, detail string) {
	z.finish(n)
	z.exceptions = append(z.exceptions, exception.Exception{
		Kind: k, Tenant: installation, Connection: n.Connection, At: z.now, Receipt: n.Receipt.ID, Detail: detail,
	})
}

const installation = store.Installation

var findLost = define(`select m.id, m.tenant, a.attempt, a.part from message m join attempt_part a on a.message_id = m.id
	where m.destination = {1} and m.connection = {2} and m.created_at > {3} and a.outcome = {4} order by m.created_at, m.id, a.attempt, a.part limit 20`)

// exceptUnmatched makes the exception of a receipt for which no attempt was found. Where an attempt to the same
// number has no answer, the two may be a pair, and one exception names both.
func (z *settling) exceptUnmatched(ctx context.Context, n *store.News, m evidence.Match) error {
	var pairs []exception.Exception
	if n.HandsetE164 != "" {
		err := z.t.query(ctx, findLost, nil, func(res *sql.Rows) error {
			var (
				id []byte
				x  = exception.Exception{Kind: exception.LostAnswer, Connection: n.Connection, At: z.now, Receipt: n.Receipt.ID}
			)
			err := res.Scan(&id, &x.Tenant, &x.Attempt, &x.Part)
			x.Message = ident.Message(keyFrom(id))
			pairs = append(pairs, x)
			return err
		}, n.HandsetE164, n.Connection, z.now.Add(-z.rules.LookBack), message.OutcomeUnknown)
		if err != nil {
			return err
		}
	}
	if len(pairs) == 0 {
		z.exceptReceipt(n, m.Kind, m.Detail)
		return nil
	}
	x := pairs[0]
	x.Detail = "a receipt without a match says " + n.Receipt.Status + ", and this attempt to the same number has no answer: they may belong together"
	if len(pairs) > 1 {
		x.Detail += fmt.Sprintf(" (as may %d other attempts)", len(pairs)-1)
	}
	z.finish(n)
	z.exceptions = append(z.exceptions, x)
	return nil
}

// finish takes a receipt off the list of work, and off the record where it waited.
func (z *settling) finish(n *store.News) {
	z.finished = append(z.finished, n.Receipt.ID)
	z.identified(n).each(func(r *record) { r.removeWaiting(n.Receipt.ID) })
}

// candidatesByID are those under a message id as received, and those under its normalised form alone.
func (z *settling) candidatesByID(r identified) []evidence.Candidate {
	all := z.candidates(r.exact)
	for _, c := range z.candidates(r.normalised) {
		if !slices.Contains(all, c) {
			c.Normalised = true
			all = append(all, c)
		}
	}
	return all
}

// candidates reads what a record names, with what the cases under their locks say now.
func (z *settling) candidates(r *record) []evidence.Candidate {
	if r == nil {
		return nil
	}
	var all []evidence.Candidate
	for _, k := range r.candidates {
		c := z.cases[k.Message]
		if c == nil {
			continue // its message is gone from the store
		}
		for _, a := range c.Attempts {
			if a.Attempt == k.Attempt && a.Part == k.Part {
				all = append(all, evidence.Candidate{
					Message: k.Message, Attempt: k.Attempt, Part: k.Part, Destination: c.Destination,
					Outcome: a.Outcome, HasExternalID: len(a.ExternalID) > 0,
				})
			}
		}
	}
	return all
}
