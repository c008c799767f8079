package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/engine/relay/deliver"
	"github.com/einmal/einmal/internal/engine/relay/payload"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// fakeWebhooks is the part of a store that keeps endpoints, and one delivery to the first of them.
type fakeWebhooks struct {
	all   []store.Webhook
	told  store.WebhookDelivery
	state webhook.State // that was asked for
	woken int
}

var errNoHook = fault.New(fault.NotFound, "there is no such webhook")

func (f *fakeWebhooks) PutWebhook(_ context.Context, w store.Webhook, _ int) (store.Webhook, error) {
	w.Version, w.CreatedAt = 1, after(0)
	f.all = append(f.all, w)
	return w, nil
}

func (f *fakeWebhooks) Webhook(_ context.Context, tenant ident.Partition, id ident.Webhook) (store.Webhook, error) {
	for _, w := range f.all {
		if w.ID == id && w.Tenant == tenant {
			return w, nil
		}
	}
	return store.Webhook{}, errNoHook
}

func (f *fakeWebhooks) ListWebhooks(_ context.Context, tenant ident.Partition) ([]store.Webhook, error) {
	return slices.DeleteFunc(slices.Clone(f.all), func(w store.Webhook) bool { return w.Tenant != tenant }), nil
}

func (f *fakeWebhooks) ChangeWebhook(_ context.Context, w store.Webhook) (store.Webhook, error) {
	for i := range f.all {
		if f.all[i].ID == w.ID {
			f.all[i] = w
		}
	}
	return w, nil
}

func (f *fakeWebhooks) RemoveWebhook(ctx context.Context, tenant ident.Partition, id ident.Webhook, _ string) error {
	_, err := f.Webhook(ctx, tenant, id)
	return err
}

func (f *fakeWebhooks) ListDeliveries(ctx context.Context, tenant ident.Partition, id ident.Webhook, state webhook.State, before int64, limit int) ([]store.WebhookDelivery, error) {
	f.state = state
	all := []store.WebhookDelivery{}
	for seq := min(before, 4) - 1; seq > 0 && len(all) < limit; seq-- {
		d := f.told
		d.Seq, d.Event.Seq = seq, seq
		all = append(all, d)
	}
	_, err := f.Webhook(ctx, tenant, id)
	return all, err
}

func (f *fakeWebhooks) WebhookDelivery(ctx context.Context, tenant ident.Partition, id store.DeliveryID) (store.WebhookDelivery, error) {
	_, err := f.Webhook(ctx, tenant, id.Webhook)
	return f.told, err
}

func (f *fakeWebhooks) ReplayDelivery(ctx context.Context, tenant ident.Partition, id store.DeliveryID, again store.AgainFunc) (webhook.Delivery, error) {
	if _, err := f.Webhook(ctx, tenant, id.Webhook); err != nil {
		return webhook.Delivery{}, err
	}
	f.told.Delivery, _ = again(f.told.Delivery, after(time.Second))
	return f.told.Delivery, nil
}

func (f *fakeWebhooks) ReplayDead(ctx context.Context, tenant ident.Partition, id ident.Webhook, _ int, _ store.AgainFunc) (int, error) {
	_, err := f.Webhook(ctx, tenant, id)
	return 3, err
}

func (f *fakeWebhooks) Now(context.Context) (clock.Micros, error) { return after(0), nil }

// after is a time after the beginning of these tests.
func after(d time.Duration) clock.Micros { return clock.FromTime(epoch.Add(d)) }

// builder builds what is told; nothing is sealed here.
var builder = &payload.Builder{
	Simulated: func(context.Context, int64) (bool, error) { return true, nil },
	Metadata:  func(context.Context, ident.Message, []byte) (map[string]string, error) { return nil, nil },
}

// answering is an endpoint that gives an answer without a network.
type answering struct {
	asked []*http.Request
	err   error
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r)
	rec := httptest.NewRecorder()
	rec.WriteHeader(http.StatusAccepted)
	return rec.Result(), a.err
}

