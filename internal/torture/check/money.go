package check

import (
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// Paid is a message of a prepaid tenant with its charges. Its texts are of one part.
type Paid struct {
	Event string
	store.ChargedMessage
}

// I10MoneyFits checks that wallets are the sum of their transfers and that charges are where their messages are, as the
// store's own proof says, and holds the charges against the ledger: what the message centre took is settled, or held where
// nobody knows, and what is settled was taken. What a store has forgotten altogether that was put back is nobody's to pay;
// what it remembers of that time is held, until somebody knows.
func I10MoneyFits(h *History) []string {
	var f findings
	for _, d := range h.Money {
		f.add("tenant %d, message %s: %s", d.Tenant, d.Message, d.Detail)
	}
	taken, remembered := map[string]int{}, map[string]bool{}
	for i := range h.PaidLedger {
		if e := &h.PaidLedger[i]; e.Outcome == simulator.Accepted {
			event, _ := Named(e)
			taken[event]++
			remembered[event] = remembered[event] || !h.forgotten(clock.FromTime(e.At))
		}
	}
	for _, p := range h.Paid {
		in := map[wallet.State]int{}
		for _, c := range p.Charges {
			in[c.State]++
		}
		n := taken[p.Event]
		delete(taken, p.Event)
		if n > in[wallet.Settled]+in[wallet.Held] {
			f.add("%s was taken %d times, and %d of its charges are settled and %d held", p.Event, n, in[wallet.Settled], in[wallet.Held])
		}
		if in[wallet.Settled] > n {
			f.add("%s was taken %d times, and %d of its charges are settled", p.Event, n, in[wallet.Settled])
		}
		if in[wallet.Settled]+in[wallet.Held] > 1 {
			f.add("%s is paid more than once: %v", p.Event, in)
		}
	}
	for event := range taken {
		if !remembered[event] {
			continue
		}
		f.add("%s was sent, and nobody is charged for it", event)
	}
	return f
}
