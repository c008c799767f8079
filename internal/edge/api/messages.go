package api

import (
	"context"
	"errors"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

type messagesIn struct {
	To               string `query:"to" doc:"Destination, in E.164 or in the local form of region. Entries for it then show it whole."`
	Region           string `query:"region" doc:"ISO 3166-1, two letters."`
	Event            string `query:"event" doc:"The business event's id."`
	CorrelationID    string `query:"correlation_id"`
	IdempotencyKey   string `query:"idempotency_key" doc:"As it was sent, without the quotes of a structured string."`
	DeduplicationKey string `query:"deduplication_key" doc:"32 hexadecimal digits, as messages and decisions show it."`
	ExternalID       string `query:"external_id" doc:"The provider's message id, as messages show it."`
	State            string `query:"state"`
	Purpose          string `query:"purpose"`
	From             string `query:"from" doc:"Created at this time or later (RFC 3339)."`
	Until            string `query:"until" doc:"Created before this time (RFC 3339)."`
	Paging
}

func (a *API) listMessages(ctx context.Context, in *messagesIn) (List[MessageView], error) {
	who := principalOf(ctx)
	d, k := &decoder{}, a.knowledge()
	f, p := a.messageFilter(d, who, in, k), in.page(d)
	if err := d.fault(); err != nil {
		return List[MessageView]{}, err
	}
	if in.State != "" && len(f.States) == 0 {
		return List[MessageView]{Data: []MessageView{}}, nil // nothing is told as that while the store is held
	}
	found, err := a.cfg.Store.Messages(ctx, who.Tenant, f, p)
	if err != nil {
		return List[MessageView]{}, err
	}
	for i := range found {
		found[i] = k.of(found[i]).Message
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return List[MessageView]{}, err
	}
	stops, err := a.holding(ctx, who.Tenant, found...)
	view := func(m *store.Message) MessageView {
		v := a.messageView(m, names, nil, f.Destination)
		v.Stopped = stoppedView(stopOf(m, stops), m.Tenant)
		return v
	}
	return paged(in.Limit, found, view, messagePlace), err
}

func messagePlace(m *store.Message) (clock.Micros, [16]byte) { return m.CreatedAt, m.ID }

func (a *API) messageFilter(d *decoder, who principal, in *messagesIn, k knowledge) store.MessageFilter {
	f := store.MessageFilter{
		EventID: request.TrimName(in.Event), CorrelationID: request.TrimName(in.CorrelationID), Purpose: in.Purpose, ExternalID: receivedID(in.ExternalID),
		From: d.moment("from", in.From), Until: d.moment("until", in.Until),
	}
	if in.To != "" {
		n, err := phone.Parse(in.To, in.Region)
		if err != nil {
			d.wrong("to", "%s", err)
		}
		f.Destination = n.E164()
	}
	if in.State != "" {
		state, ok := message.ParseState(in.State)
		if !ok {
			d.wrong("state", "no such state: the states are %s", fault.List(message.States()))
		}
		f.States = k.states(state)
	}
	if in.DeduplicationKey != "" {
		f.IntentKey = d.key("deduplication_key", in.DeduplicationKey)
	}
	if in.IdempotencyKey != "" {
		operation := sendOperation
		if who.Kind == tenant.TestKey {
			operation = intent.Simulated(operation)
		}
		form := intent.IdempotencyForm(uint64(who.Tenant), operation, in.IdempotencyKey)
		f.IdempotencyKey = a.cfg.Identity.Key(form)
	}
	return f
}

type oneIn struct {
	ID string `path:"id"`
}

// parseID reads an id of a path. What is no id is nothing that exists.
func parseID[ID ~[16]byte, P interface {
	*ID
	UnmarshalText([]byte) error
}](text string) (ID, error) {
	var id ID
	if err := P(&id).UnmarshalText([]byte(text)); err != nil {
		return id, fault.Wrap(err, fault.NotFound, "%s", err)
	}
	if text != "" && id == (ID{}) { // which would be no id at all from here on
		return id, fault.Wrap(errNobodys, fault.NotFound, "%s", errNobodys)
	}
	return id, nil
}

var errNobodys = errors.New("nothing has this id: an id of zeros is nobody's")

// messageID reads the id of a message that a request names beside its path; none, if it is left out.
func (d *decoder) messageID(place, text string) ident.Message {
	id, err := parseID[ident.Message](text)
	switch {
	case errors.Is(err, errNobodys):
		d.wrong(place, "no message has this id: an id of zeros is nobody's")
	case err != nil:
		d.wrong(place, "not a message's id: it begins with msg_ and goes on with 32 hexadecimal digits")
	}
	return id
}

type cancelIn struct {
	ID          string `path:"id"`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type cancelBody struct {
	Reason string `json:"reason" doc:"Why; it is kept with the event, together with the key's name."`
}

const rightReason = "write why it is to be cancelled; it is kept with the event, together with the key's name"

func (a *API) cancelMessage(ctx context.Context, in *cancelIn) (OneMessageView, error) {
	id, err := parseID[ident.Message](in.ID)
	if err != nil {
		return OneMessageView{}, err
	}
	var reason string
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"reason", d.required(&reason, rightReason)}}
	}, needed{"reason", rightReason})
	if err != nil {
		return OneMessageView{}, err
	}
	who := principalOf(ctx)
	m, err := a.cfg.Outbound.Cancel(ctx, who.Tenant, id, who.Person, reason)
	if err != nil {
		return OneMessageView{}, err
	}
	return a.oneMessage(ctx, a.knowledge().of(m))
}
