package deliver

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// work posts chains of an endpoint until none waits.
func (d *Deliverer) work(ctx context.Context, id ident.Webhook) {
	for {
		c, ok := d.hands.next(id)
		if !ok {
			return
		}
		d.postAll(ctx, c)
	}
}

// postAll posts a chain. Once the endpoint has failed, what waits for it is given back: it is asked for one at a time then.
func (d *Deliverer) postAll(ctx context.Context, c chain) {
	for i := range c.all {
		one := &c.all[i]
		answer := webhook.Answer{Problem: webhook.NoTime}
		if ctx.Err() == nil && time.Since(c.began.here) < d.cfg.Lease-2*d.cfg.Poster.timeout() {
			began := time.Now()
			answer = d.post(ctx, one, c.began)
			if ctx.Err() == nil || answer.Verdict() == webhook.Took {
				d.giveBack(d.hands.note(one.DeliveryID.Webhook, answer.Verdict(), time.Since(began)))
			}
		}
		if ctx.Err() != nil && answer.Verdict() != webhook.Took {
			d.hands.release(one.DeliveryID.Webhook)
			continue // we were told to end: that is no answer
		}
		d.report(one, answer)
		if v := answer.Verdict(); v == webhook.Failed || v == webhook.Refused {
			d.giveBack([]chain{{all: c.all[i+1:]}})
			return
		}
	}
}

func (d *Deliverer) report(c *store.ClaimedDelivery, a webhook.Answer) {
	d.results <- ended{store.DeliveryResult{DeliveryID: c.DeliveryID, Result: webhook.Result{Fence: c.Fence, Answer: a, Jitter: rand.Float64()}}}
}

func (d *Deliverer) giveBack(all []chain) {
	for _, c := range all {
		for i := range c.all {
			d.report(&c.all[i], webhook.Answer{Problem: webhook.Waits})
		}
	}
}

func (d *Deliverer) post(ctx context.Context, c *store.ClaimedDelivery, began start) webhook.Answer {
	hook, err := d.current(ctx, c.DeliveryID.Webhook)
	if err != nil {
		d.cfg.Log.Warn("an endpoint could not be read before it is told; it is tried again in a moment", "webhook", c.DeliveryID.Webhook.String(), "error", err)
		return webhook.Answer{Problem: webhook.NoStore}
	}
	if hook == nil {
		return webhook.Answer{Problem: webhook.Disabled}
	}
	body, err := d.cfg.Builder.Body(ctx, &c.Event)
	if err != nil {
		d.cfg.Log.Error("the body of a webhook could not be made", "webhook", hook.ID.String(), "event", payload.ID(&c.Event), "error", err)
		return webhook.Answer{Problem: ours(err)}
	}
	answer := d.cfg.Poster.Post(ctx, hook, payload.ID(&c.Event), body, began.now())
	chaos.At(chaos.WebhookPosted)
	return answer
}

// current is the endpoint as it is, or was a moment ago; nil: it was switched off or removed since it was claimed. What
// cannot be read is not told: the address or the secret may have been changed since they leaked.
func (d *Deliverer) current(ctx context.Context, id ident.Webhook) (*store.Webhook, error) {
	hook, fresh := d.hands.hook(id, d.cfg.Fresh)
	if fresh {
		return hook, nil
	}
	at := time.Now()
	found, err := d.cfg.Store.EnabledWebhooks(ctx, []ident.Webhook{id})
	if err != nil {
		return nil, err
	}
	hook = nil
	if len(found) > 0 {
		hook = &found[0]
	}
	d.hands.reread(id, hook, at)
	return hook, nil
}
