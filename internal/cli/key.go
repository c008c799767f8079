package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make a key and print it, once."`
	List   keyListCmd   `cmd:"" help:"List keys, without their secrets."`
	Revoke keyRevokeCmd `cmd:"" help:"End a key; it stops to work within a second."`
}

type keyCreateCmd struct {
	Name  string   `required:"" help:"Who or what uses it."`
	Scope []string `required:"" help:"Of send, read, review and admin." placeholder:"SCOPE,…"`
	clientFlags
}

func (c *keyCreateCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"name": c.Name, "scopes": c.Scope})
	if err != nil {
		return err
	}
	a, err := gateway.do(ctx, http.MethodPost, "/v1/keys", body, nil)
	if err != nil {
		return unlost(err, "einmal key list shows whether it was made; revoke it then, since nobody has seen it")
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
		return err
	}
	var made api.NewKeyView
	if err := json.Unmarshal(a.body, &made); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(env.Stdout, clean(made.Key))
	_, _ = fmt.Fprintf(env.Stderr, "key %s for %s may: %s. It is shown here and never again.\n", clean(made.ID), clean(made.Name), clean(strings.Join(made.Scopes, ", ")))
	return nil
}

type keyListCmd struct{ clientFlags }

func (c *keyListCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var keys api.Keys
	raw, err := gateway.get(ctx, "/v1/keys", &keys)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	rows := [][]string{{"ID", "SCOPES", "CREATED (UTC)", "REVOKED (UTC)", "NAME"}}
	for _, k := range keys.Data {
		revoked := "-"
		if k.RevokedAt != nil {
			revoked = clock(*k.RevokedAt)
		}
		rows = append(rows, []string{clean(k.ID), clean(strings.Join(k.Scopes, ",")), clock(k.CreatedAt), revoked, clean(k.Name)})
	}
	table(env.Stdout, rows)
	return nil
}

type keyRevokeCmd struct {
	ID string `arg:"" help:"The key's id, as einmal key list shows it."`
	clientFlags
}

func (c *keyRevokeCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	a, err := gateway.do(ctx, http.MethodDelete, "/v1/keys/"+url.PathEscape(c.ID), nil, nil)
	if err != nil {
		return unlost(err, "einmal key list   (shows whether it was revoked)")
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "key %s is revoked; it stops to work within a second\n", clean(c.ID))
	return nil
}

// unlost says what to do when an answer did not come back.
func unlost(err error, next string) error {
	if f := (*failure)(nil); errors.As(err, &f) {
		return err
	}
	return &failure{code: exitUnreachable, text: err.Error(), next: next}
}
