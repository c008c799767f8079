package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

type webhookCmd struct {
	List       webhookListCmd       `cmd:"" help:"List the addresses that are told of events."`
	Add        webhookAddCmd        `cmd:"" help:"Have an address told of events, and print its secret, once."`
	Change     webhookChangeCmd     `cmd:"" help:"Change an address or what it is told of; switch it off and on."`
	Rotate     webhookRotateCmd     `cmd:"" help:"Make another secret and print it, once; the former one signs beside it for a time."`
	Test       webhookTestCmd       `cmd:"" help:"Send something that is no event, and show what came of it."`
	Remove     webhookRemoveCmd     `cmd:"" help:"Tell an address nothing more, also of what waits."`
	Deliveries webhookDeliveriesCmd `cmd:"" help:"Show what an address was told, is being told and could not be told."`
	Replay     webhookReplayCmd     `cmd:"" help:"Tell events again: all that an address could not be told, or one."`
}

// hookPath is the path of a webhook.
func hookPath(id string, parts ...string) string {
	return strings.Join(append([]string{"/v1/webhooks", url.PathEscape(id)}, parts...), "/")
}

type webhookListCmd struct{ clientFlags }

func (c *webhookListCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var hooks api.WebhookList
	raw, err := gateway.get(ctx, "/v1/webhooks", &hooks)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	if len(hooks.Data) == 0 {
		_, _ = fmt.Fprintln(env.Stdout, "Nobody is told of events. einmal webhook add URL has somebody told.")
		return nil
	}
	rows := [][]string{{"ID", "ON", "TYPES", "CREATED (UTC)", "URL"}}
	for _, h := range hooks.Data {
		on := "yes"
		if !h.Enabled {
			on = "no"
		}
		rows = append(rows, []string{clean(h.ID), on, clean(strings.Join(h.Types, ",")), clock(h.CreatedAt), clean(h.URL)})
	}
	table(env.Stdout, rows)
	return nil
}

type webhookAddCmd struct {
	URL  string   `arg:"" name:"address" help:"Where to post, https://…"`
	Type []string `help:"What of: types of events, message.*, attempt.*; without it all." placeholder:"TYPE,…"`
	clientFlags
}

func (c *webhookAddCmd) Run(ctx context.Context, env *Env) error {
	body := map[string]any{"url": c.URL}
	if len(c.Type) > 0 {
		body["types"] = c.Type
	}
	var made api.NewWebhookView
	done, err := c.change(ctx, env, http.MethodPost, "/v1/webhooks", body,
		"einmal webhook list shows whether it was made; remove it then, since nobody has seen its secret", &made)
	if done || err != nil {
		return err
	}
	tellSecret(env, &made)
	_, _ = fmt.Fprintf(env.Stderr, "next: einmal webhook test %s\n", clean(made.ID))
	return nil
}

// tellSecret prints a new secret alone, so that it can be piped, and whose it is beside it.
func tellSecret(env *Env, made *api.NewWebhookView) {
	_, _ = fmt.Fprintln(env.Stdout, clean(made.Secret))
	_, _ = fmt.Fprintf(env.Stderr, "This is the secret of %s. It is shown here and never again.\n", clean(made.ID))
}

type webhookChangeCmd struct {
	ID      string   `arg:"" help:"The webhook, whk_…."`
	Address string   `help:"Where to post instead, https://…"`
	Type    []string `help:"What of instead." placeholder:"TYPE,…"`
	On      bool     `xor:"switch" help:"Tell it again, first what waits."`
	Off     bool     `xor:"switch" help:"Note nothing more for it; what waits goes on waiting."`
	clientFlags
}

func (c *webhookChangeCmd) Run(ctx context.Context, env *Env) error {
	body := given(map[string]any{"url": c.Address})
	if len(c.Type) > 0 {
		body["types"] = c.Type
	}
	if c.On || c.Off {
		body["enabled"] = c.On
	}
	if len(body) == 0 {
		return &failure{code: exitUsage, text: "say what to change: --address, --type, --on or --off"}
	}
	var changed api.WebhookView
	done, err := c.change(ctx, env, http.MethodPatch, hookPath(c.ID), body, "einmal webhook list   (shows whether it was changed)", &changed)
	if done || err != nil {
		return err
	}
	state := "is told of " + clean(strings.Join(changed.Types, ", "))
	if !changed.Enabled {
		state = "is switched off"
	}
	_, _ = fmt.Fprintf(env.Stdout, "%s at %s %s.\n", clean(changed.ID), clean(changed.URL), state)
	return nil
}

