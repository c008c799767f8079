package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/einmal/einmal/internal/edge/api"
)

type requeueCmd struct {
	ID     string `arg:"" help:"A message, msg_…, that a restore of the store left unknown."`
	Reason string `required:"" help:"How you know that it was not sent; it is kept with the event."`
	clientFlags
}

// Run has a message sent of which a person knows that it was not.
func (c *requeueCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"reason": c.Reason})
	if err != nil {
		return err
	}
	a, err := gateway.do(ctx, http.MethodPost, "/v1/messages/"+url.PathEscape(c.ID)+"/requeue", body, nil)
	if err != nil {
		return unlost(err, "einmal timeline "+clean(c.ID)+"   (shows whether it was put back)")
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
		return err
	}
	var m api.OneMessageView
	if err := json.Unmarshal(a.body, &m); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "message %s is %s\n", clean(m.ID), env.style().state(m.State))
	if m.Outlook != "" { // it may have waited for longer than it was valid
		_, _ = fmt.Fprintln(env.Stdout, clean(m.Outlook))
	}
	return nil
}
