package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

type exceptionsCmd struct {
	List         exceptionsListCmd   `cmd:"" default:"withargs" help:"List exceptions, the newest first."`
	Groups       exceptionsGroupsCmd `cmd:"" help:"Count them by hour, connection and kind."`
	Show         exceptionShowCmd    `cmd:"" help:"Show one, with its receipt and the attempts that may be meant."`
	Resolve      exceptionResolveCmd `cmd:"" help:"Settle one: attach its evidence, dismiss it, or read its receipt again."`
	ResolveGroup resolveGroupCmd     `cmd:"" help:"Settle all that are open of a group: dismiss them, or read their receipts again."`
}

type exceptionsListCmd struct {
	All        bool   `help:"Those that are resolved, too."`
	Message    string `help:"About this message." placeholder:"MSG"`
	Kind       string `help:"unmatched, ambiguous, conflicting, unreadable, lost_answer or missing." placeholder:"KIND"`
	Connection string `help:"Of this connection." placeholder:"NAME"`
	AllTenants bool   `help:"Open ones of every tenant: what einmal doctor counts. For a key of the installation with the scope admin."`
	Limit      int    `help:"At most so many." default:"50"`
	clientFlags
}

func (c *exceptionsListCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	for name, value := range map[string]string{"message": c.Message, "kind": c.Kind, "connection": c.Connection} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if !c.All {
		query.Set("state", "open")
	}
	if c.AllTenants {
		query.Set("all_tenants", "true")
	}
	var page api.List[api.ExceptionView]
	raw, err := gateway.get(ctx, "/v1/exceptions?"+query.Encode(), &page)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	tellExceptions(env, &page)
	return nil
}

func tellExceptions(env *Env, page *api.List[api.ExceptionView]) {
	if len(page.Data) == 0 {
		_, _ = fmt.Fprintln(env.Stdout, "Nothing waits for a person.")
		return
	}
	s := env.style()
	rows := [][]string{{"ID", "TIME (UTC)", "KIND", "STATE", "CONNECTION", "ABOUT", "DETAIL"}}
	for i := range page.Data {
		x := &page.Data[i]
		rows = append(rows, []string{clean(x.ID), clock(x.At), clean(x.Kind), clean(x.State), clean(x.Connection), aboutWords(x), clean(x.Detail)})
	}
	if page.Data[0].Tenant != "" {
		rows[0] = slices.Insert(rows[0], 0, "TENANT")
		for i := range page.Data {
			rows[i+1] = slices.Insert(rows[i+1], 0, clean(page.Data[i].Tenant))
		}
	}
	table(env.Stdout, rows)
	if page.Next != nil {
		_, _ = fmt.Fprintln(env.Stdout, s.faint("and more: einmal exceptions groups counts them, --limit shows more"))
	}
	if page.Data[0].Tenant == "" { // another tenant's is shown to a key of theirs
		_, _ = fmt.Fprintln(env.Stdout, s.faint("next: einmal exceptions show "+clean(page.Data[0].ID)))
	}
}

func aboutWords(x *api.ExceptionView) string {
	switch {
	case x.Message != nil:
		return clean(*x.Message)
	case x.Receipt != nil:
		return clean(*x.Receipt)
	}
	return "-"
}

type exceptionsGroupsCmd struct {
	All   bool `help:"Groups of which none is open, too."`
	Limit int  `help:"At most so many." default:"50"`
	clientFlags
}

func (c *exceptionsGroupsCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var page api.List[api.ExceptionGroupView]
	raw, err := gateway.get(ctx, fmt.Sprintf("/v1/exception-groups?limit=%d&open=%t", c.Limit, !c.All), &page)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	if len(page.Data) == 0 {
		_, _ = fmt.Fprintln(env.Stdout, "Nothing waits for a person.")
		return nil
	}
	rows := [][]string{{"HOUR (UTC)", "CONNECTION", "KIND", "OPEN", "COUNT"}}
	for _, g := range page.Data {
		rows = append(rows, []string{clean(g.Hour), clean(g.Connection), clean(g.Kind), strconv.FormatInt(g.Open, 10), strconv.FormatInt(g.Count, 10)})
	}
	table(env.Stdout, rows)
	first := page.Data[0]
	_, _ = fmt.Fprintln(env.Stdout, env.style().faint(fmt.Sprintf("next: einmal exceptions resolve-group %s %s %s --dismiss --by NAME --reason TEXT",
		clean(first.Connection), clean(first.Kind), clean(first.Hour))))
	return nil
}

