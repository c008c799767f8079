package torture_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
)

// passes bounds the pass at which a point ends the process. Points of a batch are passed less often than those of
// one message; a load that has ended before goes on until the point is passed.
var passes = map[chaos.Point]int{
	chaos.DecideInserted: 12, chaos.DecideCommitted: 12, chaos.AnswersWritten: 4, chaos.AnswersCommitted: 4,
	chaos.ClaimWritten: 12, chaos.ClaimCommitted: 12, chaos.AttemptWritten: 12, chaos.AttemptCommitted: 12, chaos.RestCommitted: 4,
	chaos.WireWritten: 30, chaos.WireRead: 24, chaos.OutcomeWritten: 16, chaos.OutcomeCommitted: 16,
	chaos.ReceiptWritten: 12, chaos.ReceiptStored: 12, chaos.ReceiptApplied: 20, chaos.FeedWritten: 12,
	chaos.SweepSelected: 1, chaos.SlotsWritten: 6, chaos.Shutdown: 1,
	chaos.ResolveWritten: 2, chaos.ResolveCommitted: 2, chaos.PolicyWritten: 3, chaos.PolicyCommitted: 3,
	chaos.StopWritten: 3, chaos.StopCommitted: 3, chaos.WalletSettled: 12,
	chaos.ReleaseWritten: 2, chaos.ReleaseCommitted: 2, chaos.DoubtWritten: 1,
}

// Every kill point, many times, on each store: whatever a gateway was doing when it was killed, the next one
// makes it good, and nothing that a client was told turns out to be false.
//
// covers: D6, D9, D18, D19, O6, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I13, I16
func TestKillPoints(t *testing.T) {
	for _, point := range chaos.Points() {
		for n := range times(20) {
			t.Run(fmt.Sprintf("%s/%d", point, n), func(t *testing.T) {
				onEveryStore(t, func(w *world) { w.killAt(point) })
			})
		}
	}
}

func (w *world) killAt(point chaos.Point) {
	switch point {
	case chaos.ReleaseWritten, chaos.ReleaseCommitted, chaos.DoubtWritten:
		w.restoreUnderLoad(func(p *process) *process { return w.killRelease(p, point) })
		return
	case chaos.WebhookClaimed, chaos.WebhookPosted:
		w.telling = true
		w.killTelling(point, nil, 10)
		return
	}
	w.vary()
	w.lean(point)
	intents := 20 + w.load.rng.IntN(20)
	switch point {
	case chaos.SweepSelected:
		w.killSweep(intents)
	case chaos.Shutdown:
		w.killShutdown(intents)
	case chaos.ResolveWritten, chaos.ResolveCommitted:
		w.killOperator(point, (*operator).resolve)
	case chaos.PolicyWritten, chaos.PolicyCommitted:
		w.killOperator(point, (*operator).applyPolicy)
	case chaos.StopWritten, chaos.StopCommitted:
		w.killOperator(point, (*operator).stopOrLift)
	case chaos.WalletSettled:
		w.killPayer(intents)
	default:
		w.killUnderLoad(point, intents)
	}
	w.finish(intents)
}

// lean has more in the load of what a point is about.
func (w *world) lean(point chaos.Point) {
	switch point {
	case chaos.DecideInserted, chaos.DecideCommitted, chaos.AnswersWritten, chaos.AnswersCommitted:
		w.load.nameless = true
	case chaos.RestCommitted: // the first part is often unknown until its receipt says more
		// Each part that is answered with a cut keeps everything from the connection for more than a second.
		w.load.long, w.load.endings = true, []string{
			"00", "00", "00", "00", "00", "00", "00", "00", "00", "03", "03", "03", "04", "04", "04", "04", "04", "04", "05", "05", "09", "09", "12",
		}
	case chaos.ResolveWritten, chaos.ResolveCommitted:
		w.load.endings = []string{"00", "04", "08", "08", "11"}
	}
}

// finish starts a gateway that nothing happens to, sends what is left, and checks.
func (w *world) finish(intents int) {
	w.Helper()
	last := w.start("node", "")
	w.over = clock.FromTime(time.Now()) // the store's clock is this machine's
	w.operator.leave()
	w.load.repeat()
	w.load.remind(10)
	w.load.until(intents, last.over)
	w.settle()
	w.stop(last)
	w.check()
}

