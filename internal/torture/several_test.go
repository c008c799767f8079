//go:build services

package torture_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/torture/check"
)

// folders are those of several gateways. The first one makes the installation's keys.
var folders = []string{"node", "second", "third"}

// crowds bounds how many runs with several gateways go on side by side: they measure silence, which a machine that has too
// much to do makes by itself.
var crowds = make(chan struct{}, 3)

// crowd waits for a place for several gateways, until the test's end.
func (w *world) crowd() {
	crowds <- struct{}{}
	w.Cleanup(func() { <-crowds })
}

// several starts gateways that work at the same time, with a bind each and something more in the environment of the last.
func (w *world) several(n int, env ...string) []*process {
	w.Helper()
	w.crowd()
	w.binds, w.allowed, w.load.gates = n, n, map[string]gate{}
	var all []*process
	for i, folder := range folders[:n] {
		if i > 0 {
			w.copyKeys(folders[0], folder)
		}
		if i < n-1 {
			all = append(all, w.start(folder, ""))
		} else {
			all = append(all, w.startWith(folder, "", env...))
		}
	}
	return all
}

// leaveOut sends no more requests to a gateway that is gone.
func (l *load) leaveOut(folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.gates, folder)
}

// stopped reports whether a signal has stopped the process, until another lets it go on.
func (p *process) stopped() bool {
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)); err == nil {
		_, state, _ := strings.Cut(string(b), ") ") // behind the name
		return strings.HasPrefix(state, "T")
	}
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(p.cmd.Process.Pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "T")
}

// Many identical requests for each of many intents, spread over three gateways at the same moment: each intent is one
// message and one accept, and nobody is sent away.
//
// covers: D7, D8, I2, I3
func TestIdenticalRequestsSpreadOverNodes(t *testing.T) {
	t.Parallel()
	const requests, atATime = 100, 5
	w := newWorld(t, "postgres")
	nodes := w.several(3)
	intents := times(500)
	for from := 0; from < intents; from += atATime {
		var wg sync.WaitGroup
		for n := from; n < min(from+atATime, intents); n++ {
			wg.Go(func() { w.askAtOnce(n, requests) })
		}
		wg.Wait()
	}
	w.settleBy(func() string {
		if n := len(w.readLedger()); n < intents {
			return fmt.Sprintf("%d of %d lines in the ledger", n, intents)
		}
		return ""
	})
	for _, p := range nodes {
		w.stop(p)
	}
	h := w.read()
	accepts := slices.DeleteFunc(slices.Clone(h.Ledger), func(e simulator.Entry) bool { return e.Outcome != simulator.Accepted })
	if len(h.Messages) != intents || len(accepts) != intents {
		t.Errorf("%d intents became %d messages and %d accepts", intents, len(h.Messages), len(accepts))
	}
	for i, v := range check.I3OneAccept(h) {
		if t.Error(v); i == mostShown {
			break
		}
	}
}

// askAtOnce sends one intent's identical requests at the same moment. Every second intent has an idempotency key too.
func (w *world) askAtOnce(n, requests int) {
	ask := check.Ask{Event: fmt.Sprintf("E-%d", n), Purpose: "order_confirmation", To: fmt.Sprintf("+1%s55501%02d", areas[n/100%len(areas)], 20+n%80)}
	ask.Text = check.Mark(ask.Event) + " is confirmed."
	key := ""
	if n%2 == 0 {
		key = "key-" + ask.Event
	}
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		created int
		named   = map[ident.Message]bool{}
	)
	for range requests {
		wg.Go(func() {
			status, id := w.askUntilAnswered(&ask, key)
			mu.Lock()
			defer mu.Unlock()
			if named[id] = true; status == http.StatusCreated {
				created++
			}
		})
	}
	wg.Wait()
	// With an idempotency key a repeat gets the first answer again, word by word.
	if len(named) != 1 || key == "" && created != 1 || key != "" && created != requests {
		w.Errorf("%s: %d of %d identical requests were answered with 201, and %d messages named", ask.Event, created, requests, len(named))
	}
}

// askUntilAnswered repeats a request that is told that the same one is in progress, as it asks for.
func (w *world) askUntilAnswered(ask *check.Ask, key string) (int, ident.Message) {
	for end := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) {
		var a answer
		status := w.load.call(http.MethodPost, "/v1/messages", key, body(ask, false), &a)
		switch {
		case status == http.StatusOK, status == http.StatusCreated:
			return status, a.Message.ID
		case status == http.StatusConflict && key != "" && time.Now().Before(end):
		default:
			w.Errorf("a request for %s was answered with %d", ask.Event, status)
			return status, a.Message.ID
		}
	}
}

