// Package payload is what tenants are told of an event: by their webhooks, by a test of one, and by GET /v1/events.
//
// It is made of what is never changed: the event and the facts of its message. So a repeat has the same bytes on every
// node, after every restart, and whatever has happened to the message since. Nothing is stored for that; in return a
// release that changes the form has to go on making the older one for what is under way, which a golden file watches.
package payload

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Notice is an event as tenants are told of it.
type Notice struct {
	ID        string     `json:"id" doc:"The event's own id: the same in every repeat, and what to know a repeat by."`
	Type      string     `json:"type" doc:"What happened, such as message.delivered; docs/webhooks.md lists the types. Accept unknown values."`
	Timestamp string     `json:"timestamp" format:"date-time" doc:"When it happened."`
	Sequence  int64      `json:"sequence" doc:"Its place in the tenant's feed, numbered without a gap as long as the store was not put back; then it goes on above the next multiple of 2^40. It says which event came first, in whatever order they arrive."`
	Simulated bool       `json:"simulated"`
	Data      NoticeData `json:"data"`
}

// NoticeData is the message as of the event, and the event itself.
type NoticeData struct {
	Message NoticeMessage `json:"message"`
	Event   NoticeEvent   `json:"event"`
}

// NoticeMessage is a message as of an event.
type NoticeMessage struct {
	ID               string            `json:"id"`
	State            string            `json:"state" doc:"What it was after this event. Accept unknown values."`
	Parts            int               `json:"parts"`
	Purpose          string            `json:"purpose"`
	To               string            `json:"to" doc:"The destination, masked."`
	Business         *NoticeBusiness   `json:"event,omitempty" doc:"The business event of the request."`
	Sender           string            `json:"sender"`
	Template         *NoticeTemplate   `json:"template,omitempty"`
	CorrelationID    string            `json:"correlation_id,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty" doc:"As it was given along. That of a code is left out: it ends with the code."`
	Channel          string            `json:"channel" doc:"sms. Accept unknown values."`
	CreatedAt        string            `json:"created_at" format:"date-time"`
	ValidUntil       string            `json:"valid_until" format:"date-time"`
	Decision         string            `json:"decision"`
	PolicyVersion    string            `json:"policy_version"`
	DeduplicationKey string            `json:"deduplication_key"`
}

// NoticeBusiness is the business event of a message.
type NoticeBusiness struct {
	Type    string `json:"type,omitempty"`
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
}

// NoticeTemplate is the template of a message.
type NoticeTemplate struct {
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
}

// NoticeEvent is the event itself.
type NoticeEvent struct {
	N       int               `json:"n" doc:"Its number among the message's events, from 1 without a gap."`
	Kind    string            `json:"kind" doc:"Accept unknown values."`
	From    *string           `json:"from" doc:"The message's state before."`
	Attempt int               `json:"attempt,omitempty"`
	Part    int               `json:"part,omitempty"`
	Receipt *string           `json:"receipt"`
	Detail  map[string]string `json:"detail,omitempty"`
}

// Builder makes notices. Both functions answer the same on every node and at any time.
type Builder struct {
	// Simulated says whether a connection is a simulator.
	Simulated func(ctx context.Context, connection int64) (bool, error)
	// Metadata opens what a message has along.
	Metadata func(ctx context.Context, id ident.Message, sealed []byte) (map[string]string, error)
}

// ID names an event. The message's id is unique in the world and the sequence in its tenant's feed: a number that an
// event has among its message's may be given again to another one, after the store was put back.
func ID(e *store.FeedEvent) string {
	return fmt.Sprintf("evt_%s_%d", hex.EncodeToString(e.Message[:]), e.Seq)
}

// Notice makes the notice of an event.
func (b *Builder) Notice(ctx context.Context, e *store.FeedEvent) (Notice, error) {
	m := &e.Facts
	simulated, err := b.Simulated(ctx, m.Connection)
	if err != nil {
		return Notice{}, err
	}
	v := Notice{
		ID: ID(e), Type: webhook.TypeOf(e.Event), Timestamp: at(e.At), Sequence: e.Seq, Simulated: simulated,
		Data: NoticeData{
			Message: NoticeMessage{
				ID: e.Message.String(), State: e.To.String(), Parts: m.Parts, Purpose: m.Purpose, To: masked(m.Destination), Sender: m.Sender,
				CorrelationID: m.CorrelationID, Channel: "sms", CreatedAt: at(m.CreatedAt), ValidUntil: at(m.ValidUntil),
				Decision: m.Decision.String(), PolicyVersion: m.PolicyID, DeduplicationKey: hex.EncodeToString(m.IntentKey[:]),
			},
			Event: NoticeEvent{
				N: int(e.N), Kind: string(e.Kind), From: orNull(e.From.String()), Attempt: int(e.Attempt), Part: int(e.Part),
				Receipt: orNull(e.Receipt.String()), Detail: e.Detail,
			},
		},
	}
	if m.Event != (store.Facts{}).Event {
		v.Data.Message.Business = &NoticeBusiness{Type: m.Event.Type, ID: m.Event.ID, Version: m.Event.Version}
	}
	if m.Template != (store.Facts{}).Template {
		v.Data.Message.Template = &NoticeTemplate{ID: m.Template.ID, Version: m.Template.Version}
	}
	if m.Metadata == nil || m.Kind == string(policy.KindAuthentication) {
		return v, nil
	}
	v.Data.Message.Metadata, err = b.Metadata(ctx, e.Message, m.Metadata)
	return v, err
}

// Body is the notice as a webhook carries it. Members come in the order of the types, those of maps in order.
func (b *Builder) Body(ctx context.Context, e *store.FeedEvent) ([]byte, error) {
	v, err := b.Notice(ctx, e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func at(t clock.Micros) string { return t.Time().Format(time.RFC3339Nano) }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// masked hides the middle of a number, as the API does.
func masked(e164 string) string {
	n, err := phone.Parse(e164, "")
	if err != nil {
		return "•••"
	}
	return n.Mask()
}
