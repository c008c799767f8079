package torture_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/torture/check"
)

// An older copy of the store is put back while clients send: after the gateway was killed or stopped, or, on a
// server, while it works. The gateway takes and sends nothing until it is released; what the copy held as not
// finished is not sent again, and everything else is as if nothing had happened.
//
// covers: D20, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I13, I19
func TestRestoresOfAnOlderCopy(t *testing.T) {
	for n := range times(10) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onEveryStore(t, func(w *world) { w.restoreUnderLoad(w.release) })
		})
	}
}

// restoreUnderLoad has a copy put back and released.
func (w *world) restoreUnderLoad(release func(p *process) *process) {
	w.load.endings = readable
	p := w.start("node", "")
	w.load.until(20+w.load.rng.IntN(20), p.over)
	sent, enough := make(chan struct{}), make(chan struct{})
	w.payerEndings = unreported
	paid := w.pays(enough)
	go func() {
		defer close(sent)
		w.load.paced(most, rest, func() bool { return p.over() || closed(enough) })
	}()
	w.sleepUpTo(1500 * time.Millisecond)
	gap, putBack := w.copyWithWork(p)
	lines := len(w.readLedger())
	w.await("messages to be sent after the copy", func() bool { return len(w.readLedger()) > lines+window })
	w.sleepUpTo(1500 * time.Millisecond)
	p = w.jump(p, putBack)
	<-time.After(answerIn) // what was under way is over
	gap.Back = clock.FromTime(time.Now())
	w.restores = append(w.restores, gap)
	close(enough)
	<-sent
	<-paid
	w.staysHeld()
	p = release(p)
	w.over = clock.FromTime(time.Now())
	w.load.repeat()
	w.load.until(w.load.wished()+20, p.over)
	w.payer.spend(w.payer.enoughOf(w.payer.n + len(unreported)))
	w.settleAfter(gap.Back)
	for _, other := range w.others {
		w.stop(other)
	}
	p.stop()
	w.checkRestored()
}

// copyWithWork takes a copy while the message centre hangs and messages wait for it, so that some of the copy leave
// after it was taken.
func (w *world) copyWithWork(p *process) (gap check.Restore, putBack func()) {
	w.Helper()
	hangs := check.Fault{From: clock.FromTime(time.Now())}
	w.centre.signal(syscall.SIGSTOP)
	w.load.until(w.load.wished()+2*window, p.over)
	gap.Copied = clock.FromTime(time.Now()) // the store's clock is this machine's
	putBack = w.engine.copy(w, p)
	w.centre.signal(syscall.SIGCONT)
	hangs.To = clock.FromTime(time.Now())
	w.faults = append(w.faults, hangs)
	return gap, putBack
}

// readable are the endings without the one whose receipts name no message: nothing tells which of those were lost.
var readable = slices.DeleteFunc(slices.Clone(endings), func(e string) bool { return e == "11" })

// unreported are a payer's endings without the one that is reported: of a message that the store has forgotten nothing tells
// whose receipt comes. One is without an answer, so that what is held of it is there as well.
var unreported = slices.DeleteFunc(slices.Clone(payerEndings), func(e string) bool { return e == "03" })

// jump puts the copy back in one of the ways in which that happens, and returns the gateway that runs then.
func (w *world) jump(p *process, putBack func()) *process {
	w.Helper()
	ways := []string{"killed", "stopped", "at work"}
	if !w.engine.shared {
		ways = ways[:2]
	}
	way := ways[w.load.rng.IntN(len(ways))]
	w.Logf("the copy is put back while the gateway is %s", way)
	switch way {
	case "killed":
		p.signal(syscall.SIGKILL)
		p.died(patience)
	case "stopped":
		p.stop()
	default:
		putBack()
		w.awaitStatus(http.StatusServiceUnavailable)
		return p
	}
	putBack()
	p = w.start("node", "")
	w.awaitStatus(http.StatusServiceUnavailable)
	return p
}

