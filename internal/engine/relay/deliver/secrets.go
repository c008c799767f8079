package deliver

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// What an endpoint's sealed secrets are bound to, beside its id. They never change.
const (
	placeCurrent = "webhook secret"
	placeFormer  = "webhook former secret"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32 // Standard Webhooks asks for 24 to 64
)

// Secrets makes endpoints' secrets and signs with them.
type Secrets struct{ Sealer *secret.Sealer }

// newSecret is as tenants see it, once.
func newSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails: crypto/rand ends the program instead
	return secretPrefix + base64.StdEncoding.EncodeToString(raw)
}

// First makes the secret of a new endpoint.
func (s Secrets) First(id ident.Webhook) (string, store.WebhookSecrets) {
	plain := newSecret()
	key, wrapped := s.Sealer.NewOwnKey()
	return plain, store.WebhookSecrets{OwnKey: wrapped, Current: key.Seal(secret.Place(placeCurrent, id), []byte(plain))}
}

// Next makes another secret, and keeps the one before beside it for a while.
func (s Secrets) Next(ctx context.Context, w *store.Webhook, until clock.Micros) (string, store.WebhookSecrets, error) {
	former, err := s.open(ctx, w, placeCurrent, w.Secrets.Current)
	if err != nil {
		return "", store.WebhookSecrets{}, err
	}
	plain := newSecret()
	key, wrapped := s.Sealer.NewOwnKey()
	return plain, store.WebhookSecrets{
		OwnKey: wrapped, Current: key.Seal(secret.Place(placeCurrent, w.ID), []byte(plain)),
		Former: key.Seal(secret.Place(placeFormer, w.ID), former), FormerUntil: until,
	}, nil
}

func (s Secrets) open(ctx context.Context, w *store.Webhook, place string, sealed []byte) ([]byte, error) {
	plain, err := s.Sealer.Open(ctx, secret.Place(place, w.ID), sealed, w.Secrets.OwnKey)
	if err != nil {
		return nil, fmt.Errorf("open the secret of %s: %w", w.ID, err)
	}
	return plain, nil
}

// headers are those of Standard Webhooks: with two signatures while a former secret is live.
func (s Secrets) headers(ctx context.Context, w *store.Webhook, id string, body []byte, now time.Time) (map[string]string, error) {
	current, err := s.open(ctx, w, placeCurrent, w.Secrets.Current)
	if err != nil {
		return nil, err
	}
	signature, err := sign(current, id, now, body)
	if err != nil {
		return nil, err
	}
	if w.Secrets.Former != nil && clock.FromTime(now) < w.Secrets.FormerUntil {
		former, err := s.open(ctx, w, placeFormer, w.Secrets.Former)
		if err != nil {
			return nil, err
		}
		older, err := sign(former, id, now, body)
		if err != nil {
			return nil, err
		}
		signature += " " + older
	}
	return map[string]string{
		standardwebhooks.HeaderWebhookID: id, standardwebhooks.HeaderWebhookTimestamp: strconv.FormatInt(now.Unix(), 10),
		standardwebhooks.HeaderWebhookSignature: signature,
	}, nil
}

func sign(key []byte, id string, now time.Time, body []byte) (string, error) {
	w, err := standardwebhooks.NewWebhook(string(key))
	if err != nil {
		return "", fmt.Errorf("a stored webhook secret is not one")
	}
	return w.Sign(id, now, body)
}
