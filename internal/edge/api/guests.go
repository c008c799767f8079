package api

import (
	"context"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// GuestView is somebody whom team keys reach and who is no user.
type GuestView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Phone     string `json:"phone" doc:"Masked."`
	CreatedAt string `json:"created_at" format:"date-time"`
	CreatedBy string `json:"created_by"`
}

// NewGuestView is the answer to adding one.
type NewGuestView struct {
	GuestView
	Made bool `json:"made" doc:"false: there was a guest with this phone already, who is the one that is shown."`
}

func guestView(g store.Guest) GuestView {
	return GuestView{ID: g.ID.String(), Name: g.Name, Phone: masked(g.Phone, ""), CreatedAt: at(g.CreatedAt), CreatedBy: g.CreatedBy}
}

func (a *API) listGuests(ctx context.Context, in *Paging) (List[GuestView], error) {
	return listOf(ctx, in, a.cfg.Store.ListGuests, guestView, func(g store.Guest) (clock.Micros, [16]byte) { return g.CreatedAt, g.ID })
}

type guestBody struct {
	Name  string `json:"name" doc:"Who it is."`
	Phone string `json:"phone" doc:"With its country code." example:"+12025550143"`
}

const rightPhone = "write the number with its country code, such as +12025550143"

func (a *API) createGuest(ctx context.Context, in *smallIn) (NewGuestView, error) {
	g := store.Guest{ID: ident.NewGuest(subjectOf(ctx)), Tenant: subjectOf(ctx), CreatedBy: by(ctx)}
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"name", d.required(&g.Name, rightUserName)}, {"phone", d.required(&g.Phone, rightPhone)}}
	}, needed{"name", rightUserName}, needed{"phone", rightPhone})
	if err != nil {
		return NewGuestView{}, err
	}
	d := &decoder{}
	d.named("name", g.Name)
	g.Phone = d.e164("#/phone", g.Phone)
	if err := d.fault(); err != nil {
		return NewGuestView{}, err
	}
	g, made, err := a.cfg.Store.CreateGuest(ctx, g)
	if err != nil {
		return NewGuestView{}, err
	}
	a.changed(ctx)
	return NewGuestView{guestView(g), made}, nil
}

func (a *API) deleteGuest(ctx context.Context, in *oneIn) (GuestView, error) {
	id, err := parseID[ident.Guest](in.ID)
	if err != nil {
		return GuestView{}, err
	}
	g, err := a.cfg.Store.DeleteGuest(ctx, subjectOf(ctx), id)
	if err != nil {
		return GuestView{}, err
	}
	a.changed(ctx)
	return guestView(g), nil
}
