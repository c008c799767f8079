package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/einmal/einmal/internal/edge/api"
)

type outcomeCmd struct {
	ID      string `arg:"" help:"A message, msg_…, of which nobody knows whether the provider took it."`
	Took    bool   `help:"The provider took it." xor:"outcome" required:""`
	NotSent bool   `help:"The provider did not take it. Nothing of the message is sent again." xor:"outcome" required:""`
	Attempt int    `help:"Which of its attempts; else every one without an outcome."`
	Part    int    `help:"Which part of a long message; else all."`
	personFlags
	ofTenantFlags
}

// Run says what became of an attempt.
func (c *outcomeCmd) Run(ctx context.Context, env *Env) error {
	body := map[string]any{"outcome": "accepted", "by": c.By, "reason": c.Reason}
	if c.NotSent {
		body["outcome"] = "not_sent"
	}
	for name, n := range map[string]int{"attempt": c.Attempt, "part": c.Part} {
		if n != 0 {
			body[name] = n
		}
	}
	var m api.OneMessageView
	done, err := c.change(ctx, env, http.MethodPost, c.under("messages", c.ID, "outcome"), body, "run the same command again: what is known already is refused", &m)
	if done || err != nil {
		return err
	}
	tellMessage(env, &m)
	return nil
}

// tellMessage says where a message is after somebody's word.
func tellMessage(env *Env, m *api.OneMessageView) {
	_, _ = fmt.Fprintf(env.Stdout, "message %s is %s\n", clean(m.ID), env.style().state(m.State))
	if m.Cost != nil {
		_, _ = fmt.Fprintf(env.Stdout, "held %s, settled %s\n", usd(m.Cost.Held), usd(m.Cost.Settled))
	}
	if m.Outlook != "" { // it may have waited for longer than it was valid
		_, _ = fmt.Fprintln(env.Stdout, clean(m.Outlook))
	}
}
