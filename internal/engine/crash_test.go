package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// A node dies with messages at every stage, again and again, and the next one goes on: every message ends, none
// is taken twice by the message centre, and none is called unsent that was taken.
//
// covers: I3, I4, I5, I6, I7, O6
func TestNodesThatDie(t *testing.T) {
	const nodes, each = 5, 60
	g := openGateway(t, settings{
		echo: true, window: 20, answer: 200 * time.Millisecond, grace: time.Minute, every: 20 * time.Millisecond, lease: 300 * time.Millisecond,
	})
	var all []string
	var subs []store.Submission
	for n := range nodes {
		ctx, die := context.WithCancel(context.Background())
		stop := g.startNode(ctx)
		for i := range each {
			all = append(all, fmt.Sprintf("C-%d-%d", n, i))
			subs = append(subs, g.submission(all[len(all)-1], number("00")))
		}
		ids := g.send(subs[n*each:]...)
		g.await("a node to be in the midst of it", func() bool { return g.message(ids[n*7]).State != message.Pending })
		die()
		stop()
	}
	t.Cleanup(g.startNode(context.Background()))
	taken := map[string]int{}
	for _, s := range subs {
		var m *store.Message
		g.await("every message to end", func() bool {
			m = g.message(s.Message)
			return m.State == message.Delivered || m.State == message.Unknown
		})
	}
	ledger, err := simulator.ReadLedger(g.ledger)
	must(t, err)
	for _, l := range ledger {
		taken[string(l.ShortMessage)]++
	}
	unknown := 0
	for i, s := range subs {
		n, state := taken["Hello "+all[i]], g.message(s.Message).State
		if n > 1 || state == message.Delivered && n != 1 {
			t.Errorf("%s is %s and was taken %d times", all[i], state, n)
		}
		if state == message.Unknown {
			unknown++
		}
		g.events(s.Message) // their numbers are dense
	}
	if most := nodes * g.set.window; unknown > most {
		t.Errorf("%d messages are unknown; no more than %d attempts were open", unknown, most)
	}
	t.Logf("%d of %d are unknown, the message centre has %d", unknown, len(subs), len(ledger))
}
