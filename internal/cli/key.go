package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/edge/api"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make a key and print it, once."`
	List   keyListCmd   `cmd:"" help:"List keys, without their secrets."`
	Rotate keyRotateCmd `cmd:"" help:"Make a key in another one's place and print it, once; the old one works on for a time."`
	Revoke keyRevokeCmd `cmd:"" help:"End a key; it stops to work within a second."`
	Admin  keyAdminCmd  `cmd:"" help:"Where every admin key is lost: write one to admin.key in the data folder; the next einmal serve makes it known."`
}

type keyCreateCmd struct {
	Name    string   `required:"" help:"Who or what uses it."`
	Scope   []string `required:"" help:"Of send, read, review and admin." placeholder:"SCOPE,…"`
	Kind    string   `help:"live, team (reaches the tenant's users and guests alone) or test (is simulated); live if left out."`
	User    string   `help:"The user whose key it is, usr_…."`
	Expires string   `help:"From then on it does not work, such as 2027-01-01T00:00:00Z."`
	ofTenantFlags
}

func (c *keyCreateCmd) Run(ctx context.Context, env *Env) error {
	body := given(map[string]any{"name": c.Name, "kind": c.Kind, "user": c.User, "expires_at": c.Expires})
	body["scopes"] = c.Scope
	var made api.NewKeyView
	done, err := c.change(ctx, env, http.MethodPost, c.under("keys"), body,
		"einmal key list shows whether it was made; revoke it then, since nobody has seen it", &made)
	if done || err != nil {
		return err
	}
	tellKey(env, &made)
	return nil
}

// tellKey prints a new key alone, so that it can be piped, and what it is for beside it.
func tellKey(env *Env, made *api.NewKeyView) {
	_, _ = fmt.Fprintln(env.Stdout, clean(made.Key))
	kind := ""
	if made.Kind == "team" || made.Kind == "test" {
		kind = made.Kind + " "
	}
	_, _ = fmt.Fprintf(env.Stderr, "%skey %s for %s may: %s. It is shown here and never again.\n", kind, clean(made.ID), clean(made.Name), clean(strings.Join(made.Scopes, ", ")))
}

type keyListCmd struct{ ofTenantFlags }

func (c *keyListCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var keys api.Keys
	raw, err := gateway.get(ctx, c.under("keys"), &keys)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	rows := [][]string{{"ID", "KIND", "SCOPES", "CREATED (UTC)", "EXPIRES (UTC)", "REVOKED (UTC)", "USER", "NAME"}}
	for _, k := range keys.Data {
		rows = append(rows, []string{
			clean(k.ID), clean(k.Kind), clean(strings.Join(k.Scopes, ",")), clock(k.CreatedAt), clockOrDash(k.ExpiresAt), clockOrDash(k.RevokedAt),
			orDash(k.User), clean(k.Name),
		})
	}
	table(env.Stdout, rows)
	return nil
}

type keyRotateCmd struct {
	ID        string `arg:"" help:"The key's id, as einmal key list shows it."`
	OldEndsIn string `help:"How much longer the old key works, such as 0s or 24h." default:"24h"`
	Expires   string `help:"From then on the new key does not work, such as 2027-01-01T00:00:00Z."`
	ofTenantFlags
}

func (c *keyRotateCmd) Run(ctx context.Context, env *Env) error {
	var done api.RotatedView
	printed, err := c.change(ctx, env, http.MethodPost, c.under("keys", c.ID, "rotate"), given(map[string]any{"old_ends_in": c.OldEndsIn, "expires_at": c.Expires}),
		"einmal key list shows whether it was made; revoke the new one then, since nobody has seen it, and rotate again", &done)
	if printed || err != nil {
		return err
	}
	tellKey(env, &done.New)
	_, _ = fmt.Fprintf(env.Stderr, "The old key %s works until %s UTC; once nobody uses it: einmal key revoke %s\n", clean(done.Old.ID), clockOrDash(done.Old.ExpiresAt), clean(done.Old.ID))
	return nil
}

type keyRevokeCmd struct {
	ID string `arg:"" help:"The key's id, as einmal key list shows it."`
	ofTenantFlags
}

func (c *keyRevokeCmd) Run(ctx context.Context, env *Env) error {
	var gone api.KeyView
	done, err := c.change(ctx, env, http.MethodDelete, c.under("keys", c.ID), nil, "einmal key list   (shows whether it was revoked)", &gone)
	if done || err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "key %s is revoked; it stops to work within a second\n", clean(c.ID))
	return nil
}

type keyAdminCmd struct{ gatewayFlags }

// Run asks no gateway: whoever may write to the data folder and start the gateway may do anything.
func (c *keyAdminCmd) Run(_ context.Context, env *Env) error {
	l, err := loaded(c.options(env))
	if err != nil {
		return err
	}
	path, err := app.MakeAdminKey(l.Data)
	if err != nil {
		return &failure{code: exitFailed, text: err.Error(), next: "einmal key list --key-file " + path}
	}
	_, err = fmt.Fprintf(env.Stdout, "%s holds a new admin key, which the next einmal serve on this folder makes known to the store; then look at einmal key list, and revoke what is lost\n", clean(path))
	return err
}

// unlost says what to do when an answer did not come back.
func unlost(err error, next string) error {
	if f := (*failure)(nil); errors.As(err, &f) {
		return err
	}
	return &failure{code: exitUnreachable, text: err.Error(), next: next}
}
