package app

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/provider/simulator"
)

// drainExtra is how much longer than for an answer is waited until a line ends.
const drainExtra = 5 * time.Second

// startAgain is how long a line rests that could not be started.
const startAgain = 5 * time.Second

// keeper brings one connection of this node to what is wanted of it, one change after another: the line that runs is
// drained before the next one begins, so that a connection has one bind.
type keeper struct {
	app  *App
	wake chan struct{} // more is wanted

	mu      sync.Mutex
	want    *line // nil: nothing is to run
	working bool
	ended   bool
	failure error // of the ends of lines

	have     *line // what runs, or was tried
	runs     *running
	draining atomic.Bool
	centre   *simulator.Server // of the latest run; it goes on while the line is started again
	over     chan struct{}
	cut      context.Context // ends when nothing is waited for any more
	cancel   context.CancelFunc
}

func (a *App) newKeeper() *keeper {
	k := &keeper{app: a, wake: make(chan struct{}, 1), over: make(chan struct{})}
	k.cut, k.cancel = context.WithCancel(context.Background())
	return k
}

// set says what is to run. It does not wait for it.
func (k *keeper) set(want *line) {
	if want != nil && !want.enabled {
		want = nil
	}
	k.mu.Lock()
	k.want = want
	if !k.working && want != nil {
		k.working = true
		go k.work()
	}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// begin starts the first line at once, whose error is the caller's, and keeps it from then on.
func (k *keeper) begin(l *line) error {
	err := k.start(l)
	k.set(l)
	return err
}

func (k *keeper) work() {
	defer close(k.over)
	for {
		want, ended := k.wanted()
		switch {
		case want == nil && k.runs != nil && !ended && k.linger():
			continue // something else is wanted meanwhile
		case want != k.have:
			k.change(want)
			continue
		case ended:
			return
		case want != nil && want.trouble() != "":
			k.tryAgain(want)
			continue
		}
		<-k.wake
	}
}

// lingers is how long a line that was disabled goes on: whatever was decided for it until every node had heard of that
// leaves, and is not left to wait for a line that nobody may ever enable again.
const lingers = 2 * time.Second

// linger reports whether it was interrupted.
func (k *keeper) linger() bool {
	k.draining.Store(true)
	defer k.draining.Store(false)
	select {
	case <-k.wake:
		return true
	case <-time.After(lingers):
		return false
	}
}

// tryAgain waits, and starts a line that could not be started: a file that it needs may be there by now.
func (k *keeper) tryAgain(l *line) {
	select {
	case <-k.wake:
		return
	case <-time.After(startAgain):
	}
	before := l.trouble()
	switch err := k.start(l); {
	case err == nil:
		k.app.log.Info("a connection that could not be started runs", "connection", l.name)
	case err.Error() != before:
		k.app.cannotRun(l, err)
	}
}

func (k *keeper) wanted() (*line, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.want, k.ended
}

// change ends what runs and starts what is wanted.
func (k *keeper) change(want *line) {
	before := k.have
	k.drain()
	if k.centre != nil && (want == nil || !before.cfg.sameCentre(want.cfg)) {
		k.note(k.centre.Close())
		k.centre = nil
	}
	k.have = nil
	if want == nil {
		return
	}
	if err := k.start(want); err != nil {
		k.app.cannotRun(want, err)
	}
}

func (k *keeper) start(l *line) error {
	runs, err := k.app.start(context.WithoutCancel(k.cut), l, k.centre)
	k.have = l
	if runs != nil {
		k.centre = runs.centre
	}
	if err != nil {
		l.problem.Store(err.Error())
		return err
	}
	k.runs = runs
	l.run.Store(runs)
	l.problem.Store("")
	return nil
}

// drain waits for the answers to what was sent. Its line stays what it was for those who ask how it is.
func (k *keeper) drain() {
	if k.runs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(k.cut, time.Duration(k.have.cfg.ResponseTimeout)+drainExtra)
	defer cancel()
	k.draining.Store(true)
	defer k.draining.Store(false)
	err := k.runs.dispatch.Stop(ctx)
	if err != nil {
		k.app.log.Warn("a connection ended before all that was sent was answered; what was not is unknown", "connection", k.have.name, "error", err)
	}
	k.note(err)
	k.have.run.Store(nil)
	k.runs = nil
}

func (k *keeper) note(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failure = errors.Join(k.failure, err)
}

// end ends the line for good, and returns what went wrong with that one. When ctx ends first, what is unanswered by
// then is unknown.
func (k *keeper) end(ctx context.Context) error {
	k.mu.Lock()
	k.ended, k.failure = true, nil
	working := k.working
	k.mu.Unlock()
	if !working {
		k.cancel()
		return nil
	}
	stop := context.AfterFunc(ctx, k.cancel)
	defer stop()
	defer k.cancel()
	k.set(nil)
	<-k.over
	return k.failure
}
