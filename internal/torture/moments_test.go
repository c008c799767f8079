package torture_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/torture/check"
)

// seldom is how long a client rests after an intent where gateways die again and again: each waits for the bind
// slot of the one before it, up to a lease, and sends nothing meanwhile.
const seldom = 400 * time.Millisecond

// killsAtOnce is how many random kills one store goes through; other stores have theirs at the same time.
const killsAtOnce = 10

// A gateway is killed at random moments under load, again and again, and the store is the same all the time.
//
// covers: D9, D18, D19, O6, I1, I2, I3, I4, I5, I6, I7, I8, I9, I11, I13, I16
func TestKillsAtRandomMoments(t *testing.T) {
	for n := range times(300) / killsAtOnce {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onEveryStore(t, func(w *world) {
				w.vary()
				for range killsAtOnce {
					w.killAnytime()
				}
				w.finish(0)
			})
		})
	}
}

// killAnytime has a gateway killed at some moment of its first seconds.
func (w *world) killAnytime() {
	p := w.start("node", "")
	after := time.Duration(200+w.load.rng.IntN(4000)) * time.Millisecond
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		<-time.After(after)
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
	}()
	w.operator.beside(func() {
		w.load.repeat()
		if w.load.rng.IntN(killsAtOnce) == 0 {
			w.load.pursue(w.load.storm())
		}
		w.load.remind(2)
		w.load.paced(w.load.wished()+most, seldom, p.over)
	}, rest, allActs...)
	<-dead
	p.died(patience)
	w.killed(p)
}

// A gateway is stopped for longer than its leases, and goes on as if nothing had happened: answers that came
// meanwhile are taken in, late, and nothing is sent a second time. On a store that nodes share another one has
// taken over meanwhile, and has called unknown what the first one had in hand.
//
// covers: D9, O6, I3, I5, I7, I9
func TestPausedGateway(t *testing.T) {
	onEveryStore(t, func(w *world) {
		w.load.endings = []string{"00", "02", "14"} // all of them are answered: late, if at all
		first := w.start("node", "")
		nodes, sent := []*process{first}, make(chan struct{})
		go func() {
			defer close(sent)
			w.load.paced(pausedIntents, rest, first.over)
		}()
		w.await("some messages to be sent", func() bool { return len(w.readLedger()) > window })
		paused := clock.FromTime(time.Now())
		w.centre.signal(syscall.SIGSTOP)
		more := make(chan struct{})
		go func() { // at once: the first of them is not waited for as long as a busy machine takes for a window
			defer close(more)
			w.load.until(w.load.wished()+3*window, first.over)
		}()
		// Not all of the window: a part of it is kept for codes, and a long message may fill several places.
		w.await("messages without an answer", func() bool { return w.load.count(message.Sending) >= window/2 })
		first.signal(syscall.SIGSTOP)
		w.centre.signal(syscall.SIGCONT)
		resumed := time.After(orphanIn + time.Second)
		if w.engine.shared {
			w.copyKeys("node", "other")
			nodes = append(nodes, w.start("other", ""))
		}
		<-resumed
		first.signal(syscall.SIGCONT)
		w.faults = append(w.faults, check.Fault{From: paused, To: clock.FromTime(time.Now())})
		<-sent
		<-more
		w.load.repeat()
		w.settle()
		for _, p := range nodes {
			w.stop(p)
		}
		if h := w.check(); w.engine.shared && !settledAfterAll(h) {
			w.Error("no answer came after its attempt was called unknown: the pause was no test")
		}
	})
}

// A message centre hangs for longer than answers are waited for, and then gives them all: each is taken in, late, and
// in the end nothing is unknown.
//
// covers: D9, I5, I7, I9
func TestPausedMessageCentre(t *testing.T) {
	onEveryStore(t, func(w *world) {
		w.load.endings = []string{"00", "02", "14"}
		gateway := w.start("node", "")
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			w.load.paced(pausedIntents/2, rest, gateway.over)
		}()
		w.await("some messages to be sent", func() bool { return len(w.readLedger()) > window })
		w.centre.signal(syscall.SIGSTOP)
		w.await("an answer to be missed", func() bool { return w.load.count(message.Unknown) > 0 })
		w.centre.signal(syscall.SIGCONT)
		<-sent
		w.await("the late answers", func() bool { return w.load.count(message.Unknown) == 0 })
		w.settle()
		w.stop(gateway)
		w.check()
	})
}

// pausedIntents is how many intents a gateway gets that is stopped meanwhile.
const pausedIntents = 160

// await polls until the condition holds.
func (w *world) await(what string, holds func() bool) {
	w.Helper()
	for end := time.Now().Add(patience); !holds(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("waited in vain for %s", what)
		}
	}
}

// settledAfterAll reports whether an attempt that was called unknown got its definite answer later.
func settledAfterAll(h *check.History) bool {
	return slices.ContainsFunc(h.Messages, func(m *check.Message) bool {
		orphan := slices.IndexFunc(m.Events, func(e evidence.Event) bool { return e.Kind == evidence.EventOrphaned })
		return orphan >= 0 && m.State != message.Unknown && len(m.Events) > orphan+1
	})
}

// copyKeys gives another node the installation's keys.
func (w *world) copyKeys(from, to string) {
	w.Helper()
	must(w, os.MkdirAll(filepath.Join(w.dir, to, "keys"), 0o700))
	for _, name := range []string{"admin.key", "keys/identity.key", "keys/sealing.key"} {
		b, err := os.ReadFile(filepath.Join(w.dir, from, name))
		must(w, err)
		must(w, os.WriteFile(filepath.Join(w.dir, to, name), b, 0o600))
	}
}
