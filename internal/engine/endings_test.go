package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// end is how a message ends.
type end struct {
	state    message.State
	accepts  int
	attempts int
	pair     bool // one exception that pairs the receipt with the attempt
	final    bool
}

// endings are those of the simulator's table that this path has.
var endings = map[string]struct{ echoed, without end }{
	"00": {end{message.Delivered, 1, 1, false, true}, end{message.Delivered, 1, 1, false, true}},
	"01": {end{message.Undelivered, 1, 1, false, true}, end{message.Undelivered, 1, 1, false, true}},
	"02": {end{message.Rejected, 0, 1, false, true}, end{message.Rejected, 0, 1, false, true}},
	"03": {end{message.Delivered, 1, 2, false, true}, end{message.Delivered, 1, 2, false, true}},
	"04": {end{message.Delivered, 1, 1, false, true}, end{message.Unknown, 1, 1, true, false}},
	"05": {end{message.Unknown, 0, 1, false, false}, end{message.Unknown, 0, 1, false, false}},
	"09": {end{message.Delivered, 1, 1, false, true}, end{message.Delivered, 1, 1, false, true}},
	"12": {end{message.Delivered, 1, 1, false, true}, end{message.Unknown, 1, 1, true, false}},
	"13": {end{message.Unknown, 0, 1, false, false}, end{message.Unknown, 0, 1, false, false}},
	"14": {end{message.Accepted, 1, 1, false, false}, end{message.Accepted, 1, 1, false, false}},
}

// Each ending of the simulator, with and without an echo of our reference. The endings that cut the connection
// come on gateways of their own: what is under way beside them may become unknown too, and rightly.
//
// covers: D9, D16, R1, R2, R4, R5, R6, R9, R15
func TestEndings(t *testing.T) {
	for _, echo := range []bool{true, false} {
		for _, group := range [][]string{{"00", "01", "02", "03", "04", "05", "09", "14"}, {"12"}, {"13"}} {
			name := map[bool]string{true: "echoed", false: "without an echo"}[echo]
			t.Run(name+" "+group[0], func(t *testing.T) { runEndings(t, echo, group) })
		}
	}
}

func runEndings(t *testing.T, echo bool, group []string) {
	g := startGateway(t, settings{echo: echo, window: 20, answer: 300 * time.Millisecond, grace: 600 * time.Millisecond, every: 20 * time.Millisecond})
	ids := map[string]ident.Message{}
	var subs []store.Submission
	for _, e := range group {
		subs = append(subs, g.submission("E-"+e, number(e)))
	}
	for i, id := range g.send(subs...) {
		ids[group[i]] = id
	}
	for e, id := range ids {
		want := endings[e].echoed
		if !echo {
			want = endings[e].without
		}
		g.await("ending "+e+" to be "+want.state.String(), func() bool {
			m := g.message(id)
			return m.State == want.state && m.LastAttempt() == want.attempts && (!want.pair || len(g.pairs(id)) > 0)
		})
		g.checkEnding(e, id, want)
	}
}

func (g *gateway) checkEnding(e string, id ident.Message, want end) {
	g.Helper()
	m := g.message(id)
	if m.Final != want.final {
		g.Errorf("ending %s: final is %t, want %t", e, m.Final, want.final)
	}
	if n := g.accepts(number(e)); n != want.accepts {
		g.Errorf("ending %s: the message centre took it %d times, want %d", e, n, want.accepts)
	}
	if n := len(g.pairs(id)); n > 1 || (n == 1) != want.pair {
		g.Errorf("ending %s: %d exceptions pair a receipt with it", e, n)
	}
	g.Logf("ending %s: %v", e, g.events(id))
}

// accepts counts what the message centre took for a number.
func (g *gateway) accepts(to string) int {
	g.Helper()
	ledger, err := simulator.ReadLedger(g.ledger)
	must(g, err)
	n := 0
	for _, l := range ledger {
		if "+"+l.Destination == to && l.Outcome == simulator.Accepted {
			n++
		}
	}
	return n
}

// pairs are the exceptions that name the message beside a receipt whose answer was lost.
func (g *gateway) pairs(id ident.Message) (pairs []*store.ExceptionView) {
	g.Helper()
	all, err := g.store.Exceptions(context.Background(), g.tenant, store.ExceptionFilter{About: id}, store.Page{Limit: 10})
	must(g, err)
	for _, x := range all {
		if x.Kind == exception.LostAnswer && !x.Receipt.IsZero() {
			pairs = append(pairs, x)
		}
	}
	return pairs
}
