//go:build services

package torture_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
)

// worldOnServer is a world whose store is on a server of its own, with a line before it that can be led elsewhere.
func worldOnServer(t *testing.T, s *server) (*world, *line) {
	t.Helper()
	w := newWorldOn(t, onServer(s))
	l := newLine(w)
	w.opening()
	return w, l
}

// The server of the store is stopped as a crash would stop it, again and again, under the load of two gateways. They go on
// by themselves, and what was acknowledged is there.
//
// covers: I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I13, I16, I19
func TestTheServerCrashes(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w, _ := worldOnServer(t, s)
	w.vary()
	nodes := w.several(2)
	over := make(chan struct{})
	paid := w.pays(over)
	go func() {
		defer close(over)
		for range max(times(10), 2) {
			w.sleepUpTo(3 * time.Second)
			s.stop("immediate")
			w.sleepUpTo(time.Second)
			s.start()
			<-time.After(2 * time.Second) // some work is done in between
		}
	}()
	w.operator.beside(func() { w.load.paced(many, rest, func() bool { return closed(over) }) }, rest, allActs...)
	<-over
	<-paid
	w.over = clock.FromTime(time.Now())
	w.awaitStatus(http.StatusOK)
	w.operator.leave()
	w.load.repeat()
	w.load.remind(10)
	w.settle()
	for _, p := range nodes {
		w.stop(p)
	}
	w.check()
}

// An older copy of the store is put back under two gateways: neither takes or sends anything until it is released.
//
// covers: D20, I10, I19
func TestRestoresUnderTwoNodes(t *testing.T) {
	t.Parallel()
	for n := range times(10) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "postgres")
			w.besides()
			w.restoreUnderLoad(w.release)
		})
	}
}

// besides has another gateway work beside the one that a test is about.
func (w *world) besides() {
	w.Helper()
	w.crowd()
	w.binds = 2
	first := w.start(folders[0], "")
	w.copyKeys(folders[0], folders[1])
	w.stop(first)
	w.others = append(w.others, w.start(folders[1], ""))
}

// A standby that has everything takes over from a server that was stopped in order: the gateways go on by themselves.
//
// covers: D20, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I13, I16, I19
func TestFailoverToAStandbyThatFollows(t *testing.T) {
	t.Parallel()
	primary := newServer(t)
	w, way := worldOnServer(t, primary)
	standby := primary.standby()
	nodes := w.several(2)
	over := make(chan struct{})
	paid := w.pays(over)
	go func() {
		defer close(over)
		<-time.After(2 * time.Second)
		primary.stop("fast") // which waits for the standby
		standby.promote()
		way.lead(standby.address())
		<-time.After(4 * time.Second)
	}()
	w.operator.beside(func() { w.load.paced(many, rest, func() bool { return closed(over) }) }, rest, allActs...)
	<-over
	<-paid
	w.over = clock.FromTime(time.Now())
	w.awaitStatus(http.StatusOK) // nobody has released anything
	w.operator.leave()
	w.load.repeat()
	w.load.remind(10)
	w.settle()
	for _, p := range nodes {
		w.stop(p)
	}
	w.check()
}

// A standby takes over that has not heard everything: the gateways notice, and nothing leaves until the operator's word.
//
// covers: D20, I10, I19
func TestFailoverToAStandbyThatLags(t *testing.T) {
	t.Parallel()
	primary := newServer(t)
	w, way := worldOnServer(t, primary)
	standby := primary.standby()
	w.engine.copy = func(*world, *process) func() {
		primary.hasFollower(standby)
		standby.stop("fast") // what comes now it does not hear
		return func() {
			primary.stop("immediate")
			standby.start()
			standby.promote()
			way.lead(standby.address())
		}
	}
	w.besides()
	w.restoreUnderLoad(w.release)
}
