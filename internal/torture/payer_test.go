package torture_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/torture/check"
)

// payer is a prepaid tenant beside the load. It sends to numbers of its own, so that its lines of the ledger are known.
type payer struct {
	w   *world
	key string
	n   int
}

// payerArea is the area code of a payer's numbers, which no other number has.
const payerArea = "956"

// Endings of a payer's messages: taken without a receipt, rejected, throttled and then taken, without an answer.
var payerEndings = []string{"14", "14", "02", "03", "05"}

// openPayer makes the tenant, with money and prices, on a gateway that nothing happens to.
func openPayer(w *world) *payer {
	w.Helper()
	p := &payer{w: w}
	ask := func(method, path string, body, out any) {
		w.Helper()
		if status := w.load.call(method, path, "", body, out); status >= http.StatusMultipleChoices || status == 0 {
			w.Fatalf("%s %s was answered with %d", method, path, status)
		}
	}
	var made struct{ Key string }
	ask(http.MethodPost, "/v1/tenants", map[string]any{"name": "payer"}, nil)
	ask(http.MethodPost, "/v1/tenants/payer/keys", map[string]any{"name": "payer", "scopes": []string{"send", "read"}}, &made)
	ask(http.MethodPut, "/v1/prices", map[string]any{"data": w.prices}, nil)
	ask(http.MethodPost, "/v1/tenants/payer/topups", map[string]any{"amount_micro_usd": 1_000_000_000, "reference": "all", "reason": "torture"}, nil)
	p.key = made.Key
	return p
}

// pays has a prepaid tenant send beside the load until it is over, where receipts always say what they are about. What it
// returns is closed when the tenant has ended.
func (w *world) pays(over <-chan struct{}) <-chan struct{} {
	w.Helper()
	ended := make(chan struct{})
	if !w.echo {
		close(ended)
		return ended
	}
	w.payer = openPayer(w)
	ask := body(&check.Ask{Event: "E-price", Purpose: "alert", To: "+1" + payerArea + "5550114", Text: "What does it cost?"}, false)
	ask["dry_run"] = true
	inARow := 0
	w.await("every node to know the price", func() bool { // each question goes to one of them, as chance has it
		var got struct{ Decision struct{ Action string } }
		w.load.callAs(w.payer.key, http.MethodPost, "/v1/messages", "", ask, &got)
		if inARow++; got.Decision.Action != "allow" {
			inARow = 0
		}
		return inARow > 20
	})
	go func() {
		defer close(ended)
		w.payer.spend(func() bool {
			<-time.After(seldom) // each fifth of its messages is throttled, and a connection that is asked for less goes slower
			return closed(over)
		})
	}()
	return ended
}

// spend sends one message after another until done. What has no answer was taken or not: the store says.
func (p *payer) spend(done func() bool) {
	for ; p.n < most && !done(); p.n++ {
		event, ending := fmt.Sprintf("E-paid-%d", p.n), p.w.payerEndings[p.n%len(p.w.payerEndings)]
		ask := check.Ask{Event: event, Purpose: "alert", To: "+1" + payerArea + "55501" + ending, Text: check.Mark(event) + " is paid for."}
		status := p.w.load.callAs(p.key, http.MethodPost, "/v1/messages", "", body(&ask, false), nil)
		if status != http.StatusCreated && status != 0 && status < http.StatusInternalServerError {
			p.w.Errorf("%s was answered with %d", event, status)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// enoughOf ends a payer's spending at so many messages.
func (p *payer) enoughOf(n int) func() bool { return func() bool { return p.n >= n } }

// owed is what is not known yet of its messages; "": nothing.
func (p *payer) owed() string {
	var page struct {
		Data []struct{ ID, State, To string }
	}
	if p.w.load.callAs(p.key, http.MethodGet, "/v1/messages?limit=200", "", nil, &page) != http.StatusOK {
		return "an answer to what a payer's messages are"
	}
	for _, m := range page.Data {
		reported := m.State != message.Accepted.String() || !strings.HasSuffix(m.To, "03")
		if m.State == message.Pending.String() || m.State == message.Sending.String() || !reported {
			return "the end of the payer's " + m.ID + ", which is " + m.State
		}
	}
	return ""
}

// split tells a payer's lines of the ledger from the others.
func split(all []simulator.Entry) (own, paid []simulator.Entry) {
	for _, e := range all {
		if strings.HasPrefix(strings.TrimPrefix(e.Destination, "+"), "1"+payerArea) {
			paid = append(paid, e)
		} else {
			own = append(own, e)
		}
	}
	return own, paid
}

// readPaid reads what the payer's messages were charged, and whether wallets, transfers and messages fit.
func (w *world) readPaid(h *check.History, s store.Store) {
	w.Helper()
	ctx := context.Background()
	_, err := s.VerifyWallets(ctx, func(d store.WalletDifference) { h.Money = append(h.Money, d) })
	must(w, err)
	if w.payer == nil {
		return
	}
	all, err := simulator.ReadLedger(w.ledger)
	must(w, err)
	_, h.PaidLedger = split(all)
	t, err := s.TenantByName(ctx, "payer")
	must(w, err)
	for page := (store.Page{Limit: 200}); ; {
		charged, err := s.Charged(ctx, t.ID, page)
		must(w, err)
		for _, c := range charged {
			m, err := s.Message(ctx, t.ID, c.Message)
			must(w, err)
			h.Paid = append(h.Paid, check.Paid{Event: m.Event.ID, ChargedMessage: c})
			page.At, page.ID = clock.Micros(c.At), c.Message
		}
		if len(charged) < page.Limit {
			break
		}
	}
	if len(h.Paid) == 0 || len(h.PaidLedger) == 0 {
		w.Error("nothing was paid for: the test proves nothing")
	}
}
