package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

var (
	readCredit   = define(`select c.sender, c.spent from {rows sender text} cross join credit c where c.connection = {1} and c.sender = r.sender`)
	lockCredit   = define(`select c.sender, c.spent from {rows sender text} cross join credit c where c.connection = {1} and c.sender = r.sender order by c.sender {update}`)
	insertCredit = define(`insert into credit (connection, sender, spent) select {1}, sender, 0 from {rows sender text} where true on conflict do nothing`)
	writeCredit  = define(`update credit set spent = r.spent from {rows sender text, spent int} where credit.connection = {1} and credit.sender = r.sender`)
)

// limited are the senders of flows that have a rate, and "" if the connection has one; in order, since rows are
// locked and made in it.
func limited(rates flow.Rates, found []flow.Waiting) []string {
	if len(rates) == 0 || len(found) == 0 {
		return nil
	}
	senders := []string{""}
	for _, f := range found {
		senders = append(senders, f.Sender)
	}
	slices.Sort(senders)
	return slices.DeleteFunc(slices.Compact(senders), func(sender string) bool { return rates[sender] == 0 })
}

// purse reads the credit of senders. An unlocked one is good for choosing: spend looks again.
func (t *tx) purse(ctx context.Context, q *template, spec store.ClaimSpec, senders []string) (p flow.Purse, known int, err error) {
	r := &rows{}
	p = make(flow.Purse, len(senders))
	for _, sender := range senders {
		p[sender] = &flow.Credit{Every: spec.Rates[sender]}
		r.add(sender)
	}
	err = t.query(ctx, q, r, func(res *sql.Rows) error {
		var (
			sender string
			spent  clock.Micros
		)
		err := res.Scan(&sender, &spent)
		p[sender].Spent = spent
		known++
		return err
	}, spec.Connection)
	return p, known, err
}

// lockedPurse reads the credit of senders under its locks, and makes what is not there yet.
func (t *tx) lockedPurse(ctx context.Context, spec store.ClaimSpec, senders []string) (flow.Purse, error) {
	p, known, err := t.purse(ctx, lockCredit, spec, senders)
	if err != nil || known == len(senders) {
		return p, err
	}
	r := &rows{}
	for _, sender := range senders {
		r.add(sender)
	}
	if _, err := t.exec(ctx, insertCredit, r, spec.Connection); err != nil {
		return nil, err
	}
	p, _, err = t.purse(ctx, lockCredit, spec, senders)
	return p, err
}

// spend takes the credit of what was claimed, under the credits' locks and by the clock as it is then: another
// node may have spent it meanwhile, and what is not covered stays where it is.
func (t *tx) spend(ctx context.Context, spec store.ClaimSpec, found []flow.Waiting, claims []store.Claimed) ([]store.Claimed, error) {
	if len(spec.Rates) == 0 || len(claims) == 0 {
		return claims, nil
	}
	senderOf := make(map[int64]string, len(found))
	for _, f := range found {
		senderOf[f.ID] = f.Sender
	}
	p, err := t.lockedPurse(ctx, spec, limited(spec.Rates, found))
	if err != nil {
		return nil, err
	}
	now, err := t.now(ctx)
	if err != nil {
		return nil, err
	}
	covered := claims[:0]
	for _, c := range claims {
		if p.Spend(now, flow.PlaceOf(c.Flow).Lane, senderOf[c.Flow]) {
			covered = append(covered, c)
		}
	}
	return covered, t.writePurse(ctx, spec, p)
}

func (t *tx) writePurse(ctx context.Context, spec store.ClaimSpec, p flow.Purse) error {
	spent := &rows{}
	for sender, c := range p {
		spent.add(sender, c.Spent)
	}
	_, err := t.exec(ctx, writeCredit, spent, spec.Connection)
	return err
}
