// Package sqlstore is the store over database/sql: one SQL for both engines, told apart by a Dialect. The
// folders store/sqlite and store/postgres open it.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

var _ store.Store = (*Store)(nil)

// Store implements store.Store.
type Store struct {
	d      *Dialect
	writer writer
	reader *sql.DB
	clock  clock.Clock
	log    *slog.Logger
	// patience bounds how long a batch is tried again after a lost connection.
	patience time.Duration
	retried  func(Class)
	version  int64       // of the schema, as this release knows it
	outdated atomic.Bool // the schema has become one that this release cannot work on
	refusing atomic.Bool // the last transaction could not be written
	next     referenceCounter
	commits  commits
	marks    *markKeeper // nil: Watch was not called
	stuck    stuckWallets
	closing  func() error
}

// Options are what an adapter gives.
type Options struct {
	Dialect *Dialect
	Version int64 // of the schema that this release knows, as Migrate returned it
	// Writer makes write transactions. SingleWriter or PoolWriter.
	Writer writer
	Reader *sql.DB
	Clock  clock.Clock
	Log    *slog.Logger
	// Patience bounds how long a batch is tried again after a lost connection; 0 means 5 s.
	Patience time.Duration
	// Retried is told of every transaction that is made again, and why; nil: nobody counts.
	Retried func(Class)
	Close   func() error
}

// New returns a store over an open database whose schema is this release's, or one that this release can work on.
func New(o Options) *Store {
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Retried == nil {
		o.Retried = func(Class) {}
	}
	return &Store{d: o.Dialect, writer: o.Writer, reader: o.Reader, clock: o.Clock, log: o.Log,
		patience: o.Patience, retried: o.Retried, version: o.Version, closing: o.Close}
}

// Close ends the writer after the transactions that it has, then the database.
func (s *Store) Close() error {
	if s.marks != nil {
		s.marks.close()
	}
	return errors.Join(s.writer.close(), s.closing())
}

// Ping reports whether the store answers with a schema that this release can work on, and whether its last transaction
// could be written: a disk that is full, or a server that has become a standby, still answers questions.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.checkSchema(ctx); err != nil {
		return err
	}
	if s.refusing.Load() {
		return fault.New(fault.Unavailable, "the store answers and takes nothing: the log says why").After(time.Second)
	}
	return nil
}

// wrote notes how the last transaction ended, and logs where that has changed. Nodes write many times a second
// as long as they run, so the note is never old.
func (s *Store) wrote(err error) {
	switch {
	case err == nil && s.refusing.CompareAndSwap(true, false):
		s.log.Info("the store takes transactions again")
	case err != nil && s.refusing.CompareAndSwap(false, true):
		s.log.Error("the store takes nothing: requests are answered with 503 until it does", "error", err)
	}
}

// Now is the store's clock.
func (s *Store) Now(ctx context.Context) (clock.Micros, error) {
	t := s.read()
	return t.now(ctx)
}

// executor is what a transaction, a connection and a pool have in common.
type executor interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// tx is a transaction, or the read pool.
type tx struct {
	s *Store
	e executor
	// ctx is the writer's own, never a request's: a caller that goes away does not undo what others are
	// waiting for in the same batch.
	ctx context.Context

	again bool // an earlier try of this write may have been committed: its answer was lost

	// Of a write transaction, see commits.
	changed  bool    // it changes something, and so it raises its writer's number
	held     bool    // traffic waits, as far as was known when it began
	shifting bool    // it makes traffic wait itself, or lets it go on
	noticing bool    // it notes that the store is behind
	commit   *commit // what it learned when it raised the number; nil: it changes nothing
}

func (s *Store) read() *tx { return &tx{s: s, e: s.reader} }

// now reads the clock that decides. It is called after the locks are held.
func (t *tx) now(ctx context.Context) (clock.Micros, error) {
	if !t.s.d.ServerClock {
		return clock.FromTime(t.s.clock.Now().Add(chaos.StoreClockOffset())), nil
	}
	var micros int64
	err := t.row(ctx, serverClock, nil, scan1(&micros))
	return clock.Micros(micros).Add(chaos.StoreClockOffset()), err
}

// exec runs a statement over rows; without rows there is nothing to do if the statement wants some.
func (t *tx) exec(ctx context.Context, q *template, r *rows, scalars ...any) (int64, error) {
	if len(q.columns) > 0 && r.len() == 0 {
		return 0, nil
	}
	n, err := t.execute(ctx, q, r, plainAll(scalars))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", q.name(), err)
	}
	t.changed = t.changed || n > 0
	return n, nil
}

func (t *tx) execute(ctx context.Context, q *template, r *rows, scalars []any) (int64, error) {
	if w, ok := t.e.(*statements); ok && q.writesRows() {
		return w.each(ctx, q.byRow(), r, scalars)
	}
	res, err := t.e.ExecContext(ctx, q.sql(t.s.d, r.len()), r.args(q, t.s.d, scalars)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// patientRead ends a question that the server does not answer at all. It is longer than its own statement_timeout.
const patientRead = 6 * time.Second

// query runs a statement and gives each row to scan.
func (t *tx) query(ctx context.Context, q *template, r *rows, scan func(*sql.Rows) error, scalars ...any) error {
	if len(q.columns) > 0 && r.len() == 0 {
		return nil
	}
	if t.ctx == nil { // the read pool: a server that does not answer must not keep the caller
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patientRead)
		defer cancel()
	}
	res, err := t.e.QueryContext(ctx, q.sql(t.s.d, r.len()), r.args(q, t.s.d, plainAll(scalars))...)
	if err != nil {
		return fmt.Errorf("%s: %w", q.name(), err)
	}
	defer func() { _ = res.Close() }() // an error of the rows is what Err returns below
	for res.Next() {
		t.changed = t.changed || q.writes
		if err := scan(res); err != nil {
			return fmt.Errorf("%s: %w", q.name(), err)
		}
	}
	if err := res.Err(); err != nil {
		return fmt.Errorf("%s: %w", q.name(), err)
	}
	return nil
}

// row is query for one row; sql.ErrNoRows if there is none.
func (t *tx) row(ctx context.Context, q *template, r *rows, scan func(*sql.Rows) error, scalars ...any) error {
	found := false
	err := t.query(ctx, q, r, func(res *sql.Rows) error {
		found = true
		return scan(res)
	}, scalars...)
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

func scan1(dest ...any) func(*sql.Rows) error {
	return func(r *sql.Rows) error { return r.Scan(dest...) }
}

func plainAll(vals []any) []any {
	out := make([]any, len(vals))
	for i, v := range vals {
		out[i] = plain(v)
	}
	return out
}

// name is the start of the statement, for errors.
func (t *template) name() string {
	const enough = 40
	if len(t.text) <= enough {
		return t.text
	}
	return t.text[:enough] + "…"
}

// serverClock is PostgreSQL's: the time of the statement, where now() would be the start of the transaction.
var serverClock = define(`select (extract(epoch from clock_timestamp()) * 1000000)::bigint`)
