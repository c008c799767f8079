package api

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func (a *API) registerDeliveries() {
	add(a, op("GET", "/v1/webhooks/{id}/deliveries", "list-deliveries", "Webhooks", "What an address was told, is being told and could not be told"), ScopeAdmin, a.listDeliveries)
	add(a, op("POST", "/v1/webhooks/{id}/replay", "replay-dead", "Webhooks", "Tell an address again of all that it could not be told"), ScopeAdmin, a.replayDead)
	add(a, op("GET", "/v1/deliveries/{id}", "get-delivery", "Webhooks", "One delivery, with the event as it is told"), ScopeAdmin, a.getDelivery)
	add(a, op("POST", "/v1/deliveries/{id}/replay", "replay-delivery", "Webhooks", "Tell an event again, under the same id and with the same body"), ScopeAdmin, a.replayDelivery)
}

// DeliveryView is the delivery of an event to an endpoint.
type DeliveryView struct {
	ID       string  `json:"id"`
	Webhook  string  `json:"webhook"`
	Event    string  `json:"event" doc:"The event's id, which requests carry as webhook-id."`
	Type     string  `json:"type"`
	Sequence int64   `json:"sequence"`
	Message  string  `json:"message"`
	State    string  `json:"state" doc:"pending, delivering, delivered, or dead: given up, and kept. Accept unknown values."`
	Claims   int64   `json:"claims" doc:"How often a node took it, to post it once."`
	Failures int     `json:"failures" doc:"Tries that failed, since it was made or asked for again."`
	NextAt   *string `json:"next_at" format:"date-time" doc:"When it is tried next."`
	EndedAt  *string `json:"ended_at" format:"date-time" doc:"When it was delivered or given up."`
	Status   int     `json:"status" doc:"HTTP status of the last answer; 0: there was none."`
	Problem  string  `json:"problem,omitempty" doc:"Why the last try had no answer; docs/webhooks.md lists the words. Accept unknown values."`
}

// OneDeliveryView is a delivery with what it tells.
type OneDeliveryView struct {
	DeliveryView
	Body payload.Notice `json:"body"`
}

const deliveryPrefix = "dlv_"

func deliveryText(id store.DeliveryID) string {
	return deliveryPrefix + strings.TrimPrefix(id.Webhook.String(), "whk_") + "_" + strconv.FormatInt(id.Seq, 10)
}

func parseDelivery(text string) (store.DeliveryID, error) {
	rest, ok := strings.CutPrefix(text, deliveryPrefix)
	hook, number, _ := strings.Cut(rest, "_")
	var id ident.Webhook
	err := id.UnmarshalText([]byte("whk_" + hook))
	seq, seqErr := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || seqErr != nil {
		return store.DeliveryID{}, fault.New(fault.NotFound, "not an id of this kind: it starts with \"dlv_\", as lists of deliveries show it")
	}
	return store.DeliveryID{Webhook: id, Seq: seq}, nil
}

func deliveryView(d *store.WebhookDelivery) DeliveryView {
	v := DeliveryView{
		ID: deliveryText(d.DeliveryID), Webhook: d.Webhook.String(), Event: payload.ID(&d.Event), Type: webhook.TypeOf(d.Event.Event), Sequence: d.Seq,
		Message: d.Event.Message.String(), State: d.State.String(), Claims: d.Fence, Failures: d.Failures, EndedAt: stamp(d.DoneAt),
		Status: d.Status, Problem: string(d.Problem),
	}
	if d.State == webhook.Pending {
		v.NextAt = stamp(d.NextAt)
	}
	return v
}

type deliveriesIn struct {
	ID    string `path:"id"`
	State string `query:"state" doc:"pending, delivering, delivered or dead."`
	After int64  `query:"after" minimum:"0" doc:"Where the page before ended: its next."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many entries at most."`
}

func (a *API) listDeliveries(ctx context.Context, in *deliveriesIn) (List[DeliveryView], error) {
	id, err := parseID[ident.Webhook](in.ID)
	if err != nil {
		return List[DeliveryView]{}, err
	}
	state, ok := webhook.ParseState(in.State)
	if !ok && in.State != "" {
		d := &decoder{}
		d.wrong("state", "not a state of a delivery: write one of %s", fault.List(webhook.States()))
		return List[DeliveryView]{}, d.fault()
	}
	before := in.After
	if before == 0 {
		before = math.MaxInt64
	}
	found, err := a.cfg.Store.ListDeliveries(ctx, principalOf(ctx).Tenant, id, state, before, in.Limit+1)
	if err != nil {
		return List[DeliveryView]{}, err
	}
	l := List[DeliveryView]{Data: make([]DeliveryView, 0, len(found))}
	for i := range found {
		if i == in.Limit {
			next := strconv.FormatInt(found[i-1].Seq, 10)
			l.Next = &next
			break
		}
		l.Data = append(l.Data, deliveryView(&found[i]))
	}
	return l, nil
}

func (a *API) getDelivery(ctx context.Context, in *oneIn) (OneDeliveryView, error) {
	id, err := parseDelivery(in.ID)
	if err != nil {
		return OneDeliveryView{}, err
	}
	return a.delivery(ctx, id)
}

func (a *API) delivery(ctx context.Context, id store.DeliveryID) (OneDeliveryView, error) {
	d, err := a.cfg.Store.WebhookDelivery(ctx, principalOf(ctx).Tenant, id)
	if err != nil {
		return OneDeliveryView{}, err
	}
	body, err := a.cfg.Feed.Notice(ctx, &d.Event)
	return OneDeliveryView{deliveryView(&d), body}, err
}

func (a *API) replayDelivery(ctx context.Context, in *oneIn) (OneDeliveryView, error) {
	id, err := parseDelivery(in.ID)
	if err != nil {
		return OneDeliveryView{}, err
	}
	if _, err := a.cfg.Store.ReplayDelivery(ctx, principalOf(ctx).Tenant, id, webhook.Again); err != nil {
		return OneDeliveryView{}, err
	}
	a.cfg.Delivering()
	return a.delivery(ctx, id)
}

// ReplayedView says how many are told again.
type ReplayedView struct {
	Replayed int  `json:"replayed"`
	More     bool `json:"more" doc:"There are more: ask again."`
}

// replayAtMost bounds one transaction.
const replayAtMost = 1000

func (a *API) replayDead(ctx context.Context, in *oneIn) (ReplayedView, error) {
	id, err := parseID[ident.Webhook](in.ID)
	if err != nil {
		return ReplayedView{}, err
	}
	n, err := a.cfg.Store.ReplayDead(ctx, principalOf(ctx).Tenant, id, replayAtMost, webhook.Again)
	if err != nil {
		return ReplayedView{}, err
	}
	a.cfg.Delivering()
	return ReplayedView{Replayed: n, More: n == replayAtMost}, nil
}