// refusing is a client that reaches nobody.
var refusing = &http.Client{Transport: &answering{err: errors.New("no network here")}}

func (w *world) hooks() *deliver.Admin {
	secrets := deliver.Secrets{Sealer: secret.NewSealer([secret.KeySize]byte{3}, nil)}
	w.endpoint = &answering{}
	return &deliver.Admin{Store: w.store, Secrets: secrets, Poster: &deliver.Poster{Client: &http.Client{Transport: w.endpoint}, Secrets: secrets}}
}

// hook makes an endpoint with one delivery that was given up.
func (w *world) hook(key string) NewWebhookView {
	w.t.Helper()
	var made NewWebhookView
	w.decode(w.call("POST", "/v1/webhooks", key, `{"url":"https://example.com/hooks?token=x","types":["message.*"]}`), 201, &made)
	id := w.store.all[len(w.store.all)-1].ID
	w.store.told = store.WebhookDelivery{
		DeliveryID: store.DeliveryID{Webhook: id, Seq: 41}, Event: store.FeedEvent{Seq: 41, Message: w.store.message.ID, Event: w.store.events[2]},
		Delivery: webhook.Delivery{State: webhook.Dead, Fence: 11, Failures: 11, DoneAt: after(time.Hour), Problem: webhook.Timeout},
	}
	return made
}

// The secret is shown when it is made, and nowhere else.
//
// covers: X5, M6
func TestWebhooks(t *testing.T) {
	w := newWorld(t)
	w.fill()
	made := w.hook(w.admin)
	if !strings.HasPrefix(made.Secret, "whsec_") || made.URL != "https://example.com/hooks?token=x" || !made.Enabled || made.FormerSecretUntil != nil ||
		!slices.Equal(made.Types, []string{"message.*"}) || made.CreatedBy == "" {
		t.Errorf("made as %+v", made)
	}
	path := "/v1/webhooks/" + made.ID
	for _, shown := range []string{"/v1/webhooks", path, path + "/deliveries"} {
		if rec := w.call("GET", shown, w.admin, ""); rec.Code != 200 || strings.Contains(rec.Body.String(), "whsec_") {
			t.Errorf("%s: %d %s", shown, rec.Code, rec.Body)
		}
	}
	var rotated NewWebhookView
	w.decode(w.call("POST", path+"/rotate", w.admin, `{"former_for":"1h"}`), 200, &rotated)
	if rotated.Secret == made.Secret || rotated.FormerSecretUntil == nil || *rotated.FormerSecretUntil != "2026-12-31T11:00:00Z" {
		t.Errorf("rotated to %+v", rotated)
	}
	var changed WebhookView
	w.decode(w.call("PATCH", path, w.admin, `{"types":["*"],"enabled":false}`), 200, &changed)
	if changed.Enabled || !slices.Equal(changed.Types, []string{"*"}) || changed.URL != made.URL || w.store.woken != 1 {
		t.Errorf("changed to %+v, and %d wakes", changed, w.store.woken)
	}
	var tested WebhookTestView
	w.decode(w.call("POST", path+"/test", w.admin, ""), 200, &tested)
	if len(w.endpoint.asked) != 1 || !tested.Delivered || tested.Status != 202 || tested.ID == "" || w.endpoint.asked[0].Header.Get("webhook-id") != tested.ID ||
		len(strings.Fields(w.endpoint.asked[0].Header.Get("webhook-signature"))) != 2 {
		t.Errorf("tested as %+v", tested)
	}
	w.decode(w.call("DELETE", path, w.admin, ""), 200, &RemovedView{})
}

