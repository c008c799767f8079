package deliver

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
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

// mostFormers bounds the secrets that sign beside the current one: each makes every request's signatures longer.
const mostFormers = 3

// former is a secret that signs beside the current one until it ends.
type former struct {
	secret string
	until  clock.Micros
}

// Next makes another secret, and keeps the one before beside it until then. Those that are live already stay as long as
// they were to: whoever lost the answer of one rotation and asks for another still has the secret from before the first.
// With an end that is not ahead all of them end at once: that is what is asked for when one has leaked.
func (s Secrets) Next(ctx context.Context, w *store.Webhook, now, until clock.Micros) (string, store.WebhookSecrets, error) {
	current, err := s.open(ctx, w, placeCurrent, w.Secrets.Current)
	if err != nil {
		return "", store.WebhookSecrets{}, err
	}
	var live []former
	if until > now {
		if live, err = s.formers(ctx, w, now); err != nil {
			return "", store.WebhookSecrets{}, err
		}
		if len(live) >= mostFormers {
			return "", store.WebhookSecrets{}, fault.New(fault.State, "%d former secrets still sign: wait until one ends, or rotate with former_for 0s, which ends them all", len(live))
		}
		live = append(live, former{string(current), until})
	}
	plain := newSecret()
	key, wrapped := s.Sealer.NewOwnKey()
	next := store.WebhookSecrets{OwnKey: wrapped, Current: key.Seal(secret.Place(placeCurrent, w.ID), []byte(plain))}
	if len(live) > 0 {
		next.Former = key.Seal(secret.Place(placeFormer, w.ID), []byte(join(live)))
	}
	for _, f := range live {
		next.FormerUntil = max(next.FormerUntil, f.until)
	}
	return plain, next, nil
}

// join is how former secrets are kept: one alone as itself, several with their ends, secret@until, a space between. What
// knows one alone cannot read several, and then does not sign with half of them.
func join(live []former) string {
	if len(live) == 1 {
		return live[0].secret
	}
	words := make([]string, len(live))
	for i, f := range live {
		words[i] = f.secret + "@" + strconv.FormatInt(int64(f.until), 10)
	}
	return strings.Join(words, " ")
}

// formers are the former secrets that are live, the oldest first.
func (s Secrets) formers(ctx context.Context, w *store.Webhook, now clock.Micros) ([]former, error) {
	if w.Secrets.Former == nil || now >= w.Secrets.FormerUntil {
		return nil, nil
	}
	kept, err := s.open(ctx, w, placeFormer, w.Secrets.Former)
	if err != nil {
		return nil, err
	}
	var live []former
	for word := range strings.FieldsSeq(string(kept)) {
		f := former{word, w.Secrets.FormerUntil}
		if plain, end, several := strings.Cut(word, "@"); several {
			until, err := strconv.ParseInt(end, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("the former secrets of %s are not as they were stored", w.ID)
			}
			f = former{plain, clock.Micros(until)}
		}
		if now < f.until {
			live = append(live, f)
		}
	}
	return live, nil
}

func (s Secrets) open(ctx context.Context, w *store.Webhook, place string, sealed []byte) ([]byte, error) {
	plain, err := s.Sealer.Open(ctx, secret.Place(place, w.ID), sealed, w.Secrets.OwnKey)
	if err != nil {
		return nil, fmt.Errorf("open the secret of %s: %w", w.ID, err)
	}
	return plain, nil
}

// headers are those of Standard Webhooks: with a signature by each former secret that is live, too.
func (s Secrets) headers(ctx context.Context, w *store.Webhook, id string, body []byte, now time.Time) (map[string]string, error) {
	current, err := s.open(ctx, w, placeCurrent, w.Secrets.Current)
	if err != nil {
		return nil, err
	}
	live, err := s.formers(ctx, w, clock.FromTime(now))
	if err != nil {
		return nil, err
	}
	signature, err := sign(string(current), id, now, body)
	for _, f := range live {
		if err != nil {
			break
		}
		var another string
		another, err = sign(f.secret, id, now, body)
		signature += " " + another
	}
	if err != nil {
		return nil, err
	}
	return map[string]string{
		standardwebhooks.HeaderWebhookID: id, standardwebhooks.HeaderWebhookTimestamp: strconv.FormatInt(now.Unix(), 10),
		standardwebhooks.HeaderWebhookSignature: signature,
	}, nil
}

func sign(key string, id string, now time.Time, body []byte) (string, error) {
	w, err := standardwebhooks.NewWebhook(key)
	if err != nil {
		return "", fmt.Errorf("a stored webhook secret is not one")
	}
	return w.Sign(id, now, body)
}
