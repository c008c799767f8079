package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// mostAgain is how often a batch that met a deadlock is tried again.
const mostAgain = 3

// batchRun is one transaction over the items lo to hi. again says that a transaction of the same items may
// have been committed already: rows with our ids are then our own success.
type batchRun func(t *tx, lo, hi int, again bool) error

// isolateFor bounds how long a batch is halved: long enough to find one stuck item among 256, and no longer where
// every item waits for the same thing.
const isolateFor = 10 * time.Second

// isolation runs a batch and keeps what goes wrong with one item from the others.
type isolation struct {
	s    *Store
	run  batchRun
	fail func(i int, err error)
	ends time.Time
}

// isolate runs a batch of n items: a poisoned or stuck item is found by halving and gets its own error, by fail.
// The returned error is everybody's.
func (s *Store) isolate(ctx context.Context, n int, run batchRun, fail func(i int, err error)) error {
	if n == 0 {
		return nil
	}
	i := isolation{s, run, fail, time.Now().Add(isolateFor)}
	return i.between(ctx, 0, n, false, nil)
}

// between runs the items lo to hi. A range that breaks is first run again as if it had been committed before: the
// row that is in the way may be our own, of a try whose commit was lost or of an earlier call. last is what broke
// the range that this is a half of.
func (i *isolation) between(ctx context.Context, lo, hi int, again bool, last *poison) error {
	if last != nil && time.Now().After(i.ends) {
		i.failAll(lo, hi, last)
		return nil
	}
	err := i.s.persist(ctx, again, func(t *tx, again bool) error { return i.run(t, lo, hi, again) })
	var broke *poison
	if !errors.As(err, &broke) {
		return err
	}
	switch {
	case !again && broke.class == Poison:
		return i.between(ctx, lo, hi, true, broke)
	case hi-lo == 1:
		i.failAll(lo, hi, broke)
		return nil
	}
	mid := (lo + hi) / 2
	if err := i.between(ctx, lo, mid, true, broke); err != nil {
		return err
	}
	return i.between(ctx, mid, hi, true, broke)
}

func (i *isolation) failAll(lo, hi int, p *poison) {
	if p.class == Poison {
		i.s.log.Error("a defect in a store statement", "error", p.cause)
	}
	for ; lo < hi; lo++ {
		i.fail(lo, p.fault())
	}
}

// poison is the error of a batch in which one item is wrong or stuck.
type poison struct {
	class Class
	cause error
}

func (p *poison) Error() string { return p.cause.Error() }

// fault is the item's own answer: a stuck one may be sent again, a wrong one is a defect of ours, since the edge
// refuses what an engine cannot take.
func (p *poison) fault() error {
	if p.class == Stuck {
		return fault.Wrap(p.cause, fault.Unavailable, "something else holds what this needs; nothing was changed, send the same request again").After(time.Second)
	}
	return fault.Wrap(p.cause, fault.Internal, "the gateway could not store this")
}

// persist runs one transaction until it is committed, or it is clear that it cannot be. again says that an
// earlier one may have been.
func (s *Store) persist(ctx context.Context, again bool, fn func(t *tx, again bool) error) error {
	if s.outdated.Load() {
		return errOutdated()
	}
	ctx = context.WithoutCancel(ctx)
	tries, give := 0, time.Now().Add(s.patience)
	for {
		err := s.writer.write(ctx, s, func(t *tx) error {
			t.again = again
			return fn(t, again)
		})
		if err == nil {
			s.wrote(nil)
			return nil
		}
		var f *fault.Fault
		if errors.As(err, &f) || errors.Is(err, store.ErrPolicyChanged) {
			return err
		}
		if shifted, err := s.shifted(ctx, err); shifted {
			if err != nil {
				return err
			}
			continue
		}
		// Made again with the wallets locked, it cannot be outrun; and without what is put aside, not be held up.
		if errors.Is(err, errWalletMoved) || errors.Is(err, errWalletsHeld) {
			continue
		}
		class := s.d.Classify(err)
		if class != Defect && class != Refused {
			s.retried(class)
		}
		switch {
		case class == Poison || class == Stuck:
			return &poison{class, err}
		case class == Again && tries < mostAgain:
			tries++
		case class == Lost && time.Now().Before(give):
			again = true
			pause(tries)
			tries++
		case class == Defect:
			s.log.Error("a defect in a store statement", "error", err)
			return fault.Wrap(err, fault.Internal, "the gateway could not store this")
		default:
			s.wrote(err)
			return fault.Wrap(err, fault.Unavailable, "the store cannot be reached or is overloaded; nothing is lost, send the same request again").After(time.Second)
		}
	}
}

// shifted reports a transaction that went by another store than there is: one that went back in time, which is held
// now, or one that is held or was released meanwhile. The same batch is to be run again.
func (s *Store) shifted(ctx context.Context, err error) (bool, error) {
	if errors.Is(err, errHeldChanged) {
		return true, nil
	}
	var behind *behindError
	if !errors.As(err, &behind) {
		return false, nil
	}
	return true, s.notice(ctx, behind.why)
}

// pause waits before a lost connection is tried again: 20 ms, doubled each time, at most half a second.
func pause(tries int) {
	d := 20 * time.Millisecond << min(tries, 5)
	time.Sleep(min(d, 500*time.Millisecond))
}

// once runs a transaction that concerns one thing.
func (s *Store) once(ctx context.Context, fn func(t *tx) error) error {
	return single(s.persist(ctx, false, func(t *tx, _ bool) error { return fn(t) }))
}

// single is the error of a transaction that is not halved.
func single(err error) error {
	var p *poison
	if errors.As(err, &p) {
		return p.fault()
	}
	return err
}

// unavailable is the fault of a read that failed.
func unavailable(err error) error {
	var f *fault.Fault
	if err == nil || errors.As(err, &f) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "the store cannot be read at this moment").After(time.Second)
}
