package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// verifyPage is how many rows a proof reads at once: no statement of it lasts, however much there is.
const verifyPage = 1000

var (
	walkWallets   = define(`select ` + walletColumns + ` from wallet where tenant > {1} and slice = {2} order by tenant limit {3}`)
	walkTransfers = define(`select t.id, t.attempt, t.part, t.kind, t.tenant, t.debit, t.credit, t.amount, t.state,
		case when s.message_id is null or m.tenant is null then {4} else m.tenant end
		from transfer t left join message_state s on s.message_id = t.id left join message m on m.id = s.message_id
		where (t.id, t.attempt, t.part) > ({1}, {2}, {3}) order by t.id, t.attempt, t.part limit {5}`)
	walkCharged = define(`select m.id, m.tenant, m.price, m.parts, s.state, s.final from message m join message_state s on s.message_id = m.id
		where m.id > {1} order by m.id limit {2}`)
)

// proving is one proof: what the transfers add up to, and what was found.
type proving struct {
	t      *tx
	proof  store.WalletProof
	totals map[ident.Partition]wallet.Delta
	found  func(store.WalletDifference)
}

// VerifyWallets implements store.Wallets. It reads one snapshot, page by page, and holds nobody up.
func (s *Store) VerifyWallets(ctx context.Context, found func(store.WalletDifference)) (store.WalletProof, error) {
	options := &sql.TxOptions{ReadOnly: true}
	if !s.d.OneWriter { // where one writes, a transaction that reads has a snapshot by itself
		options.Isolation = sql.LevelRepeatableRead
	}
	e, err := s.reader.BeginTx(ctx, options)
	if err != nil {
		return store.WalletProof{}, unavailable(err)
	}
	defer func() { _ = e.Rollback() }() // it has written nothing
	p := &proving{t: &tx{s: s, e: e}, totals: map[ident.Partition]wallet.Delta{}, found: found}
	for _, step := range []func(context.Context) error{p.readClock, p.walkTransfers, p.walkMessages, p.walkWallets} {
		if err := step(ctx); err != nil {
			return p.proof, unavailable(err)
		}
	}
	return p.proof, nil
}

func (p *proving) readClock(ctx context.Context) (err error) {
	p.proof.At, err = p.t.now(ctx)
	return err
}

func (p *proving) differs(tenant ident.Partition, m ident.Message, format string, args ...any) {
	p.proof.Differences++
	p.found(store.WalletDifference{Tenant: tenant, Message: m, Detail: fmt.Sprintf(format, args...)})
}

// pages calls page until it read less than a page.
func pages(page func() (int, error)) error {
	for {
		if n, err := page(); err != nil || n < verifyPage {
			return err
		}
	}
}

// transferRow is a transfer as it is stored, with the tenant of its message; noMessage: there is none.
type transferRow struct {
	id []byte
	wallet.Part
	kind          wallet.Kind
	tenant        ident.Partition
	debit, credit wallet.Account
	amount        wallet.MicroUSD
	state         wallet.State
	owner         int64
}

const noMessage = -1

func (p *proving) walkTransfers(ctx context.Context) error {
	last := transferRow{id: []byte{}}
	return pages(func() (n int, err error) {
		err = p.t.query(ctx, walkTransfers, nil, func(res *sql.Rows) error {
			n++
			var r transferRow
			err := res.Scan(&r.id, &r.Attempt, &r.Part.Part, &r.kind, &r.tenant, &r.debit, &r.credit, &r.amount, &r.state, &r.owner)
			last = r
			p.transfer(&r)
			return err
		}, last.id, last.Attempt, last.Part.Part, noMessage, verifyPage)
		return n, err
	})
}

