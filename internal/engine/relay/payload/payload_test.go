package payload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// read reads an id.
func read(t *testing.T, into interface{ UnmarshalText([]byte) error }, text string) {
	t.Helper()
	if err := into.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

var epoch = time.Date(2026, 12, 31, 10, 0, 0, 0, time.UTC)

// delivered is the event of docs/webhooks.md.
func delivered(t *testing.T) *store.FeedEvent {
	t.Helper()
	e := &store.FeedEvent{
		Seq: 3,
		Event: evidence.Event{N: 3, At: clock.FromTime(epoch.Add(2 * time.Second)), Kind: evidence.EventReceipt, From: message.Accepted, To: message.Delivered,
			Attempt: 1, Part: 1,
			Detail: map[string]string{"status": "DELIVRD", "state": "delivered", "match": "external_id"}},
		Facts: store.Facts{
			CreatedAt: clock.FromTime(epoch), ValidUntil: clock.FromTime(epoch.Add(time.Hour)),
			Purpose: "order_confirmation", Kind: "confirmation", PolicyID: "shop@7", Destination: "+12025550143", Sender: "SHOP",
			Event: intent.Event{Type: "order", ID: "A-1001", Version: "1"}, Template: intent.Template{ID: "order_confirmed", Version: "3"},
			CorrelationID: "checkout-77f1", Connection: 1, IntentKey: intent.Key{0xab}, Metadata: []byte("sealed"), Parts: 1,
		},
	}
	read(t, &e.Message, "msg_019a3c5e8f7b7c2a9d41e6b0a5c3f001")
	read(t, &e.Facts.Decision, "dec_019a3c5e8f7b7c2a9d41e6b0a5c3f002")
	read(t, &e.Receipt, "rcp_019a3c5e8f7b7c2a9d41e6b0a5c3f003")
	return e
}

func builder(simulated bool) *Builder {
	return &Builder{
		Simulated: func(context.Context, int64) (bool, error) { return simulated, nil },
		Metadata: func(_ context.Context, _ ident.Message, sealed []byte) (map[string]string, error) {
			if string(sealed) != "sealed" {
				return nil, errors.New("damaged")
			}
			return map[string]string{"basket": "77"}, nil
		},
	}
}

// The page's body is the one that is sent, byte for byte but for its spaces. Whoever changes it changes what is under way: a
// repeat of an event that was told before the release has to have the older form.
//
// covers: I12
func TestBodyIsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)<!-- body -->\n```json\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/webhooks.md has no body")
	}
	var want bytes.Buffer
	if err := json.Compact(&want, found[1]); err != nil {
		t.Fatal(err)
	}
	for range 20 { // maps have no order of their own
		got, err := builder(false).Body(t.Context(), delivered(t))
		if err != nil || string(got) != want.String() {
			t.Fatalf("%v\n%s\nwant\n%s", err, got, want.String())
		}
	}
}

// covers: D15
func TestCodesKeepTheirMetadata(t *testing.T) {
	e := delivered(t)
	e.Facts.Kind = "authentication"
	got, err := builder(true).Body(t.Context(), e)
	if err != nil || strings.Contains(string(got), "basket") || !strings.Contains(string(got), `"simulated":true`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWhatCannotBeOpenedIsNotTold(t *testing.T) {
	e := delivered(t)
	e.Facts.Metadata = []byte("another's")
	if got, err := builder(true).Body(t.Context(), e); err == nil {
		t.Errorf("%s", got)
	}
	b := builder(true)
	b.Simulated = func(context.Context, int64) (bool, error) { return false, errors.New("no store") }
	if got, err := b.Body(t.Context(), delivered(t)); err == nil {
		t.Errorf("%s", got)
	}
}

// What is not there is left out, and a number that cannot be read is not shown.
func TestLittleIsToldOfLittle(t *testing.T) {
	e := &store.FeedEvent{Seq: 1, Message: ident.Message{1}, Event: evidence.Event{N: 1, Kind: evidence.EventTaken, To: message.Pending}, Facts: store.Facts{Destination: "secret", Parts: 1}}
	got, err := builder(false).Body(t.Context(), e)
	for _, absent := range []string{"secret", "template", "metadata", "correlation_id", `"attempt"`, "detail"} {
		if err != nil || strings.Contains(string(got), absent) {
			t.Errorf("%s is in %s, %v", absent, got, err)
		}
	}
	if !strings.Contains(string(got), `"from":null`) || !strings.Contains(string(got), `"to":"•••"`) {
		t.Errorf("%s", got)
	}
}
