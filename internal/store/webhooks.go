package store

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Webhook is an endpoint of a tenant.
type Webhook struct {
	ID      ident.Webhook
	Tenant  ident.Partition
	URL     string // may hold a secret of the tenant's: it is never logged
	Types   webhook.Filter
	Enabled bool
	Version int64 // raised by each change
	Secrets WebhookSecrets

	CreatedAt, ChangedAt clock.Micros
	CreatedBy, ChangedBy string // the API key's id
}

// WebhookSecrets are what requests are signed with, sealed under a key of the endpoint's own: days' keys end.
type WebhookSecrets struct {
	OwnKey      []byte // wrapped
	Current     []byte // sealed
	Former      []byte // sealed; nil: there is none
	FormerUntil clock.Micros
}

// Webhooks administers endpoints. Everything is for one tenant: another one's are not found.
type Webhooks interface {
	// PutWebhook stores a new endpoint; fault.State: the tenant has so many already.
	PutWebhook(ctx context.Context, w Webhook, most int) (Webhook, error)
	Webhook(ctx context.Context, tenant ident.Partition, id ident.Webhook) (Webhook, error)
	// ListWebhooks lists a tenant's endpoints, the newest first.
	ListWebhooks(ctx context.Context, tenant ident.Partition) ([]Webhook, error)
	// ChangeWebhook stores URL, Types, Enabled, Secrets and ChangedBy; fault.State: it was changed since w was read.
	ChangeWebhook(ctx context.Context, w Webhook) (Webhook, error)
	// RemoveWebhook ends an endpoint. What it was not told yet it is not told any more; TrimDeliveries removes it.
	RemoveWebhook(ctx context.Context, tenant ident.Partition, id ident.Webhook, by string) error
}

// DeliveryID names the delivery of an event to an endpoint.
type DeliveryID struct {
	Webhook ident.Webhook
	Seq     int64
}

// WebhookDelivery is one as it is shown.
type WebhookDelivery struct {
	DeliveryID
	webhook.Delivery
	Event FeedEvent
}

// DueWebhook is an endpoint for which something waits.
type DueWebhook struct {
	ID     ident.Webhook
	Tenant ident.Partition
	NextAt clock.Micros // of what is due first; it may lie ahead
}

// ClaimedDelivery is one that a node posts before its lease ends.
type ClaimedDelivery struct {
	DeliveryID
	Fence   int64
	Webhook Webhook
	Event   FeedEvent
}

// DeliveryResult is how one ended.
type DeliveryResult struct {
	DeliveryID
	webhook.Result
}

// SettleFunc is webhook.Settle.
type SettleFunc func(d webhook.Delivery, r webhook.Result, now clock.Micros) webhook.Delivery

// Deliveries tells endpoints of events. They are made by the transaction that gives an event its sequence (Feed), for the
// tenant's endpoints that are enabled and want it: all or none.
type Deliveries interface {
	// DueWebhooks lists enabled endpoints with something open, and the store's time.
	DueWebhooks(ctx context.Context) ([]DueWebhook, clock.Micros, error)
	// ClaimDeliveries takes what is due of each endpoint, or what a lease has ended of, at most as granted. What another
	// transaction has locked is passed over. While traffic waits it takes nothing.
	ClaimDeliveries(ctx context.Context, grants []webhook.Grant, lease time.Duration) ([]ClaimedDelivery, error)
	// EnabledWebhooks reads endpoints, whatever tenants they are of, as far as they are there and switched on.
	EnabledWebhooks(ctx context.Context, ids []ident.Webhook) ([]Webhook, error)
	// SettleDeliveries notes results, whoever claimed what they are about. Those that are gone are passed over. It
	// returns the deliveries as they are then, in the order of the results.
	SettleDeliveries(ctx context.Context, results []DeliveryResult, settle SettleFunc) ([]webhook.Delivery, error)
	// ListDeliveries lists an endpoint's deliveries of a state, 0 for all, the newest event first, of sequences below
	// before.
	ListDeliveries(ctx context.Context, tenant ident.Partition, id ident.Webhook, state webhook.State, before int64, limit int) ([]WebhookDelivery, error)
	// WebhookDelivery is one of them.
	WebhookDelivery(ctx context.Context, tenant ident.Partition, id DeliveryID) (WebhookDelivery, error)
	// ReplayDelivery has one told again; fault.State: it is under way.
	ReplayDelivery(ctx context.Context, tenant ident.Partition, id DeliveryID, again AgainFunc) (webhook.Delivery, error)
	// ReplayDead has dead ones told again, the oldest first, at most limit of them, and returns how many.
	ReplayDead(ctx context.Context, tenant ident.Partition, id ident.Webhook, limit int, again AgainFunc) (int, error)
	// TrimDeliveries removes what was delivered before the time, what is left of endpoints that were removed, and dead
	// ones whose event is forgotten, and makes dead letters of what waits for endpoints that were disabled for longer than
	// webhook.Patience: at most limit of them in all.
	TrimDeliveries(ctx context.Context, before clock.Micros, limit int) (int, error)
}

// AgainFunc is webhook.Again.
type AgainFunc func(d webhook.Delivery, now clock.Micros) (webhook.Delivery, bool)
