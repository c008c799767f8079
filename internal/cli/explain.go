package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

type explainCmd struct {
	ID string `arg:"" help:"A decision, dec_…, or a message, msg_…"`
	clientFlags
}

func (c *explainCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(c.ID, "dec_"):
		return c.decision(ctx, env, gateway)
	case strings.HasPrefix(c.ID, "msg_"):
		return c.message(ctx, env, gateway)
	}
	return &failure{code: exitUsage, text: "not an id that can be explained: give a decision, dec_…, or a message, msg_…"}
}

func (c *explainCmd) decision(ctx context.Context, env *Env, gateway *client) error {
	var d api.OneDecisionView
	raw, err := gateway.get(ctx, "/v1/decisions/"+url.PathEscape(c.ID), &d)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	if d.Message == nil {
		explainRefusal(env, &d)
		return nil
	}
	var m api.OneMessageView
	if _, err := gateway.get(ctx, "/v1/messages/"+url.PathEscape(d.Message.ID), &m); err != nil {
		return err
	}
	explainDecision(env, &d, &m)
	return nil
}

func (c *explainCmd) message(ctx context.Context, env *Env, gateway *client) error {
	var m api.OneMessageView
	raw, err := gateway.get(ctx, "/v1/messages/"+url.PathEscape(c.ID), &m)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	var made api.OneDecisionView
	if _, err := gateway.get(ctx, "/v1/decisions/"+url.PathEscape(m.Decision), &made); err != nil {
		return err
	}
	var about api.List[api.DecisionView]
	if _, err := gateway.get(ctx, "/v1/decisions?limit=200&message="+url.QueryEscape(m.ID), &about); err != nil {
		return err
	}
	explainDecision(env, &made, &m)
	explainRepeats(env, &about)
	return nil
}

// explainRepeats lists the requests that were answered with this message instead of another SMS.
func explainRepeats(env *Env, about *api.List[api.DecisionView]) {
	rows := [][]string{}
	for _, d := range about.Data {
		if d.Action == "suppress" {
			rows = append(rows, []string{clock(d.At), clean(d.ID), clean(d.Reason)})
		}
	}
	if len(rows) == 0 {
		return
	}
	more := ""
	if about.Next != nil {
		more = ", and more"
	}
	_, _ = fmt.Fprintf(env.Stdout, "\nRequests that were answered with this message instead of a second SMS (%d%s):\n", len(rows), more)
	table(env.Stdout, rows)
	_, _ = fmt.Fprintln(env.Stdout, env.style().faint("next: einmal explain "+rows[0][1]))
}
