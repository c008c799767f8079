package dispatch

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

const (
	firstBackoff = 50 * time.Millisecond // doubled at each try, up to forty times as long
)

func (d *Dispatcher) settleLoop(ctx context.Context) {
	for {
		batch, ok := d.outcomes.take(maxBatch)
		if !ok {
			return
		}
		stuck := d.settle(ctx, batch)
		d.noteSettled(len(batch) - len(stuck))
		d.stuck.put(stuck...)
	}
}

// stuckLoop tries again what is stuck, one batch in a round and a pause between two, so that it holds up nobody: those
// whose lock is gone leave, and the others go to the end of the line. Nothing is given up while the process lives, also
// not what the store calls a defect: what a provider has answered is known to this process alone. What is kept counts as
// unsettled, and beyond maxUnsettled nothing more is claimed.
func (d *Dispatcher) stuckLoop(ctx context.Context) {
	for try := 1; ; try++ {
		batch, ok := d.stuck.take(maxBatch)
		if !ok || !sleep(ctx, backoff(d.firstBackoff, try)) {
			return
		}
		again := d.settle(ctx, batch)
		d.noteSettled(len(batch) - len(again))
		if len(again) < len(batch) {
			try = 0
		}
		d.stuck.putBack(again)
	}
}

func (d *Dispatcher) noteSettled(n int) {
	d.unsettled.Add(-int64(n))
	signal(d.room)
}

// settle commits a batch, and returns what is stuck by itself. A store that cannot be reached is asked until it can.
func (d *Dispatcher) settle(ctx context.Context, news []store.News) (stuck []store.News) {
	for try := 0; ; try++ {
		if try > 0 && !sleep(ctx, backoff(d.firstBackoff, try)) {
			return nil
		}
		asked := time.Now()
		settled, err := d.cfg.Store.Settle(ctx, news, d.cfg.Rules)
		switch {
		case err == nil:
			d.rested(news, settled, asked)
			return d.settled(ctx, news, settled)
		case retryable(err):
			d.logError(ctx, "outcomes could not be stored; they are kept and tried again", err, "count", len(news))
		case len(news) > 1:
			return d.settleEach(ctx, news)
		default:
			d.keep(ctx, news, err)
			return news
		}
	}
}

// settleEach finds the one that the store cannot take, so that it does not hold up the others.
func (d *Dispatcher) settleEach(ctx context.Context, news []store.News) (stuck []store.News) {
	for i := range news {
		stuck = append(stuck, d.settle(ctx, news[i:i+1])...)
	}
	return stuck
}

// settled looks at what became of each and returns those that have to be tried again.
func (d *Dispatcher) settled(ctx context.Context, news []store.News, settled []store.Settled) (again []store.News) {
	chaos.At(chaos.OutcomeCommitted)
	var why error
	for i, s := range settled {
		switch {
		case s.Err == nil:
		case retryable(s.Err) || fault.CodeOf(s.Err) == fault.Internal:
			again, why = append(again, news[i]), s.Err
		default:
			d.refused(news[i], s.Err)
		}
	}
	d.keep(ctx, again, why)
	if d.cfg.Committed != nil && len(again) < len(news) {
		d.cfg.Committed()
	}
	return again
}

// refused is news that the message's state does not permit. For a message given back that is normal: its lease
// has ended and somebody else has it. So it is for one whose validity is over: somebody else has said so.
func (d *Dispatcher) refused(n store.News, err error) {
	if n.Kind != evidence.Returned && n.Kind != evidence.ValidityEnded {
		d.log().Warn("an outcome does not fit its message and was not applied", "message", n.Message.String(), "error", err)
	}
}

// keep says that answers could not be stored.
func (d *Dispatcher) keep(ctx context.Context, stuck []store.News, err error) {
	if len(stuck) == 0 {
		return
	}
	d.cfg.Metrics.stuck.WithLabelValues(d.cfg.Connection.Name).Add(float64(len(stuck)))
	d.logError(ctx, "outcomes could not be stored by themselves; they are kept and tried again as long as this process lives", err,
		"count", len(stuck), "message", stuck[0].Message.String())
}

// retryable reports whether the same thing may be taken at another time.
func retryable(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Unavailable || code == fault.InProgress
}

func backoff(first time.Duration, try int) time.Duration {
	return min(first<<min(try-1, 10), 40*first)
}

// sleep reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
