package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/einmal/einmal/internal/edge/api"
)

type exceptionResolveCmd struct {
	ID      string `arg:"" help:"An exception, exc_…"`
	Attach  bool   `help:"The evidence belongs to the attempt, and stands, also against what was known." xor:"action" required:""`
	Dismiss bool   `help:"Nothing follows from the evidence." xor:"action" required:""`
	Reread  bool   `help:"Read the receipt again, after a parser or a setting was mended." xor:"action" required:""`
	Message string `help:"With --attach: the message that is meant, where the exception does not name one alone." placeholder:"MSG"`
	Attempt int    `help:"With --attach: which of its attempts; else the last."`
	Part    int    `help:"With --attach: which part of a long message."`
	State   string `help:"With --attach: what the receipt stands for, where its status says nothing." placeholder:"STATE"`
	personFlags
	ofTenantFlags
}

func (c *exceptionResolveCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	request := map[string]any{"action": c.action(), "by": c.By, "reason": c.Reason}
	for name, value := range map[string]string{"message": c.Message, "state": c.State} {
		if value != "" {
			request[name] = value
		}
	}
	for name, n := range map[string]int{"attempt": c.Attempt, "part": c.Part} {
		if n != 0 {
			request[name] = n
		}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	a, err := gateway.do(ctx, http.MethodPost, c.under("exceptions", c.ID, "resolve"), body, nil)
	if err != nil {
		return unlost(err, "run the same command again: what was resolved so already is not resolved twice")
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
		return err
	}
	var x api.ExceptionView
	if err := json.Unmarshal(a.body, &x); err != nil {
		return err
	}
	tellResolved(env, &x)
	return nil
}

func (c *exceptionResolveCmd) action() string {
	switch {
	case c.Attach:
		return "attach"
	case c.Dismiss:
		return "dismiss"
	}
	return "reread"
}

func tellResolved(env *Env, x *api.ExceptionView) {
	s := env.style()
	switch {
	case x.Open:
		_, _ = fmt.Fprintln(env.Stdout, s.warn("Still open")+": its receipt was read again, and says what it said before.")
	case x.Resolution != nil && x.Resolution.To != nil:
		to := x.Resolution.To
		_, _ = fmt.Fprintf(env.Stdout, "%s: the evidence stands for attempt %d, part %d of %s\n", s.good(clean(x.State)), to.Attempt, to.Part, clean(to.Message))
		_, _ = fmt.Fprintln(env.Stdout, s.faint("next: einmal timeline "+clean(to.Message)))
	default:
		_, _ = fmt.Fprintf(env.Stdout, "%s: nothing follows from the evidence; it is kept\n", s.good(clean(x.State)))
	}
}

type resolveGroupCmd struct {
	Connection string `arg:"" help:"The group's connection, as einmal exceptions groups shows it."`
	Kind       string `arg:"" help:"Its kind."`
	Hour       string `arg:"" help:"When its hour begins."`
	Dismiss    bool   `help:"Nothing follows from the evidence." xor:"action" required:""`
	Reread     bool   `help:"Read the receipts again, after a parser or a setting was mended." xor:"action" required:""`
	personFlags
	clientFlags
}

func (c *resolveGroupCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	action := "reread"
	if c.Dismiss {
		action = "dismiss"
	}
	body, err := json.Marshal(map[string]string{
		"connection": c.Connection, "kind": c.Kind, "hour": c.Hour, "action": action, "by": c.By, "reason": c.Reason,
	})
	if err != nil {
		return err
	}
	all, err := resolveAll(ctx, env, gateway, body)
	if err != nil {
		return err
	}
	if c.JSON {
		return compact(env, all)
	}
	_, _ = fmt.Fprintf(env.Stdout, "%d resolved, %d open\n", all.Resolved, all.Left)
	for _, why := range all.Failed {
		_, _ = fmt.Fprintln(env.Stdout, env.style().warn(clean(why)))
	}
	return nil
}

// resolveAll asks again while something is resolved: the gateway takes a hundred at a time.
func resolveAll(ctx context.Context, env *Env, gateway *client, body []byte) (api.GroupResolvedView, error) {
	line := &progressLine{env: env}
	defer line.clear()
	all := api.GroupResolvedView{Failed: []string{}}
	for {
		a, err := gateway.do(ctx, http.MethodPost, "/v1/exception-groups/resolve", body, nil)
		if err != nil {
			return all, unlost(err, "run the same command again: what was resolved already is not resolved twice")
		}
		var one api.GroupResolvedView
		if err := json.Unmarshal(a.body, &one); err != nil {
			return all, err
		}
		all.Resolved, all.Left, all.Failed = all.Resolved+one.Resolved, one.Left, one.Failed
		if one.Resolved == 0 || one.Left == 0 {
			return all, nil
		}
		line.show("resolving", all.Resolved, all.Resolved+int(one.Left))
	}
}
