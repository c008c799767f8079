package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/receipt"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const installation = store.Installation

// exceptReceipt tells a person of a receipt for which no attempt was found. A repeat of one that was told of makes
// no second exception (R10).
func (z *settling) exceptReceipt(ctx context.Context, n *store.News, facts *evidence.ReceiptFacts, m evidence.Match) error {
	if facts.Repeated {
		told, err := z.wasTold(ctx, z.owners[n.EventKey])
		if err != nil {
			return err
		}
		if told { // it stays on the record: what settles the first one settles this
			z.finished = append(z.finished, facts.ID)
			return nil
		}
	}
	switch {
	case facts.Problem != "":
		z.except(n, exception.Unreadable, facts.Problem)
	case m.Kind == exception.Unmatched:
		return z.exceptUnmatched(ctx, n, m)
	default:
		z.except(n, m.Kind, m.Detail)
	}
	return nil
}

var anyException = define(`select 1 from exception where length(receipt_id) > 0 and receipt_id = {1} limit 1`)

// wasTold reports whether a person was told of a receipt, also in this very batch.
func (z *settling) wasTold(ctx context.Context, receipt ident.Receipt) (told bool, err error) {
	if slices.ContainsFunc(z.exceptions, func(x exception.Exception) bool { return x.Receipt == receipt }) {
		return true, nil
	}
	err = z.t.query(ctx, anyException, nil, func(*sql.Rows) error {
		told = true
		return nil
	}, receipt)
	return told, err
}

// except takes a receipt off the list of work and tells a person. Nothing that is learned later settles it by itself.
func (z *settling) except(n *store.News, k exception.Kind, detail string) {
	z.finish(n)
	z.exceptions = append(z.exceptions, exception.Exception{
		Kind: k, Tenant: installation, Connection: n.Connection, At: z.now, Receipt: n.Receipt.ID, Detail: detail, State: exception.Open,
	})
}

// exceptUnmatched makes the exception of a receipt for whose id no attempt is known. Where an attempt to the same
// number has no answer, the two may be a pair, and one exception names both. The receipt stays on the record of its
// id: an answer that comes after all, or a person's word on another receipt, settles it.
func (z *settling) exceptUnmatched(ctx context.Context, n *store.News, m evidence.Match) error {
	lost, foreign, err := z.lostAttempts(ctx, n)
	if err != nil {
		return err
	}
	x := exception.Exception{
		Kind: m.Kind, Tenant: installation, Connection: n.Connection, At: z.now, Receipt: n.Receipt.ID, Detail: m.Detail, State: exception.Open,
	}
	switch {
	case foreign:
		x.Detail += "; attempts of several tenants to the same number have no answer"
	case len(lost) > 0:
		pair(&x, lost, n.Receipt.Status)
	default:
		if x.Detail, err = z.hinted(ctx, n, x.Detail); err != nil {
			return err
		}
	}
	z.finished = append(z.finished, n.Receipt.ID)
	z.exceptions = append(z.exceptions, x)
	return nil
}

// pair names the attempts that the receipt may belong to, of one tenant all of them.
func pair(x *exception.Exception, lost []lostAttempt, status string) {
	x.Kind, x.Tenant = exception.LostAnswer, lost[0].tenant
	for _, l := range lost {
		x.Candidates = append(x.Candidates, l.Part)
	}
	x.Message, x.Attempt, x.Part = x.Candidates[0].Message, x.Candidates[0].Attempt, x.Candidates[0].Part
	x.Detail = "a receipt without a match says " + status + ", and this attempt to the same number has no answer: they may belong together"
	if len(lost) > 1 {
		x.Detail += fmt.Sprintf(" (as may %d other attempts)", len(lost)-1)
	}
}

// lostAttempt is an attempt without an answer.
type lostAttempt struct {
	exception.Part
	tenant ident.Partition
}

// mostLost is how many attempts one exception may name.
const mostLost = 20

var (
	findLost = define(`select m.id, m.tenant, a.attempt, a.part from message m join attempt_part a on a.message_id = m.id
		where m.destination = {1} and m.connection = {2} and m.created_at > {3} and a.outcome = {4} order by m.created_at, m.id, a.attempt, a.part limit {5}`)
	findForeign = define(`select 1 from message m join attempt_part a on a.message_id = m.id
		where m.destination = {1} and m.connection = {2} and m.created_at > {3} and a.outcome = {4} and +m.tenant <> {5} limit 1`)
)

// lostAttempts lists attempts to the receipt's handset that have no answer, and have learned none in this batch. It
// says whether they are several tenants': also where there are more of them than are listed.
func (z *settling) lostAttempts(ctx context.Context, n *store.News) (all []lostAttempt, foreign bool, err error) {
	if n.HandsetE164 == "" {
		return nil, false, nil
	}
	seen, since := 0, z.now.Add(-z.rules.LookBack)
	err = z.t.query(ctx, findLost, nil, func(res *sql.Rows) error {
		var (
			id []byte
			l  lostAttempt
		)
		err := res.Scan(&id, &l.tenant, &l.Attempt, &l.Part.Part)
		l.Message = ident.Message(keyFrom(id))
		seen++
		if !z.answered(l.Part) {
			all = append(all, l)
		}
		return err
	}, n.HandsetE164, n.Connection, since, message.OutcomeUnknown, mostLost)
	foreign = slices.ContainsFunc(all, func(l lostAttempt) bool { return l.tenant != all[0].tenant })
	if err != nil || foreign || seen < mostLost || len(all) == 0 {
		return all, foreign, err
	}
	err = z.t.query(ctx, findForeign, nil, func(*sql.Rows) error {
		foreign = true
		return nil
	}, n.HandsetE164, n.Connection, since, message.OutcomeUnknown, all[0].tenant)
	return all, foreign, err
}

// answered reports whether this batch knows what became of the attempt.
func (z *settling) answered(p exception.Part) bool {
	c := z.cases[p.Message]
	if c == nil || !c.locked {
		return false
	}
	return slices.ContainsFunc(c.Attempts, func(a evidence.Attempt) bool {
		return a.Attempt == p.Attempt && a.Part == p.Part && a.Outcome != message.OutcomeUnknown
	})
}

var findSpelt = define(`select e.id from {rows id bytes} cross join external_id e
	where e.id_space = {1} and e.kind = {2} and e.id = r.id and length(e.candidates) > 0 limit 1`)

// hinted adds to a detail how the connection's ids would have to be declared for the receipt to find an attempt.
// Nothing is matched by it: the look of one id proves nothing.
func (z *settling) hinted(ctx context.Context, n *store.News, detail string) (string, error) {
	spelt, declared := &rows{}, map[string]receipt.IDs{}
	for _, s := range receipt.Respellings(n.Receipt.ExternalID) {
		if _, twice := declared[string(s.ID)]; !twice && len(s.ID) > 0 {
			declared[string(s.ID)] = s.Declared
			spelt.add(s.ID)
		}
	}
	err := z.t.query(ctx, findSpelt, spelt, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		detail += "; it would have one if the connection declared receipts.ids: " + declared[string(id)].Words()
		return err
	}, n.IDSpace, kindExternal)
	return detail, err
}
