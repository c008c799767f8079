package sqlstore

import (
	"context"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/store"
)

// foldReceipt correlates a receipt and applies it, lets it wait, or makes an exception of it.
func (z *settling) foldReceipt(ctx context.Context, i int) error {
	n := &z.news[i]
	facts := *n.Receipt
	owner := z.owners[n.EventKey]
	facts.Repeated = owner != [16]byte(facts.ID)
	z.declare(&facts, n.Connection)
	x, told := z.excepted[facts.ID]
	if told && !z.mayClose(x) {
		return nil // somebody has resolved it meanwhile
	}
	facts.Exception = x
	m := z.rules.Correlate(&facts, z.candidatesByID(z.identified(n)), z.candidates(z.references(n, facts.Reference)))
	if i < z.given {
		z.out[i].Repeated = facts.Repeated
	}
	waits := m.Kind == exception.Unmatched && facts.Problem == "" && !n.GraceOver
	switch {
	case m.Found:
		z.applyReceipt(i, &facts, m)
	case told: // it stays with its exception
	case waits:
		z.wait(i, &facts)
	default:
		return z.exceptReceipt(ctx, n, &facts, m)
	}
	return nil
}

// declare adds to a receipt's facts what is declared of its connection.
func (z *settling) declare(facts *evidence.ReceiptFacts, connection int64) {
	p := z.rules.Profile(connection)
	p.Declare(facts)
}

func (z *settling) applyReceipt(i int, facts *evidence.ReceiptFacts, m evidence.Match) {
	n := &z.news[i]
	c := z.cases[m.Candidate.Message]
	facts.Quality = m.Quality
	e := evidence.Evidence{Kind: evidence.Receipt, Message: c.Message, Attempt: m.Candidate.Attempt, Part: m.Candidate.Part, Receipt: facts}
	if err := c.Apply(e, z.now); err != nil { // the candidate's attempt was read under its lock: a defect
		z.except(n, exception.Unreadable, "the receipt could not be applied: "+err.Error())
		return
	}
	part := partKey{c.Message, e.Attempt, e.Part}
	z.applied[facts.ID] = true
	if x := z.held[facts.Exception]; x != nil {
		z.close(x, exception.Settled, exception.Resolution{Reason: "its receipt found its attempt", To: exception.Part(part)})
	}
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

// finish takes a receipt off the list of work, and off the records where it waited.
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