// covers: I12, M6
func TestDeliveriesAreShownAndReplayed(t *testing.T) {
	w := newWorld(t)
	w.fill()
	made := w.hook(w.admin)
	path := "/v1/webhooks/" + made.ID + "/deliveries"
	var page List[DeliveryView]
	w.get(path+"?state=dead&limit=2", 200, &page)
	if d := page.Data[0]; len(page.Data) != 2 || *page.Next != "2" || d.State != "dead" || d.Claims != 11 || d.Failures != 11 || d.Problem != "timeout" ||
		d.NextAt != nil || *d.EndedAt != "2026-12-31T11:00:00Z" || d.Type != "message.delivered" || w.store.state != webhook.Dead {
		t.Errorf("%+v, asked for %s", page, w.store.state)
	}
	w.get(path+"?after=2", 200, &page)
	if len(page.Data) != 1 || page.Data[0].Sequence != 1 {
		t.Errorf("the next page is %+v", page)
	}
	p := w.problem(w.call("GET", path+"?state=sent", w.admin, ""), 400, fault.Invalid)
	if len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Detail, "pending, delivering, delivered, dead") {
		t.Errorf("%+v", p)
	}
	one := "/v1/deliveries/" + deliveryText(w.store.told.DeliveryID)
	var d OneDeliveryView
	w.get(one, 200, &d)
	if d.Event != d.Body.ID || d.Body.Data.Message.State != "delivered" || !strings.HasSuffix(d.ID, "_41") {
		t.Errorf("%+v", d)
	}
	w.decode(w.call("POST", one+"/replay", w.admin, ""), 200, &d)
	if d.State != "pending" || d.NextAt == nil || d.EndedAt != nil || w.store.woken != 1 {
		t.Errorf("replayed as %+v", d)
	}
	var all ReplayedView
	w.decode(w.call("POST", "/v1/webhooks/"+made.ID+"/replay", w.admin, ""), 200, &all)
	if all.Replayed != 3 || all.More || w.store.woken != 2 {
		t.Errorf("replayed all: %+v", all)
	}
	for _, id := range []string{"dlv_", "dlv_1_2", "msg_1", strings.TrimSuffix(one, "_41")[len("/v1/deliveries/"):]} {
		w.problem(w.call("GET", "/v1/deliveries/"+id, w.admin, ""), 404, fault.NotFound)
	}
}

// covers: M6
func TestWrongWebhooksAreTold(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string][2]string{
		`{}`:                                {"#/url", "missing"},
		`{"url":""}`:                        {"#/url", "empty"},
		`{"url":"http://example.com/"}`:     {"#/url", "https://"},
		`{"url":"https://127.0.0.1/"}`:      {"#/url", "has to be public"},
		`{"url":"https://a:b@example.com"}`: {"#/url", "name and password"},
		`{"url":"https://example.com:22/"}`: {"#/url", "port 443"},
		`{"url":"https://example.com/` + strings.Repeat("a", 2000) + `"}`: {"#/url", "at most 2000 bytes"},
		`{"url":"https://example.com/","types":[]}`:                       {"#/types", "empty"},
		`{"url":"https://example.com/","types":["message.deliverd"]}`:     {"#/types", "message.delivered"},
		`{"url":"https://example.com/","enabled":"yes"}`:                  {"#/enabled", "true or false"},
		`{"url":"https://example.com/","secret":"mine"}`:                  {"#/secret", "member"},
	} {
		p := w.problem(w.call("POST", "/v1/webhooks", w.admin, body), 400, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Pointer != want[0] || !strings.Contains(p.Errors[0].Detail, want[1]) {
			t.Errorf("%.60s: %+v, want %s", body, p.Errors, want)
		}
	}
	w.fill()
	made := w.hook(w.admin)
	for _, body := range []string{`{"former_for":"200h"}`, `{"former_for":"-1s"}`, `{"former_for":"soon"}`, `{"former_for":5}`} {
		w.problem(w.call("POST", "/v1/webhooks/"+made.ID+"/rotate", w.admin, body), 400, fault.Invalid)
	}
}
