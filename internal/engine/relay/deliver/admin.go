package deliver

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/egress"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// AdminStore is the part of the store that administering endpoints needs.
type AdminStore interface {
	store.Webhooks
	Now(ctx context.Context) (clock.Micros, error)
}

// Admin makes and changes endpoints.
type Admin struct {
	Store   AdminStore
	Secrets Secrets
	Poster  *Poster
	Rules   egress.Rules
}

const (
	// mostWebhooks bounds a tenant's endpoints: each costs a row for every event.
	mostWebhooks = 20
	// longestURL is the longest address, in bytes.
	longestURL = 2000
	// FormerFor is how long a former secret stays live beside a new one, and the longest that may be asked for.
	FormerFor, LongestFormer = 24 * time.Hour, 7 * 24 * time.Hour
)

// Wish is what a tenant wants of an endpoint; nil: as it is.
type Wish struct {
	URL     *string
	Types   []string
	Enabled *bool
}

// Create makes an endpoint, and returns the secret, which is shown once.
func (a *Admin) Create(ctx context.Context, tenant ident.Partition, by string, wish Wish) (store.Webhook, string, error) {
	w := store.Webhook{ID: ident.NewWebhook(tenant), Tenant: tenant, Types: webhook.Filter{webhook.All}, Enabled: true, CreatedBy: by}
	if wish.URL == nil {
		return store.Webhook{}, "", wrong("#/url", "missing: write the address that is to be told")
	}
	if err := a.apply(&w, wish); err != nil {
		return store.Webhook{}, "", err
	}
	var plain string
	plain, w.Secrets = a.Secrets.First(w.ID)
	made, err := a.Store.PutWebhook(ctx, w, mostWebhooks)
	return made, plain, err
}

// Change changes an endpoint.
func (a *Admin) Change(ctx context.Context, tenant ident.Partition, id ident.Webhook, by string, wish Wish) (store.Webhook, error) {
	w, err := a.Store.Webhook(ctx, tenant, id)
	if err == nil {
		err = a.apply(&w, wish)
	}
	if err != nil {
		return store.Webhook{}, err
	}
	w.ChangedBy = by
	return a.Store.ChangeWebhook(ctx, w)
}

func wrong(pointer, detail string) error {
	return &fault.Fault{Code: fault.Invalid, Detail: "one field is wrong", Fields: []fault.Field{{Pointer: pointer, Detail: detail}}}
}

func (a *Admin) apply(w *store.Webhook, wish Wish) error {
	if wish.URL != nil {
		if len(*wish.URL) > longestURL {
			return wrong("#/url", "too long: at most 2000 bytes")
		}
		u, err := a.Rules.URL(*wish.URL)
		if err != nil {
			return wrong("#/url", err.Error())
		}
		w.URL = u.String()
	}
	if wish.Types != nil {
		w.Types = wish.Types
		if len(w.Types) == 0 {
			return wrong("#/types", "empty: name types, or write [\"*\"] for all")
		}
		if w.Types.Wrong() != "" {
			return wrong("#/types", "not a type of event: write *, message.*, attempt.*, or some of "+strings.Join(webhook.Types(), ", "))
		}
	}
	if wish.Enabled != nil {
		w.Enabled = *wish.Enabled
	}
	return nil
}

// Rotate gives an endpoint another secret, shown once. The former one signs beside it for a while; without one, nothing
// that was before does.
func (a *Admin) Rotate(ctx context.Context, tenant ident.Partition, id ident.Webhook, by string, former time.Duration) (store.Webhook, string, error) {
	w, err := a.Store.Webhook(ctx, tenant, id)
	if err != nil {
		return w, "", err
	}
	now, err := a.Store.Now(ctx)
	if err != nil {
		return w, "", err
	}
	plain, secrets, err := a.Secrets.Next(ctx, &w, now, now.Add(former))
	if err != nil {
		return w, "", err
	}
	w.Secrets, w.ChangedBy = secrets, by
	w, err = a.Store.ChangeWebhook(ctx, w)
	return w, plain, err
}

// Tested is what came of a test.
type Tested struct {
	ID     string
	Answer webhook.Answer
	Took   time.Duration
}

// Test posts something that is no event, signed as events are, to show whether they would arrive. It may be switched off.
func (a *Admin) Test(ctx context.Context, tenant ident.Partition, id ident.Webhook) (Tested, error) {
	w, err := a.Store.Webhook(ctx, tenant, id)
	if err != nil {
		return Tested{}, err
	}
	now, err := a.Store.Now(ctx)
	if err != nil {
		return Tested{}, err
	}
	t := Tested{ID: "test_" + strings.TrimPrefix(ident.NewWebhook(tenant).String(), "whk_")}
	body, err := json.Marshal(map[string]any{
		"id": t.ID, "type": "webhook.test", "timestamp": now.Time().Format(time.RFC3339Nano), "data": map[string]string{"webhook": w.ID.String()},
	})
	if err != nil {
		return t, err
	}
	began := time.Now()
	t.Answer = a.Poster.Post(ctx, &w, t.ID, body, now.Time())
	t.Took = time.Since(began)
	return t, nil
}
