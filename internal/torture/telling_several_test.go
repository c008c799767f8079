//go:build services

package torture_test

import (
	"syscall"
	"testing"
	"time"
)

// Three gateways tell an endpoint that fails half the time, and one of them is killed at a random moment and started again,
// and then another: what the dead one had in hand the others tell once its lease has ended, and nothing is lost.
//
// covers: I12, I18
func TestSeveralTellTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "postgres")
	w.telling = true
	w.crowd()
	w.binds, w.allowed, w.load.gates = len(folders), len(folders), map[string]gate{}
	nodes := make([]*process, len(folders))
	for i, folder := range folders {
		if i > 0 {
			w.copyKeys(folders[0], folder)
		}
		nodes[i] = w.startWith(folder, "", haste)
	}
	l := w.listen()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range times(50) {
			w.sleepUpTo(2 * time.Second)
			i := w.chosen(len(nodes))
			nodes[i].signal(syscall.SIGKILL)
			nodes[i].died(patience)
			w.killed(nodes[i])
			w.load.leaveOut(folders[i])
			nodes[i] = w.startWith(folders[i], "", haste)
		}
	}()
	w.load.paced(many, spaced, func() bool { return closed(over) })
	<-over
	w.toldBy(l, nodes...)
}