type exceptionShowCmd struct {
	ID string `arg:"" help:"An exception, exc_…"`
	clientFlags
}

func (c *exceptionShowCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var x api.ExceptionView
	raw, err := gateway.get(ctx, "/v1/exceptions/"+url.PathEscape(c.ID), &x)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	return showException(ctx, env, gateway, &x)
}

// showException tells what a person needs to know to decide: the evidence, what it may be about, what can be done.
func showException(ctx context.Context, env *Env, gateway *client, x *api.ExceptionView) error {
	s := env.style()
	_, _ = fmt.Fprintf(env.Stdout, "%s: %s\n", s.bold(clean(x.Kind)), s.state(x.State))
	env.paragraph(clean(x.Detail) + ".")
	rows := [][]string{{"When", clock(x.At) + " UTC, on the connection " + clean(x.Connection)}}
	if x.Receipt != nil {
		words, err := receiptRow(ctx, gateway, *x.Receipt)
		if err != nil {
			return err
		}
		rows = append(rows, []string{"Receipt", words})
	}
	about, err := candidateRows(ctx, gateway, x)
	if err != nil {
		return err
	}
	rows = append(rows, about...)
	if x.GroupCount > 1 {
		rows = append(rows, []string{"Group", fmt.Sprintf("%d of this connection, kind and hour", x.GroupCount)})
	}
	if r := x.Resolution; r != nil {
		by := "the gateway itself, by later evidence"
		if r.By != nil {
			by = clean(*r.By)
		}
		rows = append(rows, []string{"Resolved", fmt.Sprintf("%s UTC by %s: %s", clock(r.At), by, clean(r.Reason))})
	}
	table(env.Stdout, rows)
	for _, a := range x.Actions {
		_, _ = fmt.Fprintln(env.Stdout, s.faint("next: "+resolveCommand(x, a)))
	}
	return nil
}

// resolveCommand is the command that does one of the things that can be done.
func resolveCommand(x *api.ExceptionView, action string) string {
	target := ""
	if action == "attach" && (x.Message == nil || len(x.Candidates) > 1) {
		target = " --message MSG"
	}
	return "einmal exceptions resolve " + clean(x.ID) + " --" + clean(action) + target + " --by NAME --reason TEXT"
}

// receiptRow is a receipt in a line.
func receiptRow(ctx context.Context, gateway *client, id string) (string, error) {
	var r api.ReceiptView
	if _, err := gateway.get(ctx, "/v1/receipts/"+url.PathEscape(id), &r); err != nil {
		return "", err
	}
	words := []string{clean(r.ID), "received " + clock(r.ReceivedAt) + " UTC"}
	for _, w := range []struct{ name, value string }{
		{"status", r.Status}, {"error", r.ErrorCode}, {"from", r.Source}, {"done date", r.DoneDate}, {"problem", r.Problem}, {"read by", r.Parser},
	} {
		if w.value != "" {
			words = append(words, w.name+" "+clean(w.value))
		}
	}
	if r.ExternalID != nil {
		words = append(words, "message id "+clean(*r.ExternalID))
	}
	return strings.Join(words, ", "), nil
}

// candidateRows are the attempts that may be meant, as they are now.
func candidateRows(ctx context.Context, gateway *client, x *api.ExceptionView) ([][]string, error) {
	parts := x.Candidates
	if len(parts) == 0 && x.Message != nil {
		parts = []api.AttemptPartView{{Message: *x.Message, Attempt: x.Attempt, Part: x.Part}}
	}
	var rows [][]string
	for _, p := range parts {
		var m api.MessageView
		if _, err := gateway.get(ctx, "/v1/messages/"+url.PathEscape(p.Message), &m); err != nil {
			return nil, err
		}
		words := fmt.Sprintf("%s to %s, %s", clean(m.ID), clean(m.To), clean(m.State))
		for _, t := range m.Attempts {
			if t.Attempt == p.Attempt && t.Part == p.Part {
				words += fmt.Sprintf("; attempt %d, part %d: %s, begun %s UTC", t.Attempt, t.Part, clean(t.Outcome), clock(t.OpenedAt))
			}
		}
		rows = append(rows, []string{map[bool]string{true: "May be", false: "Message"}[len(x.Candidates) > 0], words})
	}
	return rows, nil
}
