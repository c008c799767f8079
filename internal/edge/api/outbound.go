package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Outbound is what the API needs of engine/outbound. Errors are faults; those about the request's content are
// fault.Invalid with a field for each.
type Outbound interface {
	Submit(ctx context.Context, s outbound.Submission) (outbound.Answer, error)
	SubmitAll(ctx context.Context, subs []outbound.Submission) []outbound.Submitted
	// AnswerSent says that an answer for which that is awaited got out.
	AnswerSent(a *outbound.Answer)
	Cancel(ctx context.Context, tenant ident.Partition, id ident.Message, person, reason string) (*store.Message, error)
	// ApplyPolicy brings a policy file into force; changed is false if it was already.
	ApplyPolicy(ctx context.Context, file string, source []byte, by string) (p store.PolicyVersion, changed bool, err error)
}

// Contents opens what is sealed of a message.
type Contents interface {
	Metadata(ctx context.Context, m *store.Message) (map[string]string, error)
	// ToRaw is the destination as it was asked for; "" when it is destroyed, together with the text.
	ToRaw(ctx context.Context, m *store.Message) (string, error)
}

// Store is the part of the store that is needed.
type Store interface {
	store.Reader
	store.Keys
	store.Administration
	store.Stops
	store.Webhooks
	ListDeliveries(ctx context.Context, tenant ident.Partition, id ident.Webhook, state webhook.State, before int64, limit int) ([]store.WebhookDelivery, error)
	WebhookDelivery(ctx context.Context, tenant ident.Partition, id store.DeliveryID) (store.WebhookDelivery, error)
	ReplayDelivery(ctx context.Context, tenant ident.Partition, id store.DeliveryID, again store.AgainFunc) (webhook.Delivery, error)
	ReplayDead(ctx context.Context, tenant ident.Partition, id ident.Webhook, limit int, again store.AgainFunc) (int, error)
	store.Wallets
	PolicyInForce(ctx context.Context) (name string, version int, err error)
	Policy(ctx context.Context, name string, version int) (store.PolicyVersion, error)
	ListPolicies(ctx context.Context, before int64, limit int) ([]store.PolicyVersion, error)
	After(ctx context.Context, tenant ident.Partition, seq int64, limit int) ([]store.FeedEvent, error)
	TenantNames(ctx context.Context) (map[ident.Partition]string, error)
	ConnectionNames(ctx context.Context) (map[int64]string, error)
}

// sendOperation is what idempotency keys of POST /v1/messages are scoped to, beside the tenant (D8). It is part
// of stored keys and never changes.
const sendOperation = "messages.send"