// pausePoints are where a gateway is stopped in the middle of a transaction, with locks.
var pausePoints = []chaos.Point{
	chaos.DecideInserted, chaos.ClaimWritten, chaos.AttemptWritten, chaos.OutcomeWritten, chaos.ReceiptApplied, chaos.FeedWritten,
	chaos.SlotsWritten,
	chaos.WireWritten, // and here with an answer that comes meanwhile
}

// How long nothing may be accepted when a gateway falls silent: for its lease, and what it takes the store to end a session
// that holds locks, or the others to look.
const (
	silenceAllowed = lease + 2*time.Second
	// silenceOfAStop is a stop in order: the others look twice a second, and bind. What is under way is answered first.
	silenceOfAStop = 1500 * time.Millisecond
)

// One of three gateways is stopped for longer than its leases, at any moment or in the middle of a transaction, and goes on
// later: the others go on within four seconds, no part is accepted twice, and what it learns late is merged.
//
// covers: I3, I5, I9, I16
func TestOneOfThreeIsPaused(t *testing.T) {
	t.Parallel()
	for _, point := range append([]chaos.Point{""}, pausePoints...) {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "postgres")
			w.load.endings = []string{"00", "02", "14"}
			var env []string
			if point != "" {
				env = append(env, fmt.Sprintf("EINMAL_PAUSE=%s:%d", point, passes[point]))
			}
			nodes := w.several(3, env...)
			last := nodes[2]
			over := make(chan struct{})
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				w.load.paced(most, rest, func() bool { return closed(over) })
			}()
			if point == "" {
				w.await("some messages to be sent", func() bool { return len(w.readLedger()) > 3*window })
				last.signal(syscall.SIGSTOP)
			}
			w.await("a gateway that stands still", last.stopped)
			from := time.Now()
			w.load.leaveOut(folders[2]) // as a load balancer does
			<-time.After(orphanIn + time.Second)
			last.signal(syscall.SIGCONT)
			w.faults = append(w.faults, check.Fault{From: clock.FromTime(from), To: clock.FromTime(time.Now())})
			<-time.After(lease)
			close(over)
			<-sent
			w.over = clock.FromTime(time.Now())
			w.noteSilence("one was stopped "+string(point), from, from.Add(orphanIn), silenceAllowed)
			w.load.repeat()
			w.settle()
			for _, p := range nodes {
				w.stop(p)
			}
			if h := w.check(); point == chaos.WireWritten && !settledAfterAll(h) {
				w.Error("no answer came after its attempt was called unknown: the pause was no test")
			}
		})
	}
}

// Two gateways share one bind, and the one that has it dies or is stopped, again and again: the other one goes on by the
// end of the lease, and at once after a stop in order.
//
// covers: I9, I16
func TestTheHolderOfTheOnlyBindGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "postgres")
	nodes := w.several(2)
	for _, p := range nodes {
		w.stop(p)
	}
	w.binds = 1
	nodes = []*process{w.start(folders[0], ""), w.start(folders[1], "")}
	over, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		w.load.endings = []string{"00"}
		w.load.paced(many, rest, func() bool { return closed(over) })
	}()
	for n := range max(times(40), 4) {
		holder, lines := n%2, len(w.readLedger())
		w.await("messages to be sent", func() bool { return len(w.readLedger()) > lines+window })
		w.load.leaveOut(folders[holder])
		at := time.Now()
		if n < 2 {
			w.stop(nodes[holder])
			w.await("messages from the other one", func() bool { return w.sentSince(clock.FromTime(time.Now())) })
			w.noteSilence("a stop in order", at, time.Now(), silenceOfAStop)
		} else {
			nodes[holder].signal(syscall.SIGKILL)
			nodes[holder].died(patience)
			w.killed(nodes[holder])
			w.await("messages from the other one", func() bool { return w.sentSince(nodes[holder].at) })
			w.noteSilence("the holder's death", at, time.Now(), silenceAllowed)
		}
		nodes[holder] = w.start(folders[holder], "")
	}
	close(over)
	<-sent
	w.over = clock.FromTime(time.Now())
	w.load.repeat()
	w.settle()
	for _, p := range nodes {
		w.stop(p)
	}
	w.check()
}

