// Package settle brings what the flows of a node have learned to the store together: outcomes of submissions,
// receipts, ends of times. An answer and its receipt often come within the same moment, and both change the same
// rows; in two transactions one waits for the other's commit, in one they cost little more than either alone. For
// the same reason one transaction is under way at a time: what comes meanwhile makes the next one.
package settle

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// full is how much news is settled in one transaction; a flow that brings more at once gets it settled at once.
const full = 256

// errClosed says that a flow settles news after the end, which is a defect; nothing is lost by it, since what is
// not settled is found again.
var errClosed = errors.New("settle: the queue is closed")

// Store is the part of the store that is needed.
type Store interface {
	store.Settler
	SettleLogged(ctx context.Context, logged []*store.LoggedReceipt, news []store.News, rules store.Rules) ([]store.Settled, error)
}

// Queue gathers the news of flows. It is itself a store.Settler, and is put between the flows and the store.
type Queue struct {
	store Store
	rules store.Rules

	mu      sync.Mutex
	more    sync.Cond
	waiting []*part
	closed  bool
	done    sync.WaitGroup
}

var _ store.Settler = (*Queue)(nil)

// part is what one flow brings.
type part struct {
	logged  []*store.LoggedReceipt // to be appended to the log in the same transaction
	news    []store.News
	settled []store.Settled
	err     error
	done    chan struct{}
}

// New returns a queue that works until it is closed. Every part is settled by these rules.
func New(s Store, rules store.Rules) *Queue {
	q := &Queue{store: s, rules: rules}
	q.more.L = &q.mu
	q.done.Go(q.write)
	return q
}

// Settle implements store.Settler. The rules are the queue's. A caller whose context ends while its part waits takes
// it back; once a transaction has begun its result is waited for.
func (q *Queue) Settle(ctx context.Context, news []store.News, _ store.Rules) ([]store.Settled, error) {
	if len(news) == 0 {
		return nil, nil
	}
	return q.wait(ctx, &part{news: news, done: make(chan struct{})})
}

// SettleLogged has receipts stored and settled in one transaction, with whatever else is settled in it. After an error
// they are not stored. The rules are the queue's.
func (q *Queue) SettleLogged(ctx context.Context, logged []*store.LoggedReceipt, news []store.News, _ store.Rules) ([]store.Settled, error) {
	return q.wait(ctx, &part{logged: logged, news: news, done: make(chan struct{})})
}

func (q *Queue) wait(ctx context.Context, p *part) ([]store.Settled, error) {
	if !q.put(p) {
		return nil, fault.Wrap(errClosed, fault.Unavailable, "this node is shutting down; nothing was changed")
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if q.takeBack(p) {
			return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "nothing was changed")
		}
		<-p.done
	}
	return p.settled, p.err
}

func (q *Queue) put(p *part) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, p)
	q.more.Signal()
	return true
}

func (q *Queue) takeBack(p *part) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, p)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// Close settles what waits and returns. Flows must have ended.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.more.Signal()
	q.done.Wait()
}

func (q *Queue) write() {
	for {
		parts := q.take()
		if len(parts) == 0 {
			return
		}
		q.settle(parts)
	}
}

// take waits for news and takes what fits into a transaction. It returns nothing after the end.
func (q *Queue) take() (taken []*part) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.more.Wait()
	}
	fits := transaction{receipts: map[ident.Receipt]bool{}}
	n := 0
	for n < len(q.waiting) && fits.add(q.waiting[n]) {
		n++
	}
	taken = slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return taken
}

// transaction is what goes together.
type transaction struct {
	parts    int
	news     int
	receipts map[ident.Receipt]bool
}

// add takes one more part, if it fits. The same receipt may be brought by two: by who was handed it, and by who
// found it on the list of work. The second has to see what the first has done.
func (t *transaction) add(p *part) bool {
	if t.parts > 0 && t.news+len(p.news) > full {
		return false
	}
	for _, n := range p.news {
		if n.Kind == evidence.Receipt && t.receipts[n.Receipt.ID] {
			return false
		}
	}
	for _, n := range p.news {
		if n.Kind == evidence.Receipt {
			t.receipts[n.Receipt.ID] = true
		}
	}
	t.parts++
	t.news += len(p.news)
	return true
}

// settle runs one transaction. Answers go before receipts: an answer brings the message id by which a receipt
// finds its attempt.
func (q *Queue) settle(parts []*part) {
	slices.SortStableFunc(parts, func(a, b *part) int { return rank(a) - rank(b) })
	var logged []*store.LoggedReceipt
	var all []store.News
	for _, p := range parts {
		logged, all = append(logged, p.logged...), append(all, p.news...)
	}
	settled, err := q.run(logged, all)
	if err != nil && len(logged) > 0 && len(parts) > 1 {
		q.apart(parts)
		return
	}
	for _, p := range parts {
		if p.err = err; err == nil {
			p.settled, settled = settled[:len(p.news):len(p.news)], settled[len(p.news):]
		}
		close(p.done)
	}
}

// run is not bound to anybody's context: a transaction is several callers'.
func (q *Queue) run(logged []*store.LoggedReceipt, news []store.News) ([]store.Settled, error) {
	if len(logged) > 0 {
		return q.store.SettleLogged(context.Background(), logged, news, q.rules)
	}
	return q.store.Settle(context.Background(), news, q.rules)
}

// apart settles parts one by one, where one that brought new receipts may have kept the others from being settled:
// nothing is halved then.
func (q *Queue) apart(parts []*part) {
	for _, p := range parts {
		p.settled, p.err = q.run(p.logged, p.news)
		close(p.done)
	}
}

func rank(p *part) int {
	if len(p.logged) > 0 || p.news[0].Kind == evidence.Receipt {
		return 1
	}
	return 0
}
