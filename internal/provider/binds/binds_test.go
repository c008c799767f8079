package binds_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/binds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line is a bind in the test's hands: it takes two submissions and answers none.
type line struct {
	mu       sync.Mutex
	free     int
	taken    []provider.Submission
	changed  chan struct{}
	started  bool
	stopping chan struct{}
	release  chan struct{} // its stop waits for it
}

func newLine() *line {
	l := &line{free: 2, changed: make(chan struct{}, 1), stopping: make(chan struct{}), release: make(chan struct{})}
	return l
}

func (l *line) Start(context.Context, provider.Sink) error { l.started = true; return nil }
func (l *line) Changed() <-chan struct{}                   { return l.changed }
func (l *line) Status() string                             { return "bound" }

func (l *line) Free() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.free
}

func (l *line) Submit(s provider.Submission, _ provider.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free--
	l.taken = append(l.taken, s)
}

func (l *line) Stop(ctx context.Context) error {
	close(l.stopping)
	select {
	case <-l.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exchange makes lines, and remembers the latest one of each number.
type exchange struct {
	lines map[int]*line
	made  int
}

func (x *exchange) open(n int) provider.Provider {
	x.lines[n] = newLine()
	x.made++
	return x.lines[n]
}

func started(t *testing.T) (*binds.Provider, *exchange) {
	t.Helper()
	x := &exchange{lines: map[int]*line{}}
	p := binds.New(x.open)
	if err := p.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, l := range x.lines {
			select {
			case <-l.release:
			default:
				close(l.release)
			}
		}
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, x
}

func hold(t *testing.T, p *binds.Provider, n int, until time.Time) {
	t.Helper()
	if err := p.Hold(n, until); err != nil {
		t.Fatal(err)
	}
}

func submission() provider.Submission {
	return provider.Submission{Deadline: time.Now().Add(time.Hour)}
}

func refuses(t *testing.T, p *binds.Provider) {
	t.Helper()
	got := make(chan provider.Outcome)
	p.Submit(submission(), func(o provider.Outcome) { got <- o })
	if o := <-got; o.Kind != provider.NotSent {
		t.Errorf("submitted without a bind: %v", o.Kind)
	}
}

// Submissions are spread: the freest bind takes the next one, and all of their windows are used.
func TestTheFreestBindTakesTheNext(t *testing.T) {
	p, x := started(t)
	if p.Free() != 0 || p.Status() != "without a bind" {
		t.Errorf("%d free, %s", p.Free(), p.Status())
	}
	refuses(t, p)
	later := time.Now().Add(time.Hour)
	hold(t, p, 0, later)
	hold(t, p, 3, later)
	if p.Free() != 4 || p.Status() != binds.Bound {
		t.Errorf("%d free, %s", p.Free(), p.Status())
	}
	for range 4 {
		p.Submit(submission(), nil)
	}
	if a, b := len(x.lines[0].taken), len(x.lines[3].taken); a != 2 || b != 2 || p.Free() != 0 {
		t.Errorf("one has %d, the other %d, %d are free", a, b, p.Free())
	}
	refuses(t, p)
}

// No first byte is written over a bind whose time is over, however long the submission itself may wait.
//
// covers: I9
func TestTheHoldBoundsTheDeadline(t *testing.T) {
	p, x := started(t)
	until := time.Now().Add(time.Minute)
	hold(t, p, 0, until)
	p.Submit(submission(), nil)
	p.Submit(provider.Submission{Deadline: until.Add(-time.Second)}, nil)
	if got := x.lines[0].taken; !got[0].Deadline.Equal(until) || !got[1].Deadline.Equal(until.Add(-time.Second)) {
		t.Errorf("deadlines %v and %v of a bind that is held until %v", got[0].Deadline, got[1].Deadline, until)
	}
}

// covers: I9
func TestABindWithoutTimeIsNotUsed(t *testing.T) {
	p, x := started(t)
	hold(t, p, 0, time.Now())
	if p.Free() != 0 {
		t.Errorf("%d are free", p.Free())
	}
	refuses(t, p)
	for len(p.Changed()) > 0 {
		<-p.Changed()
	}
	hold(t, p, 0, time.Now().Add(time.Hour))
	<-p.Changed()
	if p.Free() != 2 || x.made != 1 {
		t.Errorf("%d are free of %d binds that were opened", p.Free(), x.made)
	}
}

// One that leaves takes nothing more, is not held on to, and is gone once it has ended; then it may come back.
func TestABindLeavesInOrder(t *testing.T) {
	p, x := started(t)
	later := time.Now().Add(time.Hour)
	hold(t, p, 0, later)
	hold(t, p, 1, later)
	first, left := x.lines[0], make(chan error, 2)
	go func() { left <- p.Leave(t.Context(), 0) }()
	<-first.stopping
	go func() { left <- p.Leave(t.Context(), 0) }() // waits for the first
	hold(t, p, 0, later)
	p.Submit(submission(), nil)
	if p.Free() != 1 || len(first.taken) != 0 || len(left) != 0 {
		t.Errorf("%d are free, %d went over the bind that leaves", p.Free(), len(first.taken))
	}
	close(first.release)
	for range 2 {
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
	hold(t, p, 0, later)
	if x.lines[0] == first || !x.lines[0].started || p.Free() != 3 {
		t.Errorf("the bind did not come back; %d are free", p.Free())
	}
	if err := p.Leave(t.Context(), 7); err != nil {
		t.Errorf("a bind that is not there: %v", err)
	}
}

func TestABindThatDoesNotEndIsLeftWithTheContext(t *testing.T) {
	p, _ := started(t)
	hold(t, p, 0, time.Now().Add(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Leave(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if p.Status() != "without a bind" {
		t.Error(p.Status())
	}
}

func TestNothingIsHeldBeforeTheStartAndAfterTheStop(t *testing.T) {
	x := &exchange{lines: map[int]*line{}}
	p := binds.New(x.open)
	hold(t, p, 0, time.Now().Add(time.Hour))
	if p.Status() != "not started" || x.made != 0 {
		t.Errorf("%s, %d binds", p.Status(), x.made)
	}
	if err := errors.Join(p.Start(t.Context(), nil), p.Stop(t.Context())); err != nil {
		t.Error(err)
	}
	hold(t, p, 0, time.Now().Add(time.Hour))
	if p.Status() != "stopped" || x.made != 0 {
		t.Errorf("%s, %d binds", p.Status(), x.made)
	}
	if p.Start(t.Context(), nil) == nil {
		t.Error("it was started after its stop")
	}
}

// far is a line to nobody.
type far struct{ *line }

func (far) Unreachable() bool { return true }

// Nobody is reached if no bind reaches anybody; one that cannot tell may.
func TestUnreachableIsWhatNoBindReaches(t *testing.T) {
	x := &exchange{lines: map[int]*line{}}
	p := binds.New(func(n int) provider.Provider {
		if l := x.open(n).(*line); n == 9 {
			return l
		} else {
			return far{l}
		}
	})
	if err := p.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if p.Unreachable() {
		t.Error("without binds it is not known")
	}
	hold(t, p, 0, later)
	hold(t, p, 1, later)
	if !p.Unreachable() {
		t.Error("two binds reach nobody")
	}
	hold(t, p, 9, later)
	if p.Unreachable() {
		t.Error("one of three cannot tell")
	}
	for _, l := range x.lines {
		close(l.release)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
