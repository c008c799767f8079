package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// lockWallet locks a wallet from a second connection, as a person at a prompt does, until the transaction is ended.
func (p *purse) lockWallet(h Harness) *sql.Tx {
	p.t.Helper()
	tx, err := h.Database(p.t, p.Store).BeginTx(context.Background(), nil)
	must(p.t, err)
	_, err = tx.ExecContext(context.Background(), "select 1 from wallet where tenant = $1 for update", p.id)
	must(p.t, err)
	return tx
}

// answered sends n messages and returns the news of their answers, none of them stored.
func (p *purse) answered(n int) (news []store.News) {
	p.t.Helper()
	for i := range n {
		o := p.sent(p.costing(10, ask{event: fmt.Sprint("H-", p.id, "-", i), version: "1", to: i + 1}))[0]
		news = append(news, p.outcome(o, message.OutcomeAccepted, fmt.Sprint("h-", p.id, "-", i)))
	}
	return news
}

// testWalletHeld holds a wallet for longer than a lock is waited for. Nothing of its tenant is called a defect, all of it
// may be sent again, and the answers of another tenant that stand between its own are stored with the first try.
//
// covers: I10, I16
func testWalletHeld(t *testing.T, h Harness) {
	if h.Deadlocks == nil {
		return // one transaction writes at a time: nobody waits for a row
	}
	w := newWorld(t, h)
	locked, free := w.prepaid("locked", 1000), w.prepaid("free", 1000)
	unknown := locked.sent(locked.costing(10, ask{event: "HU", version: "1", to: 97}))[0]
	w.settle(w.outcome(unknown, message.OutcomeUnknown, ""))
	stuck, others := locked.answered(30), free.answered(30)
	cancelled := locked.taken(locked.costing(10, ask{event: "HC", version: "1", to: 98}))
	tx := locked.lockWallet(h)
	defer func() { _ = tx.Rollback() }()

	var mixed []store.News
	for i := range stuck {
		mixed = append(mixed, stuck[i], others[i])
	}
	for i, s := range w.settle(mixed...) {
		if want := i%2 == 0; want != (fault.CodeOf(s.Err) == fault.Unavailable) || !want && s.Err != nil {
			t.Fatalf("news %d of a held and a free wallet: %v", i, s.Err)
		}
	}
	free.has(1000-300, 0, 300)
	cancel := store.News{Evidence: evidence.Evidence{Kind: evidence.Cancel, Message: cancelled, Person: "ann", Reason: "late"}, Reference: -1, Tenant: &locked.id}
	if out := w.settle(cancel); fault.CodeOf(out[0].Err) != fault.Unavailable {
		t.Errorf("a wish under the lock: %v", out[0].Err)
	}
	receipt := locked.heldReceipt(unknown)

	must(t, tx.Rollback())
	for i, s := range w.settle(append(stuck, cancel, receipt)...) {
		if s.Err != nil {
			t.Errorf("news %d after the lock: %v", i, s.Err)
		}
	}
	w.state(unknown.Message, message.Delivered)
	w.state(cancelled, message.Cancelled)
	locked.has(1000-310, 0, 310)
	w.noDeadlock()
}

// heldReceipt brings a receipt that tells what became of an unknown attempt. It cannot be applied yet, and is stored all the
// same: it is in the log, and on the list of work.
func (p *purse) heldReceipt(o store.Opened) store.News {
	p.t.Helper()
	ctx := context.Background()
	r, n := p.call("held", o.Reference, "delivered", 97)
	out, err := p.SettleLogged(ctx, []*store.LoggedReceipt{r}, []store.News{n}, p.rules)
	must(p.t, err)
	if fault.CodeOf(out[0].Err) != fault.Unavailable {
		p.t.Errorf("a receipt under the lock: %v", out[0].Err)
	}
	due, err := p.DueReceipts(ctx, 10)
	must(p.t, err)
	if len(due) != 1 || due[0].ID != r.ID {
		p.t.Errorf("on the list of work are %+v", due)
	}
	return n
}
