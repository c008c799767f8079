package torture_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// seldom is how long a client rests after an intent where gateways die again and again: each waits for the bind
// slot of the one before it, up to a lease, and sends nothing meanwhile.
const seldom = 400 * time.Millisecond

// A gateway is killed at random moments under load, again and again, and the store is the same all the time.
//
// covers: D9, O6, I1, I2, I3, I4, I5, I6, I7, I8, I9, I11, I13, I16
func TestKillsAtRandomMoments(t *testing.T) {
	onEveryStore(t, func(w *world) {
		for range times(100) {
			p := w.start("node", "")
			after := time.Duration(200+w.load.rng.IntN(6000)) * time.Millisecond
			dead := make(chan struct{})
			go func() {
				defer close(dead)
				<-time.After(after)
				_ = p.cmd.Process.Signal(syscall.SIGKILL)
			}()
			w.load.repeat()
			w.load.paced(w.load.count()+most, seldom, p.over)
			<-dead
			p.died(patience)
			w.faults++
		}
		w.finish(0)
	})
}

// A gateway is stopped for longer than its leases, and goes on as if nothing had happened: answers that came
// meanwhile are taken in, late, and nothing is sent a second time. On a store that nodes share another one has
// taken over meanwhile, and has called unknown what the first one had in hand.
//
// covers: D9, O6, I3, I5, I7, I9
func TestPausedGateway(t *testing.T) {
	onEveryStore(t, func(w *world) {
		const intents = 120
		first := w.start("node", "")
		stopped, resumed := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(resumed)
			<-time.After(300 * time.Millisecond)
			_ = first.cmd.Process.Signal(syscall.SIGSTOP)
			close(stopped)
			<-time.After(orphanIn + time.Second)
			_ = first.cmd.Process.Signal(syscall.SIGCONT)
		}()
		nodes := []*process{first}
		if w.engine.shared {
			w.load.until(most, func() bool { return closed(stopped) })
			w.copyKeys("node", "other")
			nodes = append(nodes, w.start("other", ""))
			w.load.until(w.load.count()+intents, first.over)
		}
		w.load.until(intents, first.over)
		<-resumed
		w.faults++
		w.load.repeat()
		w.settle()
		for _, p := range nodes {
			p.stop()
		}
		w.check()
	})
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// copyKeys gives another node the installation's keys.
func (w *world) copyKeys(from, to string) {
	w.Helper()
	must(w, os.MkdirAll(filepath.Join(w.dir, to, "keys"), 0o700))
	for _, name := range []string{"admin.key", "keys/identity.key", "keys/sealing.key"} {
		b, err := os.ReadFile(filepath.Join(w.dir, from, name))
		must(w, err)
		must(w, os.WriteFile(filepath.Join(w.dir, to, name), b, fs.FileMode(0o600)))
	}
}
