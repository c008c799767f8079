package api

import (
	"context"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// UserView is a person of a tenant.
type UserView struct {
	ID        string   `json:"id"`
	Login     string   `json:"login" doc:"One of it in a tenant; in lower case."`
	Name      string   `json:"name" doc:"Whom timelines and lists name for what is done with this user's keys."`
	Phone     *string  `json:"phone" doc:"Masked. Team keys reach it; null: not known."`
	Role      []string `json:"role" nullable:"false" doc:"The scopes that the user's keys may have."`
	State     string   `json:"state" doc:"active, or suspended: none of the user's keys works. Accept unknown values."`
	CreatedAt string   `json:"created_at" format:"date-time"`
	CreatedBy string   `json:"created_by"`
}

func userView(u store.User) UserView {
	return UserView{
		ID: u.ID.String(), Login: u.Login, Name: u.Name, Phone: orNull(masked(u.Phone, "")), Role: ParseScopes(u.Role).words(),
		State: u.State.String(), CreatedAt: at(u.CreatedAt), CreatedBy: u.CreatedBy,
	}
}

func (a *API) registerUsers() {
	both(a, op("GET", "/v1/users", "list-users", "Users", "People whom keys belong to"), ScopeAdmin, a.listUsers)
	both(a, made(withBody(op("POST", "/v1/users", "create-user", "Users", "Add a person"), a.schema(userBody{}))), ScopeAdmin, a.createUser)
	both(a, op("GET", "/v1/users/{id}", "get-user", "Users", "One user"), ScopeAdmin, a.getUser)
	both(a, withBody(op("PATCH", "/v1/users/{id}", "change-user", "Users", "Change a user, or suspend one with all keys"), a.schema(userChange{})), ScopeAdmin, a.changeUser)
	both(a, op("GET", "/v1/guests", "list-guests", "Users", "Whom team keys reach beside the users"), ScopeAdmin, a.listGuests)
	both(a, made(withBody(op("POST", "/v1/guests", "create-guest", "Users", "Let team keys reach somebody who is no user"), a.schema(guestBody{}))), ScopeAdmin, a.createGuest)
	both(a, op("DELETE", "/v1/guests/{id}", "delete-guest", "Users", "Let team keys reach somebody no longer"), ScopeAdmin, a.deleteGuest)
}

func (a *API) listUsers(ctx context.Context, in *Paging) (List[UserView], error) {
	return listOf(ctx, in, a.cfg.Store.ListUsers, userView, func(u store.User) (clock.Micros, [16]byte) { return u.CreatedAt, u.ID })
}

// listOf answers a page of what a tenant has.
func listOf[S, T any](ctx context.Context, in *Paging, read func(context.Context, ident.Partition, store.Page) ([]S, error), view func(S) T, place func(S) (clock.Micros, [16]byte)) (List[T], error) {
	d := &decoder{}
	p := in.page(d)
	if err := d.fault(); err != nil {
		return List[T]{}, err
	}
	found, err := read(ctx, subjectOf(ctx), p)
	return paged(in.Limit, found, view, place), err
}

func (a *API) getUser(ctx context.Context, in *oneIn) (UserView, error) {
	id, err := parseID[ident.User](in.ID)
	if err != nil {
		return UserView{}, err
	}
	u, err := a.cfg.Store.User(ctx, subjectOf(ctx), id)
	return userView(u), err
}

type userBody struct {
	Login string   `json:"login" example:"ann@example.com"`
	Name  string   `json:"name" example:"Ann Archer"`
	Phone string   `json:"phone,omitempty" doc:"With its country code." example:"+12025550143"`
	Role  []string `json:"role" nullable:"false" doc:"Of send, read, review and admin."`
}

const (
	rightUserName = "write the person's name"
	rightRole     = "give the scopes that the user's keys may have"
)

func (a *API) createUser(ctx context.Context, in *smallIn) (UserView, error) {
	u := store.User{ID: ident.NewUser(subjectOf(ctx)), Tenant: subjectOf(ctx), CreatedBy: by(ctx)}
	var role []string
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"login", d.text(&u.Login)}, {"name", d.required(&u.Name, rightUserName)}, {"phone", d.text(&u.Phone)}, {"role", d.list(&role)},
		}
	}, needed{"login", tenant.RightLogin}, needed{"name", rightUserName}, needed{"role", rightRole})
	if err != nil {
		return UserView{}, err
	}
	d := &decoder{}
	login, ok := tenant.Login(u.Login)
	if u.Login = login; !ok {
		d.wrong("#/login", "%s", tenant.RightLogin)
	}
	d.named("name", u.Name)
	if u.Phone != "" {
		u.Phone = d.e164("#/phone", u.Phone)
	}
	u.Role = d.scopes("#/role", role).String()
	if err := d.fault(); err != nil {
		return UserView{}, err
	}
	if u, err = a.cfg.Store.CreateUser(ctx, u); err != nil {
		return UserView{}, err
	}
	a.changed(ctx)
	return userView(u), nil
}

type userChange struct {
	Name  string   `json:"name,omitempty"`
	Phone *string  `json:"phone,omitempty" doc:"null: it is not known any more."`
	Role  []string `json:"role,omitempty"`
	State string   `json:"state,omitempty" doc:"active or suspended."`
}

func (a *API) changeUser(ctx context.Context, in *smallOneIn) (UserView, error) {
	id, err := parseID[ident.User](in.ID)
	if err != nil {
		return UserView{}, err
	}
	c, err := decodeUserChange(in)
	if err != nil {
		return UserView{}, err
	}
	u, err := a.cfg.Store.ChangeUser(ctx, subjectOf(ctx), id, c)
	if err != nil {
		return UserView{}, err
	}
	a.changed(ctx)
	return userView(u), nil
}

func decodeUserChange(in *smallOneIn) (c store.UserChange, err error) {
	var (
		name string
		role []string
		d    = &decoder{}
	)
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"name", func(v strictjson.Value, pointer string) {
				d.required(&name, rightUserName)(v, pointer)
				c.Name = &name
			}},
			{"phone", d.optional(&c.Phone)}, {"role", d.list(&role)},
			{"state", oneOf(d, &c.State, tenant.ParseState, tenant.States())},
		}
	})
	if err != nil {
		return c, err
	}
	d.named("name", name)
	if c.Phone != nil && *c.Phone != "" {
		*c.Phone = d.e164("#/phone", *c.Phone)
	}
	if role != nil {
		scopes := d.scopes("#/role", role).String()
		c.Role = &scopes
	}
	if c == (store.UserChange{}) {
		d.wrong("#", "name what is to change: name, phone, role or state")
	}
	return c, d.fault()
}