// sentSince reports whether something was accepted after a moment.
func (w *world) sentSince(at clock.Micros) bool {
	all := w.readLedger()
	return len(all) > 0 && clock.FromTime(all[len(all)-1].At) > at
}

// noteSilence looks for the longest time without an accept, and says how long it was.
func (w *world) noteSilence(what string, from, to time.Time, allowed time.Duration) {
	w.Helper()
	longest, before := time.Duration(0), from
	for _, e := range w.readLedger() {
		if e.Outcome != simulator.Accepted || e.At.Before(from) || e.At.After(to) {
			continue
		}
		longest, before = max(longest, e.At.Sub(before)), e.At
	}
	longest = max(longest, to.Sub(before))
	w.Logf("silence after %s: %s", what, longest.Round(time.Millisecond))
	if longest > allowed {
		w.Errorf("nothing was accepted for %s after %s, want at most %s", longest, what, allowed)
	}
}

// One node's wall clock is wrong by ten minutes: nothing comes out differently.
//
// covers: I18, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I13, I16
func TestOneWallClockIsWrong(t *testing.T) {
	t.Parallel()
	for _, offset := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		t.Run(offset.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "postgres")
			nodes := w.several(3, "EINMAL_NODE_CLOCK_OFFSET="+offset.String())
			w.load.nameless = true
			over, price := make(chan struct{}), w.priceBeginsBetween(offset)
			paid := w.pays(over)
			w.operator.beside(func() { w.load.until(120, func() bool { return false }) }, rest, allActs...)
			close(over)
			<-paid
			w.over = clock.FromTime(time.Now())
			w.operator.leave()
			w.load.repeat()
			w.load.remind(20)
			w.settle()
			for _, p := range nodes {
				w.stop(p)
			}
			for _, m := range w.check().Paid {
				if int64(m.Price) != price {
					w.Errorf("%s costs %d, and by the store's clock %d", m.Event, m.Price, price)
				}
			}
		})
	}
}

// priceBeginsBetween has a payer's price begin between the clock of the store and one that is off by so much, and returns
// the one that holds by the store's: it is the same for all nodes.
func (w *world) priceBeginsBetween(offset time.Duration) int64 {
	former, next := map[string]any{"prefix": "1", "micro_usd": 7500}, map[string]any{"prefix": "1", "micro_usd": 8100}
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	former["from"], next["from"] = at(-time.Hour), at(offset/2)
	w.prices = []any{former, next}
	if offset < 0 {
		return 8100
	}
	return 7500
}

// One of three gateways is killed at a random moment under load and started again, and then another, again and again.
//
// covers: D9, D18, D19, O6, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I13, I16
func TestKillsOfOneOfThree(t *testing.T) {
	t.Parallel()
	for n := range max(times(100)/killsAtOnce, 1) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "postgres")
			w.vary()
			nodes := w.several(3)
			over := make(chan struct{})
			paid := w.pays(over)
			go func() {
				defer close(over)
				for range killsAtOnce {
					w.sleepUpTo(3 * time.Second)
					i := w.chosen(len(nodes))
					at := time.Now()
					nodes[i].signal(syscall.SIGKILL)
					nodes[i].died(patience)
					w.killed(nodes[i])
					w.load.leaveOut(folders[i])
					<-time.After(lease + 2*time.Second)
					w.noteSilence("a kill", at, time.Now(), silenceAllowed)
					nodes[i] = w.start(folders[i], "")
				}
			}()
			w.operator.beside(func() {
				w.load.paced(many, spaced, func() bool { return closed(over) })
			}, rest, allActs...)
			<-over
			<-paid
			w.over = clock.FromTime(time.Now())
			w.operator.leave()
			w.load.repeat()
			w.load.remind(10)
			w.settle()
			for _, p := range nodes {
				w.stop(p)
			}
			w.check()
		})
	}
}

const (
	// many is more intents than a test of several gateways comes to.
	many = 4000
	// spaced is how long a client rests after each intent where faults go on for minutes: a number that is used again is one
	// more that a receipt may be about, and then a person cannot tell.
	spaced = time.Second
)

func (w *world) chosen(n int) int {
	w.load.mu.Lock()
	defer w.load.mu.Unlock()
	return w.load.rng.IntN(n)
}