type webhookRotateCmd struct {
	ID        string `arg:"" help:"The webhook, whk_…."`
	FormerFor string `help:"For how long the former secret signs too, such as 0s or 168h." default:"24h"`
	clientFlags
}

func (c *webhookRotateCmd) Run(ctx context.Context, env *Env) error {
	var made api.NewWebhookView
	done, err := c.change(ctx, env, http.MethodPost, hookPath(c.ID, "rotate"), map[string]any{"former_for": c.FormerFor},
		"the same command again: nobody has seen the secret that it may have made", &made)
	if done || err != nil {
		return err
	}
	tellSecret(env, &made)
	_, _ = fmt.Fprintf(env.Stderr, "Until %s UTC requests are signed with the former one, too.\n", clockOrDash(made.FormerSecretUntil))
	return nil
}

type webhookTestCmd struct {
	ID string `arg:"" help:"The webhook, whk_…."`
	clientFlags
}

func (c *webhookTestCmd) Run(ctx context.Context, env *Env) error {
	var t api.WebhookTestView
	done, err := c.change(ctx, env, http.MethodPost, hookPath(c.ID, "test"), nil, "the same command again", &t)
	if done || err != nil {
		return err
	}
	if t.Delivered {
		_, _ = fmt.Fprintf(env.Stdout, "It arrived: status %d after %d ms.\n", t.Status, t.TookMs)
		return nil
	}
	why := clean(t.Problem)
	if t.Status != 0 {
		why = "status " + strconv.Itoa(t.Status)
	}
	return &failure{code: exitFailed, text: fmt.Sprintf("it did not arrive: %s after %d ms", why, t.TookMs), next: "see docs/webhooks.md for what that means"}
}

type webhookRemoveCmd struct {
	ID string `arg:"" help:"The webhook, whk_…."`
	clientFlags
}

func (c *webhookRemoveCmd) Run(ctx context.Context, env *Env) error {
	var gone api.RemovedView
	done, err := c.change(ctx, env, http.MethodDelete, hookPath(c.ID), nil, "einmal webhook list   (shows whether it was removed)", &gone)
	if done || err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "%s is told nothing more.\n", clean(gone.ID))
	return nil
}

type webhookDeliveriesCmd struct {
	ID    string `arg:"" help:"The webhook, whk_…."`
	State string `help:"pending, delivering, delivered or dead; without it all."`
	Limit int    `help:"How many, the newest first." default:"50"`
	clientFlags
}

func (c *webhookDeliveriesCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	if c.State != "" {
		query.Set("state", c.State)
	}
	var page api.List[api.DeliveryView]
	raw, err := gateway.get(ctx, hookPath(c.ID, "deliveries")+"?"+query.Encode(), &page)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	if len(page.Data) == 0 {
		_, _ = fmt.Fprintln(env.Stdout, "There are no such deliveries.")
		return nil
	}
	rows := [][]string{{"ID", "STATE", "TYPE", "FAILURES", "LAST", "NEXT (UTC)", "MESSAGE"}}
	for _, d := range page.Data {
		last := orDash(&d.Problem)
		if d.Status != 0 {
			last = strconv.Itoa(d.Status)
		}
		rows = append(rows, []string{clean(d.ID), clean(d.State), clean(d.Type), strconv.Itoa(d.Failures), last, clockOrDash(d.NextAt), clean(d.Message)})
	}
	table(env.Stdout, rows)
	return nil
}

type webhookReplayCmd struct {
	ID string `arg:"" help:"A webhook, whk_…: all that it could not be told; or a delivery, dlv_…."`
	clientFlags
}

func (c *webhookReplayCmd) Run(ctx context.Context, env *Env) error {
	const lost = "einmal webhook deliveries shows what is told; the same command again tells nothing twice as much"
	if strings.HasPrefix(c.ID, "dlv_") {
		var d api.OneDeliveryView
		done, err := c.change(ctx, env, http.MethodPost, "/v1/deliveries/"+url.PathEscape(c.ID)+"/replay", nil, lost, &d)
		if done || err != nil {
			return err
		}
		_, _ = fmt.Fprintf(env.Stdout, "%s is told again, as %s.\n", clean(d.Type), clean(d.Event))
		return nil
	}
	var r api.ReplayedView
	done, err := c.change(ctx, env, http.MethodPost, hookPath(c.ID, "replay"), nil, lost, &r)
	if done || err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "%d are told again.\n", r.Replayed)
	if r.More {
		_, _ = fmt.Fprintln(env.Stdout, "There are more: run the same command again.")
	}
	return nil
}
