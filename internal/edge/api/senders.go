package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// SenderView is a sender that a tenant may send under.
type SenderView struct {
	Sender    string `json:"sender" example:"SHOP"`
	Kind      string `json:"kind" doc:"alphanumeric, short_code or number. Accept unknown values."`
	Default   bool   `json:"default" doc:"Whether it is the sender of requests that name none."`
	CreatedAt string `json:"created_at" format:"date-time"`
	CreatedBy string `json:"created_by"`
}

// NewSenderView is the answer to registering one.
type NewSenderView struct {
	SenderView
	Made bool `json:"made" doc:"false: it was registered already."`
}

// Senders is all of a tenant's senders.
type Senders struct {
	Data []SenderView `json:"data" nullable:"false"`
	Next *string      `json:"next" doc:"Always null: all senders are on the page."`
}

var senderKinds = map[phone.SenderKind]string{phone.Alphanumeric: "alphanumeric", phone.ShortCode: "short_code", phone.International: "number"}

func senderView(s store.Sender) SenderView {
	parsed, _ := phone.ParseSender(s.Sender) // it was parsed before it was stored
	return SenderView{Sender: s.Sender, Kind: senderKinds[parsed.Kind()], Default: s.Default, CreatedAt: at(s.CreatedAt), CreatedBy: s.CreatedBy}
}

func (a *API) registerSenders() {
	both(a, op("GET", "/v1/senders", "list-senders", "Senders", "What a tenant may send under; none: the gateway's default sender"), ScopeRead, a.listSenders)
	theirs(a, made(withBody(op("POST", "/v1/senders", "register-sender", "Senders", "Register a sender, or make one the default"), a.schema(senderBody{}))), a.registerSender)
	theirs(a, op("DELETE", "/v1/senders/{sender}", "remove-sender", "Senders", "Take a sender away"), a.removeSender)
}

func (a *API) listSenders(ctx context.Context, _ *struct{}) (Senders, error) {
	found, err := a.cfg.Store.ListSenders(ctx, subjectOf(ctx))
	all := Senders{Data: make([]SenderView, 0, len(found))}
	for _, s := range found {
		all.Data = append(all.Data, senderView(s))
	}
	return all, err
}

type senderBody struct {
	Sender  string `json:"sender" doc:"A name of up to 11 characters, a short code, or a number with its country code." example:"SHOP"`
	Default bool   `json:"default,omitempty" doc:"true: it becomes the sender of requests that name none. A tenant's first sender is that by itself."`
}

const rightSender = "a name of up to 11 characters, a short code, or a number with its country code"

func (a *API) registerSender(ctx context.Context, in *smallIn) (NewSenderView, error) {
	s := store.Sender{Tenant: subjectOf(ctx), CreatedBy: by(ctx)}
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"sender", d.required(&s.Sender, rightSender)}, {"default", d.flag(&s.Default)}}
	}, needed{"sender", rightSender})
	if err != nil {
		return NewSenderView{}, err
	}
	if s.Tenant == a.cfg.Installation {
		return NewSenderView{}, fault.New(fault.State, "the installation's own tenant sends under any sender: there is none to register")
	}
	d := &decoder{}
	parsed, err := phone.ParseSender(s.Sender)
	if s.Sender = parsed.String(); err != nil {
		d.wrong("#/sender", "%s", err)
	}
	if err := d.fault(); err != nil {
		return NewSenderView{}, err
	}
	s, made, err := a.cfg.Store.PutSender(ctx, s)
	if err != nil {
		return NewSenderView{}, err
	}
	a.changed(ctx)
	return NewSenderView{senderView(s), made}, nil
}

type senderIn struct {
	Sender string `path:"sender" doc:"As the list shows it."`
}

func (a *API) removeSender(ctx context.Context, in *senderIn) (SenderView, error) {
	s, err := a.cfg.Store.DeleteSender(ctx, subjectOf(ctx), in.Sender)
	if err != nil {
		return SenderView{}, err
	}
	a.changed(ctx)
	return senderView(s), nil
}