// most is how many intents are sent at most while a kill is waited for; rest is how long each client then rests
// after each, so that the gateway has no more waiting than it can send.
const (
	most = 600
	rest = 150 * time.Millisecond
)

// killUnderLoad has a gateway killed at a point of its ordinary work.
func (w *world) killUnderLoad(point chaos.Point, intents int) {
	w.Helper()
	p := w.start("node", fmt.Sprintf("%s:%d", point, 1+w.load.rng.IntN(passes[point])))
	w.operator.beside(func() {
		w.load.until(intents, p.over)
		w.load.paced(most, rest, p.over)
	}, rest, allActs...)
	p.died(orphanIn)
	w.killed(p)
}

// killOperator has a gateway killed in the middle of what an operator does. The policy that a node brings is one of
// these too: then it dies at its start.
func (w *world) killOperator(point chaos.Point, does act) {
	w.Helper()
	p := w.start("node", fmt.Sprintf("%s:%d", point, 1+w.load.rng.IntN(passes[point])))
	w.operator.beside(func() { w.load.paced(most, rest, p.over) }, rest, does)
	p.died(orphanIn)
	w.killed(p)
}

// killPayer has a gateway killed while it settles what a prepaid tenant pays, beside the ordinary load.
func (w *world) killPayer(intents int) {
	w.Helper()
	w.echo = true // what the payer's receipts are about is always known
	first := w.start("node", "")
	w.payer = openPayer(w)
	w.stop(first)
	p := w.start("node", fmt.Sprintf("%s:%d", chaos.WalletSettled, 1+w.load.rng.IntN(passes[chaos.WalletSettled])))
	spent := make(chan struct{})
	go func() {
		defer close(spent)
		w.payer.spend(p.over)
	}()
	w.load.until(intents/2, p.over)
	<-spent
	p.died(orphanIn)
	w.killed(p)
}

// killSweep has a gateway killed that finds what another one left behind. First one is killed with messages in
// hand: claimed, which are due again when the claim's lease is over, or with an attempt open, which are called
// unknown when nobody can wait for its answer any more; others wait until they are of no use any more. Whatever the
// sweep of the second one finds first is its end.
func (w *world) killSweep(intents int) {
	w.Helper()
	first := []chaos.Point{chaos.ClaimCommitted, chaos.AttemptCommitted}[w.load.rng.IntN(2)]
	w.killUnderLoad(first, intents/2)
	p := w.start("node", string(chaos.SweepSelected)+":1")
	w.load.until(intents, p.over)
	p.died(2 * orphanIn)
	w.killed(p)
}

// killRelease has whoever releases a restored store killed: the gateway that was asked to, or the command that works on
// the store itself. Whatever was begun is ended by the next gateway; what was not is asked for again.
func (w *world) killRelease(p *process, point chaos.Point) *process {
	w.Helper()
	w.stop(p)
	kill := fmt.Sprintf("%s:%d", point, 1+w.load.rng.IntN(passes[point]))
	if w.load.rng.IntN(2) == 0 {
		p = w.start("node", kill)
		launch(w.T, "the release", []string{"EINMAL_KEY=" + w.load.key}, "restored", "--reason", "torture", "--url", w.load.url)
	} else {
		p = launch(w.T, "the release "+kill, []string{"EINMAL_KILL=" + kill}, "restored", "--offline",
			"--config", filepath.Join(w.dir, "node.yaml"), "--by", "torture", "--reason", "torture")
	}
	p.died(patience)
	w.killed(p)
	p = w.start("node", "")
	again := launch(w.T, "the release again", []string{"EINMAL_KEY=" + w.load.key}, "restored", "--reason", "torture", "--url", w.load.url)
	<-again.ended // it is refused where the first one has ended by itself meanwhile
	w.awaitStatus(http.StatusOK)
	return p
}

// killShutdown has a gateway killed that was told to stop while requests come in.
func (w *world) killShutdown(intents int) {
	w.Helper()
	p := w.start("node", string(chaos.Shutdown)+":1")
	told := make(chan struct{})
	after := time.Duration(w.load.rng.IntN(500)) * time.Millisecond
	go func() {
		defer close(told)
		<-time.After(after)
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}()
	w.load.paced(most, rest, p.over)
	<-told
	p.died(patience)
	w.killed(p)
}
