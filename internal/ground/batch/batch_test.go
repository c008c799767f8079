package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a run function that reports each batch and goes on when it is let through.
type gate struct {
	begun chan []int
	pass  chan error
}

func newGate() *gate { return &gate{begun: make(chan []int), pass: make(chan error)} }

func (g *gate) run(batch []int) ([]int, error) {
	g.begun <- slices.Clone(batch)
	return batch, <-g.pass
}

// start puts items in the queue from goroutines of their own, each behind the one before.
func start(q *Queue[int, int], tenant uint16, items ...int) *sync.WaitGroup {
	var wg sync.WaitGroup
	for _, n := range items {
		before := q.Waiting()
		wg.Go(func() { _, _ = q.Do(context.Background(), tenant, n) })
		await(q, before+1)
	}
	return &wg
}

func await(q *Queue[int, int], n int) {
	for q.Waiting() != n {
		runtime.Gosched()
	}
}

func numbers(from, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = from + i
	}
	return all
}

func TestABatchIsWhatArrivedMeanwhile(t *testing.T) {
	g := newGate()
	q := New(Config{Max: 3}, g.run)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = q.Do(context.Background(), 1, 0) })
	if first := <-g.begun; !slices.Equal(first, []int{0}) {
		t.Fatalf("the first item waited for company: %v", first)
	}
	behind := start(q, 1, 1, 2, 3, 4)
	g.pass <- nil
	for _, want := range [][]int{{1, 2, 3}, {4}} {
		if got := <-g.begun; !slices.Equal(got, want) {
			t.Errorf("batch %v, want %v", got, want)
		}
		g.pass <- nil
	}
	wg.Wait()
	behind.Wait()
	q.Close()
}

// With a flood waiting, the neighbours' items are in the next batch.
//
// covers: D19, I20
func TestTenantsTakeTurns(t *testing.T) {
	g := newGate()
	q := New(Config{Max: 8}, g.run)
	first := start0(q)
	<-g.begun
	flood := start(q, 1, numbers(100, 300)...)
	second, third := start(q, 2, 2000, 2001), start(q, 3, 3000)
	g.pass <- nil
	want := []int{100, 2000, 3000, 101, 2001, 102, 103, 104}
	if got := <-g.begun; !slices.Equal(got, want) {
		t.Errorf("batch %v, want %v", got, want)
	}
	go drain(g)
	for _, wg := range []*sync.WaitGroup{first, flood, second, third} {
		wg.Wait()
	}
	q.Close()
	close(g.begun)
}

// start0 puts one item in and does not wait for it to be seen waiting: a writer takes it at once.
func start0(q *Queue[int, int]) *sync.WaitGroup {
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = q.Do(context.Background(), 9, 0) })
	return &wg
}

// drain lets everything through until begun is closed.
func drain(g *gate) {
	g.pass <- nil
	for range g.begun {
		g.pass <- nil
	}
}

// Whoever waits for an item's place before it puts in the next one has them in this order. An item that gets no place
// says so too, or its successor would wait for ever.
func TestItemsInOrder(t *testing.T) {
	g := newGate()
	q := New(Config{Depth: 50}, g.run)
	first := start0(q)
	<-g.begun
	var wg sync.WaitGroup
	for i := range 52 { // two are too many
		entered := make(chan struct{})
		wg.Go(func() {
			_, err := q.DoInOrder(context.Background(), 1, i, func() { close(entered) })
			if errors.Is(err, ErrFull) != (i >= 50) {
				t.Errorf("item %d: %v", i, err)
			}
		})
		<-entered
	}
	g.pass <- nil
	if got := <-g.begun; !slices.Equal(got, numbers(0, 50)) {
		t.Errorf("the batch is %v", got)
	}
	g.pass <- nil
	first.Wait()
	wg.Wait()
	q.Close()
}

func TestFullIsSaidAtOnce(t *testing.T) {
	g := newGate()
	q := New(Config{Depth: 2}, g.run)
	first := start0(q)
	<-g.begun
	waiting := start(q, 1, 1, 2)
	if _, err := q.Do(context.Background(), 2, 3); !errors.Is(err, ErrFull) {
		t.Errorf("a third waiting item: %v", err)
	}
	go drain(g)
	first.Wait()
	waiting.Wait()
	q.Close()
	close(g.begun)
}

func TestACallerThatGoesAwayTakesItsItemOut(t *testing.T) {
	g := newGate()
	q := New(Config{}, g.run)
	first := start0(q)
	<-g.begun
	before := start(q, 1, 1)
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() {
		_, err := q.Do(ctx, 1, 2)
		gone <- err
	}()
	await(q, 2)
	after := start(q, 1, 3)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	g.pass <- nil
	if got := <-g.begun; !slices.Equal(got, []int{1, 3}) {
		t.Errorf("batch %v", got)
	}
	g.pass <- nil
	for _, wg := range []*sync.WaitGroup{first, before, after} {
		wg.Wait()
	}
	q.Close()
}

