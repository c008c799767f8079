package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// testWalletVerify spoils what is stored, one way at a time, and sees the proof find each.
//
// covers: I10
func testWalletVerify(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("proved", 1000)
	sent := p.sent(p.costing(100, ask{event: "V-1", version: "1", to: 1, parts: 2}))[0]
	p.settle(p.outcome(sent, message.OutcomeAccepted, "v1"))
	refused := p.sent(p.costing(100, ask{event: "V-2", version: "1", to: 1}))
	var news []store.News
	for _, o := range refused {
		news = append(news, p.outcome(o, message.OutcomeRejected, ""))
	}
	p.settle(news...)
	p.taken(p.costing(50, ask{event: "V-3", version: "1", to: 1}))
	if proof := p.proved(); proof.Messages != 3 || proof.Wallets != 1 || proof.Gone != 0 || proof.Differences != 0 || proof.At == 0 {
		t.Fatalf("%+v", proof)
	}
	db := p.h.Database(t, p.Store)
	run := func(statement string) {
		t.Helper()
		if strings.Contains(statement, "transfer") {
			statement += " and id > ''" // by the key: no test reads a table that grows from end to end
		}
		_, err := db.ExecContext(context.Background(), fmt.Sprintf(statement, p.id))
		must(t, err)
	}
	for name, spoil := range map[string]struct{ do, undo, says string }{
		"balance": {"wallet set balance = balance + 1 where tenant = %d", "wallet set balance = balance - 1 where tenant = %d", "the wallet's balance is 0.000901 USD"},
		"held":    {"wallet set held = held + 1 where tenant = %d", "wallet set held = held - 1 where tenant = %d", "the wallet's held is"},
		"spent":   {"wallet set spent = spent + 1 where tenant = %d", "wallet set spent = spent - 1 where tenant = %d", "the wallet's spent is"},
		"settled although waiting": {"transfer set state = 2 where tenant = %d and amount = 50", "transfer set state = 1 where tenant = %d and amount = 50",
			"is settled, and by the message's attempts it is held"},
		"released although accepted": {"transfer set state = 3, reference = 'x' where tenant = %d and kind = 1 and state = 2",
			"transfer set state = 2, reference = '' where tenant = %d and reference = 'x'", "is released, and by the message's attempts it is settled"},
		"another amount": {"transfer set amount = 51 where tenant = %d and amount = 50", "transfer set amount = 50 where tenant = %d and amount = 51",
			"and the message's price is 0.00005 USD"},
		"a charge too few":  {"transfer set attempt = 9 where tenant = %d and amount = 50", "transfer set attempt = 1 where tenant = %d and amount = 50", "has no charge"},
		"another's account": {"transfer set debit = 3 where tenant = %d and amount = 50", "transfer set debit = 1 where tenant = %d and amount = 50", "which cannot be"},
		"another's wallet":  {"wallet set tenant = tenant + 1000 where tenant = %d", "wallet set tenant = tenant - 1000 where tenant = %d + 1000", "and no wallet"},
	} {
		run("update " + spoil.do)
		if found := p.differences(); !strings.Contains(found, spoil.says) {
			t.Errorf("%s: no %q in %q", name, spoil.says, found)
		}
		run("update " + spoil.undo)
		if found := p.differences(); found != "" {
			t.Fatalf("%s: after it was mended there is %q", name, found)
		}
	}
	run("delete from message where id = (select id from transfer where tenant = %d and amount = 50 and id > '')")
	if found := p.differences(); !strings.Contains(found, "a charge is held for a message that does not exist") {
		t.Errorf("without its message: %q", found)
	}
}

// differences are what a proof finds.
func (w *world) differences() string {
	w.t.Helper()
	var all []string
	proof, err := w.VerifyWallets(context.Background(), func(d store.WalletDifference) {
		all = append(all, d.Detail)
		if d.Tenant == 0 && d.Message == (ident.Message{}) {
			w.t.Errorf("nobody's: %+v", d)
		}
	})
	must(w.t, err)
	if int(proof.Differences) != len(all) {
		w.t.Errorf("%d differences were told, and %d counted", len(all), proof.Differences)
	}
	return strings.Join(all, "\n")
}

// testWalletForget forgets what is over and paid, and keeps a message whose outcome nobody knows for as long as its money
// is held. The sums stay.
//
// covers: M4, I10
func testWalletForget(t *testing.T, h Harness) {
	p := newWorld(t, h).prepaid("old", 1000)
	paid := p.sent(p.costing(100, ask{purpose: "brief", event: "F-1", to: 1}))[0]
	p.settle(p.outcome(paid, message.OutcomeRejected, ""))
	unknown := p.sent(p.costing(100, ask{purpose: "brief", event: "F-2", to: 1}))[0]
	p.settle(p.outcome(unknown, message.OutcomeUnknown, ""))
	p.age(p.receiptTime(unknown.Message))
	p.close(unknown.Message)
	p.advance(4 * time.Second) // the windows
	if gone := p.forget(p.in(time.Hour)); gone != 1 {
		t.Errorf("%d messages went", gone)
	}
	p.has(1000, 100, 0)
	late := p.outcome(unknown, message.OutcomeAccepted, "f2")
	late.Late = true
	p.settle(late)
	if gone := p.forget(p.in(time.Hour)); gone != 1 {
		t.Errorf("once it is paid, %d went", gone)
	}
	p.has(900, 0, 100)
	if proof := p.proved(); proof.Gone != 2 || proof.Messages != 0 {
		t.Errorf("%+v", proof)
	}
}
