package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

// scopeFlags say what a stop holds. What is named together must fit together.
type scopeFlags struct {
	Tenant     string `help:"What this tenant sends."`
	Purpose    string `help:"Messages of this purpose."`
	Connection string `help:"What waits for this connection."`
	All        bool   `help:"Everything."`
}

func (s *scopeFlags) named() bool { return s.All || s.Tenant+s.Purpose+s.Connection != "" }

// is reports whether a stop holds exactly this.
func (s *scopeFlags) is(v *api.StopView) bool {
	same := func(named string, of *string) bool { return of == nil && named == "" || of != nil && *of == named }
	return same(s.Tenant, v.Tenant) && same(s.Purpose, v.Purpose) && same(s.Connection, v.Connection)
}

// personFlags say who does something, and why.
type personFlags struct {
	By     string `required:"" help:"Who does this; it is kept."`
	Reason string `required:"" help:"Why; it is kept."`
}

type stopCmd struct {
	scopeFlags
	personFlags
	clientFlags
}

func (c *stopCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	request := map[string]any{"by": c.By, "reason": c.Reason}
	for name, value := range map[string]string{"tenant": c.Tenant, "purpose": c.Purpose, "connection": c.Connection} {
		if value != "" {
			request[name] = value
		}
	}
	if c.All {
		request["all"] = true
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	a, err := gateway.do(ctx, http.MethodPost, "/v1/stops", body, nil)
	if err != nil {
		return unlost(err, "einmal stops   (shows whether it is in force; the same command again makes no second one)")
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
		return err
	}
	var made api.NewStopView
	if err := json.Unmarshal(a.body, &made); err != nil {
		return err
	}
	tellStop(env, &made)
	return nil
}

func tellStop(env *Env, made *api.NewStopView) {
	s := env.style()
	head := "Stopped: " + scopeWords(&made.StopView) + " waits from now on."
	if !made.Made {
		head = "Stopped already, since " + clock(made.Since) + " UTC by " + clean(made.By) + ": " + scopeWords(&made.StopView) + "."
	}
	_, _ = fmt.Fprintln(env.Stdout, s.bold(head))
	_, _ = fmt.Fprintln(env.Stdout, "What was handed to a provider before is not called back.")
	switch {
	case made.Flows > 0:
	case made.Purpose == nil && made.Connection == nil && made.Tenant == nil:
		_, _ = fmt.Fprintln(env.Stdout, s.faint("Nothing was ever sent here."))
	default:
		_, _ = fmt.Fprintln(env.Stdout, s.warn("Nothing of the kind was ever sent: is every name spelt right?"))
	}
	_, _ = fmt.Fprintln(env.Stdout, s.faint("next: einmal resume "+clean(made.ID)+" --by NAME --reason TEXT"))
}

// scopeWords say what a stop holds.
func scopeWords(v *api.StopView) string {
	var words []string
	for _, part := range []struct {
		name  string
		value *string
	}{{"tenant", v.Tenant}, {"purpose", v.Purpose}, {"connection", v.Connection}} {
		if part.value != nil {
			words = append(words, part.name+" "+clean(*part.value))
		}
	}
	if len(words) == 0 {
		return "everything"
	}
	return strings.Join(words, ", ")
}

type resumeCmd struct {
	ID string `arg:"" optional:"" help:"The stop, stop_…; or name what it holds, as einmal stop did."`
	scopeFlags
	personFlags
	clientFlags
}

func (c *resumeCmd) Run(ctx context.Context, env *Env) error {
	if (c.ID != "") == c.named() {
		return &failure{code: exitUsage, text: "say which stop to lift: its id, or what it holds", next: "einmal stops"}
	}
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	id := c.ID
	if id == "" {
		if id, err = c.find(ctx, gateway); err != nil {
			return err
		}
	}
	body, err := json.Marshal(map[string]string{"by": c.By, "reason": c.Reason})
	if err != nil {
		return err
	}
	a, err := gateway.do(ctx, http.MethodDelete, "/v1/stops/"+url.PathEscape(id), body, nil)
	if err != nil {
		return unlost(err, "einmal stops   (shows whether it was lifted)")
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
		return err
	}
	var lifted api.StopView
	if err := json.Unmarshal(a.body, &lifted); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "Lifted: %s. What waited goes on, unless another stop holds it: einmal stops\n", scopeWords(&lifted))
	return nil
}

// find looks for the stop in force that holds exactly what the flags name.
func (c *resumeCmd) find(ctx context.Context, gateway *client) (string, error) {
	stops, err := listStops(ctx, gateway, true)
	if err != nil {
		return "", err
	}
	for i := range stops {
		if s := &stops[i]; c.is(s) && s.By != api.Operator {
			return s.ID, nil
		}
	}
	return "", &failure{code: exitNotFound, text: "no stop of yours that is in force holds exactly this", next: "einmal stops"}
}

// listStops reads all pages.
func listStops(ctx context.Context, gateway *client, inForce bool) ([]api.StopView, error) {
	stops := []api.StopView{}
	query := fmt.Sprintf("?limit=200&in_force=%t", inForce)
	for after := ""; ; {
		var page api.List[api.StopView]
		if _, err := gateway.get(ctx, "/v1/stops"+query+after, &page); err != nil {
			return nil, err
		}
		stops = append(stops, page.Data...)
		if page.Next == nil {
			return stops, nil
		}
		after = "&after=" + url.QueryEscape(*page.Next)
	}
}

type stopsCmd struct {
	Lifted bool `help:"Those that were lifted, too."`
	clientFlags
}

func (c *stopsCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	stops, err := listStops(ctx, gateway, !c.Lifted)
	if err != nil {
		return err
	}
	if c.JSON {
		return compact(env, map[string]any{"data": stops, "next": nil})
	}
	if len(stops) == 0 {
		_, _ = fmt.Fprintln(env.Stdout, "No emergency stop is in force.")
		return nil
	}
	rows := [][]string{{"ID", "HOLDS", "SINCE (UTC)", "BY", "LIFTED (UTC)", "REASON"}}
	for i := range stops {
		s, lifted := &stops[i], "-"
		if s.LiftedAt != nil {
			lifted = clock(*s.LiftedAt) + " by " + clean(s.LiftedBy)
		}
		rows = append(rows, []string{clean(s.ID), scopeWords(s), clock(s.Since), clean(s.By), lifted, clean(s.Reason)})
	}
	table(env.Stdout, rows)
	return nil
}
