package api

import (
	"context"
	"net/http"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/engine/relay/deliver"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Webhooks makes and changes endpoints, and tells them of events.
type Webhooks interface {
	Create(ctx context.Context, tenant ident.Partition, by string, wish deliver.Wish) (store.Webhook, string, error)
	Change(ctx context.Context, tenant ident.Partition, id ident.Webhook, by string, wish deliver.Wish) (store.Webhook, error)
	Rotate(ctx context.Context, tenant ident.Partition, id ident.Webhook, by string, former time.Duration) (store.Webhook, string, error)
	Test(ctx context.Context, tenant ident.Partition, id ident.Webhook) (deliver.Tested, error)
}

func (a *API) registerWebhooks() {
	made := withBody(op("POST", "/v1/webhooks", "create-webhook", "Webhooks", "Have an address told of events; the answer is the only place where its secret is shown"), a.schema(webhookBody{}))
	made.DefaultStatus = http.StatusCreated
	add(a, op("GET", "/v1/webhooks", "list-webhooks", "Webhooks", "The addresses that are told of events"), ScopeAdmin, a.listWebhooks)
	add(a, made, ScopeAdmin, a.createWebhook)
	add(a, op("GET", "/v1/webhooks/{id}", "get-webhook", "Webhooks", "One of them"), ScopeAdmin, a.getWebhook)
	add(a, withBody(op("PATCH", "/v1/webhooks/{id}", "change-webhook", "Webhooks", "Change its address or types, or switch it off and on"), a.schema(webhookBody{})), ScopeAdmin, a.changeWebhook)
	add(a, withBody(op("POST", "/v1/webhooks/{id}/rotate", "rotate-webhook", "Webhooks", "Give it another secret; the former one signs beside it for a while"), a.schema(rotateWebhookBody{})), ScopeAdmin, a.rotateWebhook)
	add(a, op("POST", "/v1/webhooks/{id}/test", "test-webhook", "Webhooks", "Send something that is no event, and show what came of it"), ScopeAdmin, a.testWebhook)
	a.registerDeliveries()
	add(a, op("DELETE", "/v1/webhooks/{id}", "remove-webhook", "Webhooks", "Tell an address nothing more, also of what waits"), ScopeAdmin, a.removeWebhook)
}

// WebhookView is an endpoint.
type WebhookView struct {
	ID                string   `json:"id"`
	URL               string   `json:"url"`
	Types             []string `json:"types" nullable:"false" doc:"What it is told of: types of events, message.*, attempt.*, or * for all."`
	Enabled           bool     `json:"enabled" doc:"false: nothing is noted for it, and what waits goes on waiting."`
	FormerSecretUntil *string  `json:"former_secret_until" format:"date-time" doc:"Until when requests are signed with the former secret too; null: they are not."`
	CreatedAt         string   `json:"created_at" format:"date-time"`
	CreatedBy         string   `json:"created_by" doc:"The API key's id."`
	ChangedAt         string   `json:"changed_at" format:"date-time"`
	ChangedBy         string   `json:"changed_by"`
}

// NewWebhookView is an endpoint with its new secret.
type NewWebhookView struct {
	WebhookView
	Secret string `json:"secret" doc:"whsec_…: what to verify signatures with. It is shown here and never again."`
}

func webhookView(w *store.Webhook) WebhookView {
	v := WebhookView{
		ID: w.ID.String(), URL: w.URL, Types: w.Types, Enabled: w.Enabled,
		CreatedAt: at(w.CreatedAt), CreatedBy: w.CreatedBy, ChangedAt: at(w.ChangedAt), ChangedBy: w.ChangedBy,
	}
	if w.Secrets.Former != nil {
		v.FormerSecretUntil = stamp(w.Secrets.FormerUntil)
	}
	return v
}

// WebhookList is all of a tenant's.
type WebhookList struct {
	Data []WebhookView `json:"data" nullable:"false"`
	Next *string       `json:"next" doc:"Always null: all are on the page."`
}

func (a *API) listWebhooks(ctx context.Context, _ *struct{}) (WebhookList, error) {
	found, err := a.cfg.Store.ListWebhooks(ctx, principalOf(ctx).Tenant)
	l := WebhookList{Data: make([]WebhookView, 0, len(found))}
	for i := range found {
		l.Data = append(l.Data, webhookView(&found[i]))
	}
	return l, err
}

func (a *API) getWebhook(ctx context.Context, in *oneIn) (WebhookView, error) {
	id, err := parseID[ident.Webhook](in.ID)
	if err != nil {
		return WebhookView{}, err
	}
	w, err := a.cfg.Store.Webhook(ctx, principalOf(ctx).Tenant, id)
	if err != nil {
		return WebhookView{}, err
	}
	return webhookView(&w), nil
}

type webhookBody struct {
	URL     string   `json:"url,omitempty" doc:"Where to post, https://…"`
	Types   []string `json:"types,omitempty" doc:"What of: types of events, message.*, attempt.*, or *, which is what is meant without."`
	Enabled bool     `json:"enabled,omitempty" doc:"true without."`
}

type createWebhookIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type changeWebhookIn struct {
	ID          string `path:"id"`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

const rightURL = "write the address that is to be told, such as https://example.com/hooks"

func decodeWebhook(contentType string, body []byte, must ...needed) (wish deliver.Wish, err error) {
	err = decodeSmall(contentType, body, func(d *decoder) members {
		return members{
			{"url", given(&wish.URL, func(into *string) memberReader { return d.required(into, rightURL) })},
			{"types", d.wholeList(&wish.Types)},
			{"enabled", given(&wish.Enabled, d.flag)},
		}
	}, must...)
	return wish, err
}

// given notes that a member is there, with what it says.
func given[T any](into **T, read func(*T) memberReader) memberReader {
	return func(v strictjson.Value, pointer string) {
		*into = new(T)
		read(*into)(v, pointer)
	}
}

// wholeList reads an array of texts; one that is there and empty is not nil.
func (d *decoder) wholeList(into *[]string) memberReader {
	return func(v strictjson.Value, pointer string) {
		*into = []string{}
		d.list(into)(v, pointer)
	}
}

func (a *API) createWebhook(ctx context.Context, in *createWebhookIn) (NewWebhookView, error) {
	wish, err := decodeWebhook(in.ContentType, in.RawBody, needed{"url", rightURL})
	if err != nil {
		return NewWebhookView{}, err
	}
	who := principalOf(ctx)
	w, secret, err := a.cfg.Webhooks.Create(ctx, who.Tenant, who.Key, wish)
	if err != nil {
		return NewWebhookView{}, err
	}
	return NewWebhookView{webhookView(&w), secret}, nil
}

func (a *API) changeWebhook(ctx context.Context, in *changeWebhookIn) (WebhookView, error) {
	id, err := parseID[ident.Webhook](in.ID)
	if err != nil {
		return WebhookView{}, err
	}
	wish, err := decodeWebhook(in.ContentType, in.RawBody)
	if err != nil {
		return WebhookView{}, err
	}
	who := principalOf(ctx)
	w, err := a.cfg.Webhooks.Change(ctx, who.Tenant, id, who.Key, wish)
	if err != nil {
		return WebhookView{}, err
	}
	a.cfg.Delivering() // it may have been switched on
	return webhookView(&w), nil
}

// RemovedView says what was removed.
type RemovedView struct {
	ID      string `json:"id"`
	Removed bool   `json:"removed"`
}

func (a *API) removeWebhook(ctx context.Context, in *oneIn) (RemovedView, error) {
	id, err := parseID[ident.Webhook](in.ID)
	if err != nil {
		return RemovedView{}, err
	}
	who := principalOf(ctx)
	if err := a.cfg.Store.RemoveWebhook(ctx, who.Tenant, id, who.Key); err != nil {
		return RemovedView{}, err
	}
	return RemovedView{ID: id.String(), Removed: true}, nil
}

type rotateWebhookBody struct {
	FormerFor string `json:"former_for,omitempty" doc:"For how long the former secret signs too: 24h without, at most 168h. 0s ends all former ones at once."`
}

// upTo reads a duration.
func (d *decoder) upTo(longest time.Duration, into *time.Duration) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.String) {
			return
		}
		got, err := time.ParseDuration(v.Text)
		if err != nil || got < 0 || got > longest {
			d.wrong(pointer, "write a duration up to %s, such as 24h", longest)
			return
		}
		*into = got
	}
}

