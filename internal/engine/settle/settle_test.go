package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a store that tells what it is to settle and goes on when it is let through.
type gate struct {
	begun  chan []store.News
	pass   chan error
	logged []*store.LoggedReceipt // of the last transaction that stored some
}

func (g *gate) Settle(_ context.Context, news []store.News, _ store.Rules) ([]store.Settled, error) {
	g.begun <- news
	if err := <-g.pass; err != nil {
		return nil, err
	}
	settled := make([]store.Settled, len(news))
	for i, n := range news {
		settled[i].Message = n.Message
	}
	return settled, nil
}

func (g *gate) SettleLogged(ctx context.Context, logged []*store.LoggedReceipt, news []store.News, rules store.Rules) ([]store.Settled, error) {
	g.logged = logged
	return g.Settle(ctx, news, rules)
}

// start begins a settlement and waits until it stands in the queue, behind so many others.
func start(q *Queue, behind int, ctx context.Context, news ...store.News) chan error {
	return startLogged(q, behind, ctx, nil, news...)
}

// startLogged is start for news of which some are not stored yet.
func startLogged(q *Queue, behind int, ctx context.Context, logged []*store.LoggedReceipt, news ...store.News) chan error {
	done := make(chan error, 1)
	go func() {
		settle := q.Settle
		if logged != nil {
			settle = func(ctx context.Context, news []store.News, rules store.Rules) ([]store.Settled, error) {
				return q.SettleLogged(ctx, logged, news, rules)
			}
		}
		settled, err := settle(ctx, news, store.Rules{})
		for i := range settled {
			if settled[i].Message != news[i].Message {
				err = fmt.Errorf("the result of another: %v", settled[i])
			}
		}
		done <- err
	}()
	for {
		q.mu.Lock()
		n := len(q.waiting)
		q.mu.Unlock()
		if n > behind {
			return done
		}
	}
}

// busy is a queue whose transaction is under way.
func busy(t *testing.T) (*gate, *Queue) {
	t.Helper()
	g := &gate{begun: make(chan []store.News), pass: make(chan error)}
	q := New(g, store.Rules{})
	go func() { _, _ = q.Settle(context.Background(), []store.News{outcome()}, store.Rules{}) }()
	<-g.begun
	return g, q
}

func outcome() store.News {
	return store.News{Evidence: evidence.Evidence{Kind: evidence.Outcome, Message: ident.NewMessage(1)}}
}

func receipt() store.News {
	return store.News{Evidence: evidence.Evidence{Kind: evidence.Receipt, Message: ident.NewMessage(1), Receipt: &evidence.ReceiptFacts{ID: ident.NewReceipt(0)}}}
}

// What comes while a transaction is under way makes the next one: answers before receipts, each with its own result.
func TestNewsOfAllFlowsGoTogether(t *testing.T) {
	g, q := busy(t)
	r, o, other := receipt(), outcome(), outcome()
	results := []chan error{start(q, 0, t.Context(), r), start(q, 1, t.Context(), o, other)}
	g.pass <- nil
	got := <-g.begun
	if len(got) != 3 || got[0].Message != o.Message || got[1].Message != other.Message || got[2].Message != r.Message {
		t.Errorf("together went %+v", got)
	}
	g.pass <- nil
	for _, done := range results {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	q.Close()
}

// The error of a transaction is everybody's in it, and nobody else's.
func TestAnErrorIsEverybodys(t *testing.T) {
	g, q := busy(t)
	a, b := start(q, 0, t.Context(), outcome()), start(q, 1, t.Context(), receipt())
	g.pass <- nil
	<-g.begun
	away := errors.New("away")
	g.pass <- away
	if err := errors.Join(<-a, <-b); !errors.Is(err, away) {
		t.Error(err)
	}
	c := start(q, -1, t.Context(), outcome())
	<-g.begun
	g.pass <- nil
	if err := <-c; err != nil {
		t.Error(err)
	}
	q.Close()
}

// A transaction has a bound, and a flow that brings more than that at once is not cut.
func TestTransactionsAreBounded(t *testing.T) {
	g, q := busy(t)
	many := slices.Repeat([]store.News{outcome()}, full-1)
	results := []chan error{start(q, 0, t.Context(), many...), start(q, 1, t.Context(), outcome()), start(q, 2, t.Context(), outcome()), start(q, 3, t.Context(), append(many, many...)...)}
	for _, want := range []int{full, 1, 2*full - 2} {
		g.pass <- nil
		if got := <-g.begun; len(got) != want {
			t.Errorf("%d went together, want %d", len(got), want)
		}
	}
	g.pass <- nil
	for _, done := range results {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	q.Close()
}

// The same receipt, brought by two, has two transactions: the second sees what the first has done.
//
// covers: R6
func TestOneReceiptIsNotSettledTwiceAtOnce(t *testing.T) {
	g, q := busy(t)
	r := receipt()
	a, b := start(q, 0, t.Context(), r), start(q, 1, t.Context(), r)
	for range 2 {
		g.pass <- nil
		if got := <-g.begun; len(got) != 1 {
			t.Errorf("%d went together", len(got))
		}
	}
	g.pass <- nil
	if err := errors.Join(<-a, <-b); err != nil {
		t.Error(err)
	}
	q.Close()
}

// Who goes away takes back what waits, and waits for what has begun. After the end nothing is taken.
func TestGoingAway(t *testing.T) {
	g, q := busy(t)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := start(q, 0, ctx, outcome())
	cancel()
	if err := <-waiting; fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("taken back: %v", err)
	}
	g.pass <- nil
	ctx, cancel = context.WithCancel(t.Context())
	begun := start(q, -1, ctx, outcome())
	<-g.begun
	cancel()
	g.pass <- nil
	if err := <-begun; err != nil {
		t.Errorf("begun: %v", err)
	}
	q.Close()
	if _, err := q.Settle(t.Context(), []store.News{outcome()}, store.Rules{}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("after the end: %v", err)
	}
	if got, err := q.Settle(t.Context(), nil, store.Rules{}); got != nil || err != nil {
		t.Errorf("nothing to settle: %v %v", got, err)
	}
}

// Receipts are stored in the transaction in which they are settled, with the answers that came at the same moment.
// What breaks it is found by leaving each part to itself.
//
// covers: R1
func TestReceiptsAreStoredWithTheirEffect(t *testing.T) {
	g, q := busy(t)
	r, o := receipt(), outcome()
	stored := &store.LoggedReceipt{ID: r.Receipt.ID}
	inbound := &store.LoggedReceipt{ID: ident.NewReceipt(0)}
	results := []chan error{startLogged(q, 0, t.Context(), []*store.LoggedReceipt{stored}, r), start(q, 1, t.Context(), o), startLogged(q, 2, t.Context(), []*store.LoggedReceipt{inbound})}
	g.pass <- nil
	if got := <-g.begun; len(got) != 2 || got[0].Message != o.Message || len(g.logged) != 2 {
		t.Errorf("together went %+v and %d receipts", got, len(g.logged))
	}
	broken := errors.New("broken")
	g.pass <- broken
	for _, want := range []int{1, 1, 0} { // the answer, the receipt, and what has no effect
		if got := <-g.begun; len(got) != want {
			t.Errorf("%d went alone", len(got))
		}
		if want == 0 {
			g.pass <- broken
		} else {
			g.pass <- nil
		}
	}
	for i, done := range results {
		if err := <-done; (i == 2) != errors.Is(err, broken) {
			t.Errorf("part %d: %v", i, err)
		}
	}
	q.Close()
}
