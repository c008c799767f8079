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
	// maxDefects is how often an outcome is tried that the store calls a defect: for about ten seconds. Dropping
	// it makes its message unknown, which is true; holding it for ever would stop the connection.
	maxDefects = 10
)

func (d *Dispatcher) settleLoop(ctx context.Context) {
	for {
		batch, ok := d.outcomes.take(maxBatch)
		if !ok {
			return
		}
		d.settle(ctx, batch)
		d.unsettled.Add(-int64(len(batch)))
		signal(d.room)
	}
}

// settle commits a batch. A store that cannot be reached is asked until it can: what a provider has answered is
// known to this process alone.
func (d *Dispatcher) settle(ctx context.Context, news []store.News) {
	for try := 0; len(news) > 0; try++ {
		if try > 0 && !sleep(ctx, backoff(d.firstBackoff, try)) {
			return
		}
		asked := time.Now()
		settled, err := d.cfg.Store.Settle(ctx, news, d.cfg.Rules)
		switch {
		case err == nil:
			d.rested(news, settled, asked)
			news = d.settled(ctx, news, settled, try)
		case retryable(err):
			d.logError(ctx, "outcomes could not be stored; they are kept and tried again", err, "count", len(news))
		case len(news) > 1:
			d.settleEach(ctx, news)
			return
		case try+1 >= maxDefects:
			d.drop(ctx, news[0], err)
			return
		}
	}
}

// settleEach finds the one that the store cannot take, so that it does not hold up the others.
func (d *Dispatcher) settleEach(ctx context.Context, news []store.News) {
	for i := range news {
		d.settle(ctx, news[i:i+1])
	}
}

// settled looks at what became of each and returns those that have to be tried again.
func (d *Dispatcher) settled(ctx context.Context, news []store.News, settled []store.Settled, try int) (again []store.News) {
	chaos.At(chaos.OutcomeCommitted)
	for i, s := range settled {
		switch {
		case s.Err == nil:
		case retryable(s.Err):
			again = append(again, news[i])
		case fault.CodeOf(s.Err) != fault.Internal:
			d.refused(news[i], s.Err)
		case try+1 < maxDefects:
			again = append(again, news[i])
		default:
			d.drop(ctx, news[i], s.Err)
		}
	}
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

func (d *Dispatcher) drop(ctx context.Context, n store.News, err error) {
	d.cfg.Metrics.dropped.WithLabelValues(d.cfg.Connection.Name).Inc()
	d.logError(ctx, "an outcome cannot be stored and is given up; its message becomes unknown when its time to answer is over", err,
		"message", n.Message.String())
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
