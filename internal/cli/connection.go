package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

type connectionCmd struct {
	List    connectionListCmd    `cmd:"" help:"List connections, as the gateway that is asked sees them."`
	Show    connectionShowCmd    `cmd:"" help:"Show a connection with its settings."`
	Add     connectionAddCmd     `cmd:"" help:"Add a connection, on all nodes."`
	Set     connectionSetCmd     `cmd:"" help:"Change settings of a connection; it is started again, and no other is."`
	Enable  connectionEnableCmd  `cmd:"" help:"Send over a connection again."`
	Disable connectionDisableCmd `cmd:"" help:"Send nothing more over a connection: what was sent is awaited, what waits for it waits on."`
	Remove  connectionRemoveCmd  `cmd:"" help:"Take a connection away that no route leads to and nothing waits for."`
}

type connectionListCmd struct{ clientFlags }

func (c *connectionListCmd) Run(ctx context.Context, env *Env) error {
	head := []string{"NAME", "KIND", "STATE", "WAITING", "FROM", "CHANGED (UTC)", "BY"}
	return showAll(ctx, env, &c.clientFlags, "/v1/connections", "There is no connection.", head, func(v api.ConnectionView) []string {
		return []string{clean(v.Name), clean(v.Kind), clean(v.State), counted(v.Waiting), clean(v.From), clockOrDash(v.ChangedAt), orDash(&v.ChangedBy)}
	})
}

// counted writes how many wait: each lane is counted so far, so that a sum which reaches it may be short.
func counted(waiting int) string {
	const most = 1000
	if waiting >= most {
		return fmt.Sprintf("%d or more", waiting)
	}
	return fmt.Sprint(waiting)
}

type connectionShowCmd struct {
	Name string `arg:""`
	clientFlags
}

func (c *connectionShowCmd) Run(ctx context.Context, env *Env) error {
	return tellConnection(ctx, env, &c.clientFlags, http.MethodGet, c.Name, nil)
}

type connectionAddCmd struct {
	Name     string   `arg:"" help:"Letters, digits and the signs _ - . without spaces. It never changes."`
	Settings []string `arg:"" name:"member=value" help:"Members of a connection in the configuration file, such as kind=smpp address=smsc.example.net:2775 password=env:CARRIER_B receipts.zone=UTC."`
	Disabled bool     `help:"Send nothing over it yet."`
	clientFlags
}

func (c *connectionAddCmd) Run(ctx context.Context, env *Env) error {
	settings, err := readMembers(c.Settings)
	if err != nil {
		return err
	}
	var v api.ConnectionView
	body := map[string]any{"name": c.Name, "settings": settings, "enabled": !c.Disabled}
	done, err := c.change(ctx, env, http.MethodPost, "/v1/connections", body, "einmal connection list   (shows whether it was added)", &v)
	if done || err != nil {
		return err
	}
	s := env.style()
	_, _ = fmt.Fprintf(env.Stdout, "connection %s is added, and is %s on the node that was asked\n", clean(v.Name), clean(v.State))
	_, _ = fmt.Fprintln(env.Stdout, s.faint("next: einmal connection show "+clean(v.Name)+"; then lead messages to it: einmal route set FILE"))
	return nil
}

type connectionSetCmd struct {
	Name     string   `arg:""`
	Settings []string `arg:"" name:"member=value" help:"Members to be set; member=null takes one away, and so its default counts."`
	clientFlags
}

func (c *connectionSetCmd) Run(ctx context.Context, env *Env) error {
	settings, err := readMembers(c.Settings)
	if err != nil {
		return err
	}
	return tellConnection(ctx, env, &c.clientFlags, http.MethodPatch, c.Name, map[string]any{"settings": settings})
}

type connectionEnableCmd struct {
	Name string `arg:""`
	clientFlags
}

func (c *connectionEnableCmd) Run(ctx context.Context, env *Env) error {
	return tellConnection(ctx, env, &c.clientFlags, http.MethodPatch, c.Name, map[string]any{"enabled": true})
}

type connectionDisableCmd struct {
	Name string `arg:""`
	clientFlags
}

func (c *connectionDisableCmd) Run(ctx context.Context, env *Env) error {
	return tellConnection(ctx, env, &c.clientFlags, http.MethodPatch, c.Name, map[string]any{"enabled": false})
}

type connectionRemoveCmd struct {
	Name string `arg:""`
	clientFlags
}

func (c *connectionRemoveCmd) Run(ctx context.Context, env *Env) error {
	var gone api.RemovedConnection
	done, err := c.change(ctx, env, http.MethodDelete, "/v1/connections/"+url.PathEscape(c.Name), nil, "einmal connection list   (shows whether it is gone)", &gone)
	if done || err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "connection %s is removed; receipts that still come for it are known\n", clean(gone.Name))
	return nil
}

// tellConnection asks for a connection, or for a change of one, and shows it.
func tellConnection(ctx context.Context, env *Env, f *clientFlags, method, name string, body map[string]any) error {
	var v api.ConnectionView
	done, err := f.change(ctx, env, method, "/v1/connections/"+url.PathEscape(name), body, "einmal connection show "+clean(name), &v)
	if done || err != nil {
		return err
	}
	rows := [][]string{
		{"name", clean(v.Name)}, {"kind", clean(v.Kind)}, {"enabled", yesNo(v.Enabled)}, {"state", clean(v.State)}, {"waiting", counted(v.Waiting)}, {"from", clean(v.From)},
		{"changed (UTC)", clockOrDash(v.ChangedAt)}, {"by", orDash(&v.ChangedBy)},
	}
	table(env.Stdout, rows)
	shown, err := json.MarshalIndent(v.Settings, "", "  ")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(shown)) {
		_, _ = fmt.Fprintln(env.Stdout, clean(strings.TrimRight(line, "\n")))
	}
	return nil
}

// readMembers makes settings of words such as receipts.zone=UTC. What reads as a number, true, false, null, a list or an
// object is one; everything else is a text.
func readMembers(all []string) (map[string]any, error) {
	settings := map[string]any{}
	for _, one := range all {
		path, value, ok := strings.Cut(one, "=")
		if !ok || path == "" {
			return nil, &failure{code: exitUsage, text: "write settings as member=value, such as window=20 or receipts.zone=UTC"}
		}
		into := settings
		steps := strings.Split(path, ".")
		for _, step := range steps[:len(steps)-1] {
			inner, there := into[step].(map[string]any)
			if !there {
				inner = map[string]any{}
				into[step] = inner
			}
			into = inner
		}
		into[steps[len(steps)-1]] = valueOf(value)
	}
	return settings, nil
}

func valueOf(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n
	}
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		switch v.(type) {
		case nil, bool, []any, map[string]any:
			return v
		}
	}
	return text
}