func TestACallerWhoseBatchHasBegunGetsItsResult(t *testing.T) {
	g := newGate()
	q := New(Config{}, g.run)
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error)
	go func() {
		n, err := q.Do(ctx, 1, 7)
		if n != 7 {
			err = fmt.Errorf("result %d: %w", n, err)
		}
		got <- err
	}()
	<-g.begun
	cancel()
	select {
	case err := <-got:
		t.Errorf("it left a batch that is under way: %v", err)
	case g.pass <- nil:
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	if _, err := q.Do(ctx, 1, 8); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that had ended: %v", err)
	}
	q.Close()
}

func TestAnErrorIsEveryItems(t *testing.T) {
	g := newGate()
	q := New(Config{}, g.run)
	first := start0(q)
	<-g.begun
	errs := make(chan error)
	for n := range 2 {
		go func() {
			_, err := q.Do(context.Background(), 1, n)
			errs <- err
		}()
	}
	await(q, 2)
	g.pass <- nil
	<-g.begun
	broken := errors.New("broken")
	g.pass <- broken
	for range 2 {
		if err := <-errs; !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	first.Wait()
	q.Close()
}

func TestTooFewResultsAreADefect(t *testing.T) {
	q := New(Config{}, func([]int) ([]int, error) { return nil, nil })
	if _, err := q.Do(context.Background(), 1, 1); err == nil {
		t.Error("an item without a result has no error")
	}
	q.Close()
}

func TestCloseFinishesWhatWaits(t *testing.T) {
	g := newGate()
	q := New(Config{Max: 1}, g.run)
	first := start0(q)
	<-g.begun
	waiting := start(q, 1, 1, 2)
	closed := make(chan struct{})
	go func() { q.Close(); close(closed) }()
	for {
		q.mu.Lock()
		refuses := q.closed
		q.mu.Unlock()
		if refuses {
			break
		}
		runtime.Gosched()
	}
	if _, err := q.Do(context.Background(), 1, 3); !errors.Is(err, ErrClosed) {
		t.Errorf("a new item: %v", err)
	}
	for _, want := range []int{1, 2} {
		g.pass <- nil
		if got := <-g.begun; !slices.Equal(got, []int{want}) {
			t.Errorf("batch %v, want %d", got, want)
		}
	}
	select {
	case <-closed:
		t.Error("closed while a batch was under way")
	case g.pass <- nil:
	}
	<-closed
	first.Wait()
	waiting.Wait()
}

// Every item is run once and gets its own result, whoever gives up meanwhile.
func TestManyCallersManyWriters(t *testing.T) {
	var ran atomic.Int64
	q := New(Config{Max: 16, Writers: 4, Depth: 200}, func(batch []int) ([]int, error) {
		ran.Add(int64(len(batch)))
		runtime.Gosched()
		return batch, nil
	})
	var wg sync.WaitGroup
	var served atomic.Int64
	for c := range 64 {
		wg.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithCancel(context.Background())
				if i%7 == 0 {
					go cancel()
				}
				n, err := q.Do(ctx, uint16(c%5), c*1000+i)
				cancel()
				if err == nil && n != c*1000+i {
					t.Errorf("caller %d got the result of %d", c, n)
				}
				if err == nil {
					served.Add(1)
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	q.Close()
	if ran.Load() != served.Load() {
		t.Errorf("%d were run, %d were told so", ran.Load(), served.Load())
	}
}

func BenchmarkDo(b *testing.B) {
	q := New(Config{}, func(batch []int) ([]int, error) { return batch, nil })
	b.ReportAllocs()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := q.Do(context.Background(), 1, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	q.Close()
}

// A line that empties before its turn takes nobody else's.
func TestTurnsAfterALineHasEmptied(t *testing.T) {
	l := lines[int, int]{byTenant: map[uint16]*line[int, int]{}}
	put := func(tenant uint16, n int) *item[int, int] {
		it := &item[int, int]{value: n}
		l.push(tenant, it)
		return it
	}
	put(1, 10)
	gone := put(1, 11)
	put(2, 20)
	put(2, 21)
	put(3, 30)
	got := []int{l.pop().value, l.pop().value}
	l.remove(1, gone)
	for l.waiting > 0 {
		got = append(got, l.pop().value)
	}
	if want := []int{10, 20, 30, 21}; !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
}