func (a *API) rotateWebhook(ctx context.Context, in *changeWebhookIn) (NewWebhookView, error) {
	id, err := parseID[ident.Webhook](in.ID)
	if err != nil {
		return NewWebhookView{}, err
	}
	former := deliver.FormerFor
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"former_for", d.upTo(deliver.LongestFormer, &former)}}
	})
	if err != nil {
		return NewWebhookView{}, err
	}
	who := principalOf(ctx)
	w, secret, err := a.cfg.Webhooks.Rotate(ctx, who.Tenant, id, who.Key, former)
	if err != nil {
		return NewWebhookView{}, err
	}
	return NewWebhookView{webhookView(&w), secret}, nil
}

// WebhookTestView is what came of a test.
type WebhookTestView struct {
	ID        string `json:"id" doc:"What the request carried as webhook-id. It is no event's."`
	Delivered bool   `json:"delivered"`
	Status    int    `json:"status" doc:"HTTP status of the answer; 0: there was none."`
	Problem   string `json:"problem,omitempty" doc:"Why there was no answer; docs/webhooks.md lists the words. Accept unknown values."`
	TookMs    int64  `json:"took_ms"`
}

func (a *API) testWebhook(ctx context.Context, in *oneIn) (WebhookTestView, error) {
	id, err := parseID[ident.Webhook](in.ID)
	if err != nil {
		return WebhookTestView{}, err
	}
	t, err := a.cfg.Webhooks.Test(ctx, principalOf(ctx).Tenant, id)
	if err != nil {
		return WebhookTestView{}, err
	}
	return WebhookTestView{
		ID: t.ID, Delivered: t.Answer.Verdict() == webhook.Took, Status: t.Answer.Status, Problem: string(t.Answer.Problem), TookMs: t.Took.Milliseconds(),
	}, nil
}
