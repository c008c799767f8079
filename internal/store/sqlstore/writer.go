package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// writer runs a function in a write transaction and commits it. The error of a commit that may have happened
// comes as the driver gave it: Classify calls it Lost.
type writer interface {
	write(ctx context.Context, s *Store, fn func(*tx) error) error
	close() error
}

// PoolWriter writes with one transaction a call, on connections of a pool (PostgreSQL).
type PoolWriter struct {
	db *sql.DB
	// numbers is full while as many transactions have a writer's number as there are connections: a commit gives its
	// connection back a moment before its number.
	numbers chan struct{}
}

// NewPoolWriter writes on a pool of so many connections.
func NewPoolWriter(db *sql.DB, connections int) PoolWriter {
	return PoolWriter{db: db, numbers: make(chan struct{}, connections)}
}

// patientWrite ends a transaction whose server does not answer at all. It is longer than the session's own
// limits, which end one that waits or works too long.
const patientWrite = 7 * time.Second

func (w PoolWriter) write(ctx context.Context, s *Store, fn func(*tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, patientWrite)
	defer cancel()
	e, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	// Only now, with a connection in hand: there are no more writers than connections, however many wait for one.
	w.numbers <- struct{}{}
	writer := s.commits.take()
	defer func() {
		s.commits.give(writer)
		<-w.numbers
	}()
	t := &tx{s: s, e: e, ctx: ctx, held: s.commits.isHeld()}
	if err = guarded(fn, t); err == nil {
		err = t.number(writer)
	}
	if err != nil {
		return errors.Join(err, ignoreDone(e.Rollback()))
	}
	if err = e.Commit(); err == nil {
		s.commits.acknowledge(t.commit)
	}
	return err
}

func (w PoolWriter) close() error { return nil }

// ignoreDone drops the error of rolling back what is over already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// guarded turns a panic of one batch into its error: others share the transaction.
func guarded(fn func(*tx) error, t *tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a defect in a transaction: %v", p)
		}
	}()
	return fn(t)
}

// SingleWriter writes everything on one connection (SQLite). Batches of several kinds that wait at the same
// moment join one transaction, with a savepoint each, so that one fsync serves decisions, claims, outcomes and
// receipts together.
type SingleWriter struct {
	conn  *sql.Conn
	stmts *statements
	jobs  chan *job
	done  chan struct{}

	mu     sync.RWMutex // guards closed against sends
	closed bool
}

type job struct {
	s      *Store
	fn     func(*tx) error
	err    error
	result chan error
}

// maxJoined bounds how many batches join one transaction, so that the first does not wait for ever.
const maxJoined = 16

// NewSingleWriter starts the writer on a connection that it owns from now on.
func NewSingleWriter(conn *sql.Conn) *SingleWriter {
	w := &SingleWriter{conn: conn, stmts: newStatements(conn), jobs: make(chan *job, maxJoined), done: make(chan struct{})}
	go w.run()
	return w
}

// ErrClosed says that a store was used after Close.
var ErrClosed = errors.New("the store is closed")

func (w *SingleWriter) write(_ context.Context, s *Store, fn func(*tx) error) error {
	j := &job{s: s, fn: fn, result: make(chan error, 1)}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return ErrClosed
	}
	w.jobs <- j
	w.mu.RUnlock()
	return <-j.result
}

func (w *SingleWriter) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.jobs)
	}
	w.mu.Unlock()
	<-w.done
	return errors.Join(w.stmts.close(), w.conn.Close())
}

func (w *SingleWriter) run() {
	defer close(w.done)
	for first := range w.jobs {
		joined := w.gather(first)
		err := w.transaction(joined)
		for _, j := range joined {
			if j.err == nil {
				j.err = err
			}
			j.result <- j.err
		}
	}
}

// gather takes what waits already.
func (w *SingleWriter) gather(first *job) []*job {
	joined := []*job{first}
	for len(joined) < maxJoined {
		select {
		case j, ok := <-w.jobs:
			if !ok {
				return joined
			}
			joined = append(joined, j)
		default:
			return joined
		}
	}
	return joined
}

// transaction runs the jobs and commits what did not fail. Its own error is everybody's.
func (w *SingleWriter) transaction(joined []*job) error {
	ctx := context.Background() // nobody's request: what others wait for is not cancelled
	if _, err := w.stmts.ExecContext(ctx, "begin immediate"); err != nil {
		return err
	}
	s := joined[0].s
	t := &tx{s: s, e: w.stmts, ctx: ctx, held: s.commits.isHeld()}
	err := w.together(ctx, joined, t)
	if err == nil {
		_, err = w.stmts.ExecContext(ctx, "commit")
	}
	if err != nil {
		_, rollback := w.stmts.ExecContext(ctx, "rollback")
		return errors.Join(err, rollback)
	}
	s.commits.acknowledge(t.commit)
	return nil
}

// together runs the jobs and numbers the transaction for all of them.
func (w *SingleWriter) together(ctx context.Context, joined []*job, t *tx) error {
	t.noticing = true
	for _, j := range joined {
		own := *t
		own.noticing = false
		if err := w.savepoint(ctx, j, &own); err != nil {
			return err
		}
		if j.err == nil {
			t.changed, t.shifting = t.changed || own.changed, t.shifting || own.shifting
		}
		t.noticing = t.noticing && own.noticing // the others ran as if nothing had happened
	}
	return t.number(onlyWriter)
}

// onlyWriter is the number of the one writer.
const onlyWriter = 0

// savepoint runs one job. The job's own error stays with the job; an error here ends the transaction.
func (w *SingleWriter) savepoint(ctx context.Context, j *job, t *tx) error {
	if _, err := w.stmts.ExecContext(ctx, "savepoint batch"); err != nil {
		return err
	}
	if j.err = guarded(j.fn, t); j.err != nil {
		if _, err := w.stmts.ExecContext(ctx, "rollback to batch"); err != nil {
			return errors.Join(j.err, err) // the engine has ended the transaction itself: its reason is everybody's
		}
	}
	_, err := w.stmts.ExecContext(ctx, "release batch")
	return err
}
