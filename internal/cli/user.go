package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

type userCmd struct {
	List    userListCmd    `cmd:"" help:"List the people whom keys belong to."`
	Add     userAddCmd     `cmd:"" help:"Add a person."`
	Change  userChangeCmd  `cmd:"" help:"Change a user's name, phone or role."`
	Suspend userSuspendCmd `cmd:"" help:"End the work of all keys of a user, until it is resumed."`
	Resume  userResumeCmd  `cmd:"" help:"Let a user's keys work again."`
}

type userListCmd struct{ ofTenantFlags }

func (c *userListCmd) Run(ctx context.Context, env *Env) error {
	return showAll(ctx, env, &c.clientFlags, c.under("users"), "There is no user"+c.whose()+".", []string{"ID", "LOGIN", "STATE", "ROLE", "PHONE", "NAME"}, func(u api.UserView) []string {
		return []string{clean(u.ID), clean(u.Login), clean(u.State), clean(strings.Join(u.Role, ",")), orDash(u.Phone), clean(u.Name)}
	})
}

type userAddCmd struct {
	Login string   `arg:"" help:"Such as ann@example.com."`
	Name  string   `required:"" help:"Whom timelines name."`
	Role  []string `required:"" help:"The scopes that the user's keys may have, of send, read, review and admin." placeholder:"SCOPE,…"`
	Phone string   `help:"With its country code; team keys reach it."`
	ofTenantFlags
}

func (c *userAddCmd) Run(ctx context.Context, env *Env) error {
	body := given(map[string]any{"login": c.Login, "name": c.Name, "phone": c.Phone})
	body["role"] = c.Role
	var u api.UserView
	done, err := c.change(ctx, env, http.MethodPost, c.under("users"), body, "einmal user list   (shows whether it was added)", &u)
	if done || err != nil {
		return err
	}
	tellUser(env, &u)
	_, _ = fmt.Fprintln(env.Stdout, env.style().faint("next: einmal key create --user "+clean(u.ID)+" --name NAME --scope SCOPE"))
	return nil
}

func tellUser(env *Env, u *api.UserView) {
	_, _ = fmt.Fprintf(env.Stdout, "user %s, %s (%s) is %s and may: %s\n", clean(u.ID), clean(u.Login), clean(u.Name), clean(u.State), clean(strings.Join(u.Role, ", ")))
}

type userChangeCmd struct {
	ID      string   `arg:"" help:"The user's id, usr_…."`
	Name    string   `help:"Another name."`
	Phone   string   `help:"Another phone, with its country code." xor:"phone"`
	NoPhone bool     `help:"Forget the phone." xor:"phone"`
	Role    []string `help:"Other scopes." placeholder:"SCOPE,…"`
	ofTenantFlags
}

func (c *userChangeCmd) Run(ctx context.Context, env *Env) error {
	body := given(map[string]any{"name": c.Name, "phone": c.Phone})
	if c.NoPhone {
		body["phone"] = nil
	}
	if len(c.Role) > 0 {
		body["role"] = c.Role
	}
	return c.ofTenantFlags.changeUser(ctx, env, c.ID, body)
}

func (f *ofTenantFlags) changeUser(ctx context.Context, env *Env, id string, body map[string]any) error {
	var u api.UserView
	done, err := f.change(ctx, env, http.MethodPatch, f.under("users", id), body, "einmal user list   (shows how it is)", &u)
	if err == nil && !done {
		tellUser(env, &u)
	}
	return err
}

type userSuspendCmd struct {
	ID string `arg:"" help:"The user's id, usr_…."`
	ofTenantFlags
}

func (c *userSuspendCmd) Run(ctx context.Context, env *Env) error {
	return c.changeUser(ctx, env, c.ID, map[string]any{"state": "suspended"})
}

type userResumeCmd struct {
	ID string `arg:"" help:"The user's id, usr_…."`
	ofTenantFlags
}

func (c *userResumeCmd) Run(ctx context.Context, env *Env) error {
	return c.changeUser(ctx, env, c.ID, map[string]any{"state": "active"})
}

type guestCmd struct {
	List   guestListCmd   `cmd:"" help:"List whom team keys reach beside the users."`
	Add    guestAddCmd    `cmd:"" help:"Let team keys reach somebody."`
	Remove guestRemoveCmd `cmd:"" help:"Let team keys reach somebody no longer."`
}

type guestListCmd struct{ ofTenantFlags }

func (c *guestListCmd) Run(ctx context.Context, env *Env) error {
	return showAll(ctx, env, &c.clientFlags, c.under("guests"), "There is no guest"+c.whose()+".", []string{"ID", "PHONE", "ADDED (UTC)", "NAME"}, func(g api.GuestView) []string {
		return []string{clean(g.ID), clean(g.Phone), clock(g.CreatedAt), clean(g.Name)}
	})
}

type guestAddCmd struct {
	Phone string `arg:"" help:"With its country code."`
	Name  string `required:"" help:"Who it is."`
	ofTenantFlags
}

func (c *guestAddCmd) Run(ctx context.Context, env *Env) error {
	var g api.NewGuestView
	done, err := c.change(ctx, env, http.MethodPost, c.under("guests"), map[string]any{"name": c.Name, "phone": c.Phone},
		"run the same command again: it adds nobody twice", &g)
	if done || err != nil {
		return err
	}
	words := "is added"
	if !g.Made {
		words = "was there already"
	}
	_, _ = fmt.Fprintf(env.Stdout, "guest %s, %s (%s) %s\n", clean(g.ID), clean(g.Phone), clean(g.Name), words)
	return nil
}

type guestRemoveCmd struct {
	ID string `arg:"" help:"The guest's id, gst_…."`
	ofTenantFlags
}

func (c *guestRemoveCmd) Run(ctx context.Context, env *Env) error {
	var g api.GuestView
	done, err := c.change(ctx, env, http.MethodDelete, c.under("guests", c.ID), nil, "einmal guest list   (shows whether it is there)", &g)
	if done || err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "guest %s (%s) is removed\n", clean(g.ID), clean(g.Name))
	return nil
}
