package deliver

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

const (
	// settleAtMost bounds the results of one transaction.
	settleAtMost = 256
	// settleAgain is the pause after results could not be stored.
	settleAgain = time.Second
	trimEvery   = 10 * time.Minute
	trimBatch   = 1000 // small: whoever reports results waits for the same rows' pages
)

// hastened makes pauses shorter where failure tests ask for it.
func hastened(settle store.SettleFunc) store.SettleFunc {
	haste := clock.Micros(chaos.WebhookHaste())
	if haste == 1 {
		return settle
	}
	return func(d webhook.Delivery, r webhook.Result, now clock.Micros) webhook.Delivery {
		after := settle(d, r, now)
		if after.State == webhook.Pending && after.NextAt > now {
			after.NextAt = now + (after.NextAt-now)/haste
		}
		return after
	}
}

// store notes results, as many together as there are, until there will be no more.
func (d *Deliverer) store() {
	for first := range d.results {
		batch := d.gather(first)
		after, err := d.settle(batch)
		wake := false
		for i, e := range batch {
			d.hands.release(e.Webhook)
			wake = wake || e.Answer.Verdict() != webhook.Took
			if err == nil {
				d.cfg.Metrics.count(e.Answer, after[i])
			}
		}
		if wake || d.more.Load() {
			d.Wake()
		}
	}
}

func (d *Deliverer) gather(first ended) []ended {
	batch := []ended{first}
	for len(batch) < settleAtMost {
		select {
		case e, ok := <-d.results:
			if !ok {
				return batch
			}
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

// settle tries until the leases have ended: after that somebody else posts these again, whatever we know.
func (d *Deliverer) settle(batch []ended) (after []webhook.Delivery, err error) {
	results := make([]store.DeliveryResult, len(batch))
	for i := range batch {
		results[i] = batch[i].DeliveryResult
	}
	for until := time.Now().Add(d.cfg.Lease); ; {
		ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Lease)
		after, err = d.cfg.Store.SettleDeliveries(ctx, results, d.cfg.Settle)
		cancel()
		if err == nil {
			return after, nil
		}
		if time.Now().After(until) || !d.pause() {
			d.cfg.Log.Error("results of deliveries are lost: these events are told once more", "results", len(results), "error", err)
			return nil, err
		}
	}
}

// pause waits before results are stored again; false: the deliverer ends.
func (d *Deliverer) pause() bool {
	select {
	case <-time.After(settleAgain):
		return true
	case <-d.stopped:
		return false
	}
}

func (d *Deliverer) trim(ctx context.Context) {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	for {
		if err := d.trimOnce(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("deliveries of the past could not be removed; it is tried again in a while", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *Deliverer) trimOnce(ctx context.Context) error {
	now, err := d.cfg.Store.Now(ctx)
	for n := trimBatch; err == nil && n == trimBatch && ctx.Err() == nil; {
		n, err = d.cfg.Store.TrimDeliveries(ctx, now.Add(-d.cfg.Keep), trimBatch)
	}
	return err
}