func (w *world) sleepUpTo(d time.Duration) {
	w.load.mu.Lock()
	n := w.load.rng.Int64N(int64(d))
	w.load.mu.Unlock()
	<-time.After(time.Duration(n))
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// awaitStatus waits until the gateway says whether it is ready.
func (w *world) awaitStatus(want int) {
	w.Helper()
	w.await(fmt.Sprintf("the gateway to answer with %d", want), func() bool {
		return w.load.call(http.MethodGet, "/readyz", "", nil, nil) == want
	})
}

// staysHeld checks that nothing is taken or sent while the store is held.
func (w *world) staysHeld() {
	w.Helper()
	before := len(w.readLedger())
	late := w.load.next()
	if status := w.load.call(http.MethodPost, "/v1/messages", "", body(&late.Ask, false), nil); status != http.StatusServiceUnavailable {
		w.Errorf("I19: a request was answered with %d while the store is held", status)
	}
	<-time.After(lease)
	if now := len(w.readLedger()); now != before {
		w.Errorf("I19: %d messages left while the store is held", now-before)
	}
}

// release runs the command, against the gateway or, after that was stopped, on the store itself, and returns the
// gateway that runs then.
func (w *world) release(p *process) *process {
	w.Helper()
	if w.load.rng.IntN(2) == 0 {
		w.run("restored", "--reason", "torture", "--url", w.load.url)
	} else {
		p.stop()
		w.run("restored", "--offline", "--config", filepath.Join(w.dir, "node.yaml"), "--by", "torture", "--reason", "torture")
		p = w.start("node", "")
	}
	w.awaitStatus(http.StatusOK)
	return p
}

// run runs a command to its end, which has to be a good one.
func (w *world) run(args ...string) {
	w.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "EINMAL_KEY="+w.load.key)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		w.Fatalf("einmal %s: %v\n%s", strings.Join(args, " "), err, &out)
	}
}

// settleAfter waits until nothing is pending or being sent, and what was sent since is known.
func (w *world) settleAfter(back clock.Micros) {
	w.Helper()
	w.settleBy(func() string {
		if missing := w.payer.owed(); missing != "" {
			return missing
		}
		return w.owedOf(slices.DeleteFunc(w.readLedger(), func(e simulator.Entry) bool { return clock.FromTime(e.At) <= back }))
	})
}

// checkRestored holds what clients know, the store and the ledger against each other, with what the restore explains.
func (w *world) checkRestored() {
	w.Helper()
	h := w.read()
	doubted, sent := h.Doubted()
	w.Logf("%d messages of the copy were not finished, %d of them were sent after it was taken", doubted, sent)
	if sent == 0 {
		w.Error("nothing that the copy held as not finished had been sent: the restore was no test")
	}
	for _, v := range check.I19NothingAgain(h) {
		w.Error("I19: " + v)
	}
	w.compare(h.Rest())
}

// copySQLite takes a copy of the embedded store while a gateway writes to it: with the engine's own means, or of the
// files as they are at one moment, as a snapshot of the disk has them.
func copySQLite(w *world, p *process) func() {
	w.Helper()
	store, backup := filepath.Join(w.dir, "node", "einmal.db"), filepath.Join(w.TempDir(), "einmal.db")
	if w.load.rng.IntN(2) == 0 {
		db, err := sql.Open("sqlite", store)
		must(w, err)
		_, err = db.Exec("vacuum into ?", backup)
		must(w, errors.Join(err, db.Close()))
	} else {
		p.signal(syscall.SIGSTOP)
		for _, suffix := range []string{"", "-wal"} {
			copyFile(w, store+suffix, backup+suffix)
		}
		p.signal(syscall.SIGCONT)
	}
	return func() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(store + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				w.Fatal(err)
			}
		}
		for _, suffix := range []string{"", "-wal"} {
			if _, err := os.Stat(backup + suffix); err == nil {
				copyFile(w, backup+suffix, store+suffix)
			}
		}
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, b, 0o600))
}
