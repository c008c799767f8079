package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/einmal/einmal/internal/edge/api/handset"
)

type handsetCmd struct {
	Number string `arg:"" help:"The handset's number, in E.164 or in the local form of --region."`
	Region string `help:"ISO 3166-1, two letters."`
	Follow bool   `help:"Go on showing what it receives, until Ctrl-C." xor:"what"`
	Reply  string `help:"A text that the handset answers with." xor:"what"`
	To     string `help:"Where the answer goes; else to the sender of the newest message."`
	clientFlags
}

func (c *handsetCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	switch {
	case c.Reply != "":
		return c.reply(ctx, env, gateway)
	case c.To != "":
		return &failure{code: exitUsage, text: "--to says where an answer goes: give --reply TEXT, too"}
	case c.Follow:
		return c.follow(ctx, env, gateway)
	}
	got, raw, err := c.read(ctx, gateway, 0, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	if len(got.Data) == 0 {
		env.paragraph("The simulated handset " + clean(got.Number) + " has received nothing.")
	}
	showHandset(env, got)
	return nil
}

func (c *handsetCmd) path(rest string, query url.Values) string {
	if c.Region != "" {
		query.Set("region", c.Region)
	}
	return "/v1/handset/" + url.PathEscape(c.Number) + rest + "?" + query.Encode()
}

func (c *handsetCmd) read(ctx context.Context, gateway *client, after int64, wait time.Duration) (*handset.Messages, []byte, error) {
	query := url.Values{"after": {fmt.Sprint(after)}}
	if wait > 0 {
		query.Set("wait", wait.String())
	}
	var got handset.Messages
	raw, err := gateway.get(ctx, c.path("", query), &got)
	return &got, raw, err
}

// followWait is how long one question waits: less than a client waits for an answer.
const followWait = 20 * time.Second

// follow shows what is there and then what comes, until a signal.
func (c *handsetCmd) follow(ctx context.Context, env *Env, gateway *client) error {
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	for after, wait := int64(0), time.Duration(0); ; wait = followWait {
		got, raw, err := c.read(ctx, gateway, after, wait)
		switch {
		case ctx.Err() != nil:
			return nil // a person has seen enough
		case err != nil:
			return err
		case len(got.Data) == 0:
			continue
		case c.JSON:
			if _, err := env.Stdout.Write(raw); err != nil {
				return err
			}
		default:
			showHandset(env, got)
		}
		after = got.Data[len(got.Data)-1].N
	}
}

func showHandset(env *Env, got *handset.Messages) {
	s := env.style()
	for _, m := range got.Data {
		head := fmt.Sprintf("%s UTC  from %s", clock(m.At), clean(m.From))
		if m.Parts > 1 {
			head += fmt.Sprintf(", in %d parts", m.Parts)
		}
		env.paragraph(s.faint(head))
		env.hanging("  ", clean(m.Text))
	}
}

func (c *handsetCmd) reply(ctx context.Context, env *Env, gateway *client) error {
	body, err := json.Marshal(map[string]string{"text": c.Reply, "to": c.To})
	if err != nil {
		return err
	}
	a, err := gateway.do(ctx, http.MethodPost, c.path("/reply", url.Values{}), body, nil)
	if err != nil {
		return unlost(err, "einmal handset --reply sends it again; whether the first one was taken is not known")
	}
	var got handset.Reply
	if err := json.Unmarshal(a.body, &got); err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
	} else {
		env.paragraph(fmt.Sprintf("From %s to %s. %s", clean(got.From), clean(got.To), clean(got.WhatHappened)))
	}
	if err == nil && !got.Taken {
		err = &failure{code: exitFailed, text: "nobody has taken the answer", next: "look at the gateway's log: is it bound to the simulated SMSC?"}
	}
	return err
}
