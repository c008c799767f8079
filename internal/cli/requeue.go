package cli

import (
	"context"
	"net/http"

	"github.com/einmal/einmal/internal/edge/api"
)

type requeueCmd struct {
	ID     string `arg:"" help:"A message, msg_…, that a restore of the store left unknown."`
	Reason string `required:"" help:"How you know that it was not sent; it is kept with the event."`
	ofTenantFlags
}

// Run has a message sent of which a person knows that it was not.
func (c *requeueCmd) Run(ctx context.Context, env *Env) error {
	var m api.OneMessageView
	done, err := c.change(ctx, env, http.MethodPost, c.under("messages", c.ID, "requeue"), map[string]any{"reason": c.Reason},
		"einmal timeline "+clean(c.ID)+"   (shows whether it was put back)", &m)
	if done || err != nil {
		return err
	}
	tellMessage(env, &m)
	return nil
}