// transfer adds one up, and checks what it says of itself.
func (p *proving) transfer(r *transferRow) {
	p.proof.Transfers++
	debit, credit := wallet.Sides(r.kind)
	house := r.kind == wallet.Charge && r.debit == wallet.House
	m := ident.Message(keyFrom(r.id))
	switch {
	case r.kind.String() == "" || r.state.String() == "" || r.credit != credit || r.debit != debit && !house:
		p.differs(r.tenant, ident.Message{}, "the transfer %s is of kind %d, state %d, from account %d to %d, which cannot be", ident.Transfer(m), r.kind, r.state, r.debit, r.credit)
		return
	case r.kind != wallet.Charge:
		paid := r.amount
		if r.kind == wallet.Adjustment {
			paid = -paid
		}
		p.totals[r.tenant] = p.totals[r.tenant].Plus(wallet.Paid(paid))
		return
	case r.owner == noMessage && r.state == wallet.Held:
		p.differs(r.tenant, m, "a charge is held for a message that does not exist")
	case r.owner == noMessage:
		p.proof.Gone++
	case ident.Partition(r.owner) != r.tenant:
		p.differs(r.tenant, m, "a charge is this tenant's and its message is that of tenant %d", r.owner)
	}
	if !house {
		p.totals[r.tenant] = p.totals[r.tenant].Plus(wallet.Moved(0, r.state, r.amount))
	}
}

// chargedCase is a message that costs something, as far as its charges depend on it.
type chargedCase struct {
	evidence.Case
	price wallet.MicroUSD
}

func (p *proving) walkMessages(ctx context.Context) error {
	last := []byte{}
	return pages(func() (n int, err error) {
		var page []*chargedCase
		err = p.t.query(ctx, walkCharged, nil, func(res *sql.Rows) error {
			n++
			var (
				id    []byte
				final int
				c     chargedCase
			)
			err := res.Scan(&id, &c.Tenant, &c.price, &c.Parts, &c.State, &final)
			if last = id; c.price > 0 {
				c.Message, c.Final = ident.Message(keyFrom(id)), final == 1
				page = append(page, &c)
			}
			return err
		}, last, verifyPage)
		if err == nil {
			err = p.messages(ctx, page)
		}
		return n, err
	})
}

// messages holds the charges of messages against their attempts.
func (p *proving) messages(ctx context.Context, page []*chargedCase) error {
	ids := &rows{}
	for _, c := range page {
		ids.add(c.Message)
	}
	attempts, err := p.t.attemptsOf(ctx, ids)
	if err != nil {
		return err
	}
	charges, err := p.t.chargesOf(ctx, ids)
	for _, c := range page {
		p.proof.Messages++
		for _, a := range attempts[c.Message] {
			c.Attempts = append(c.Attempts, a.Attempt)
		}
		p.message(c, charges[c.Message])
	}
	return err
}

func (p *proving) message(c *chargedCase, have []charge) {
	want := c.Charges()
	for _, one := range have {
		state, known := want[one.Part]
		if !known {
			state = wallet.Released
		}
		delete(want, one.Part)
		if one.state != state {
			p.differs(c.Tenant, c.Message, "the charge of part %d of attempt %d is %s, and by the message's attempts it is %s", one.Part.Part, one.Attempt, one.state, state)
		}
		if one.amount != c.price {
			p.differs(c.Tenant, c.Message, "the charge of part %d of attempt %d is %s, and the message's price is %s", one.Part.Part, one.Attempt, one.amount, c.price)
		}
	}
	for part, state := range want {
		if state != wallet.Released {
			p.differs(c.Tenant, c.Message, "part %d of attempt %d has no charge, and by the message's attempts one is %s", part.Part, part.Attempt, state)
		}
	}
}

func (p *proving) walkWallets(ctx context.Context) error {
	var last ident.Partition
	err := pages(func() (n int, err error) {
		err = p.t.query(ctx, walkWallets, nil, func(res *sql.Rows) error {
			n++
			w, err := scanWallet(res)
			last = w.Tenant
			p.wallet(w)
			return err
		}, last, onlySlice, verifyPage)
		return n, err
	})
	for id := range p.totals {
		p.differs(id, ident.Message{}, "there are transfers of this tenant, and no wallet")
	}
	return err
}

func (p *proving) wallet(w store.WalletView) {
	p.proof.Wallets++
	sum := p.totals[w.Tenant]
	delete(p.totals, w.Tenant)
	for _, c := range []struct {
		what         string
		stored, sums wallet.MicroUSD
	}{{"balance", w.Balance, sum.Balance}, {"held", w.Held, sum.Held}, {"spent", w.Spent, sum.Spent}} {
		if c.stored != c.sums {
			p.differs(w.Tenant, ident.Message{}, "the wallet's %s is %s, and its transfers add up to %s", c.what, c.stored, c.sums)
		}
	}
}
