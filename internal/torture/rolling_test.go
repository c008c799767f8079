//go:build services

package torture_test

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// Three gateways are stopped in order and started again, one after another, as an upgrade does: nobody notices. No answer
// is lost, so no outcome is unknown, and the others go on at once.
//
// covers: I1, I2, I3, I5, I6, I7, I8, I9, I13, I16
func TestOneAfterAnotherIsRestarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "postgres")
	w.load.endings = []string{"00", "00", "00", "01", "02", "03", "06", "09", "14"} // without those that lose an answer
	nodes := w.several(3)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range max(times(30), 3) {
			for i := range nodes {
				lines := len(w.readLedger())
				w.await("messages to be sent", func() bool { return len(w.readLedger()) > lines+window })
				w.load.leaveOut(folders[i]) // as a load balancer does that asks /readyz
				at := time.Now()
				w.stop(nodes[i])
				w.noteSilence("a stop of one of three", at, time.Now(), silenceOfAStop)
				nodes[i] = w.start(folders[i], "")
			}
		}
	}()
	w.operator.beside(func() { w.load.paced(many, rest, func() bool { return closed(over) }) }, rest, allActs...)
	<-over
	w.over = clock.FromTime(time.Now())
	w.operator.leave()
	w.load.repeat()
	w.load.remind(10)
	w.settle()
	for _, p := range nodes {
		w.stop(p)
	}
	for _, m := range w.check().Messages {
		if m.State == message.Unknown {
			t.Errorf("the outcome of %s is unknown, and nothing has failed", m.ID)
		}
	}
}
