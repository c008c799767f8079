package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/einmal/einmal/internal/edge/api"
)

type numberCmd struct {
	List  numberListCmd  `cmd:"" help:"List numbers that are leased to a tenant."`
	Lease numberLeaseCmd `cmd:"" help:"Lease a number to a tenant; nobody else may have it in that time."`
	End   numberEndCmd   `cmd:"" help:"Give a lease another end."`
}

type numberListCmd struct{ ofTenantFlags }

func (c *numberListCmd) Run(ctx context.Context, env *Env) error {
	return showAll(ctx, env, &c.clientFlags, c.under("numbers"), "No number is leased"+c.whose()+".", []string{"ID", "NUMBER", "FROM (UTC)", "UNTIL (UTC)"}, func(n api.NumberView) []string {
		return []string{clean(n.ID), clean(n.Number), clock(n.From), clockOrDash(n.Until)}
	})
}

type numberLeaseCmd struct {
	Number string `arg:"" help:"With its country code."`
	From   string `help:"Such as 2026-12-31T10:00:00Z; else from now on."`
	Until  string `help:"Such as 2027-12-31T10:00:00Z; else it has no end yet."`
	forTenantFlags
}

func (c *numberLeaseCmd) Run(ctx context.Context, env *Env) error {
	var n api.NumberView
	done, err := c.change(ctx, env, http.MethodPost, c.under("numbers"), given(map[string]any{"number": c.Number, "from": c.From, "until": c.Until}),
		"einmal number list --tenant "+clean(c.Tenant), &n)
	if done || err != nil {
		return err
	}
	tellLease(env, &n)
	return nil
}

func tellLease(env *Env, n *api.NumberView) {
	until := "without an end"
	if n.Until != nil {
		until = "until " + clock(*n.Until) + " UTC"
	}
	_, _ = fmt.Fprintf(env.Stdout, "%s is leased from %s UTC, %s: %s\n", clean(n.Number), clock(n.From), until, clean(n.ID))
}

type numberEndCmd struct {
	ID    string `arg:"" help:"The lease's id, lse_…."`
	At    string `aliases:"until" help:"Such as 2026-12-31T10:00:00Z; else now. --until is the same." xor:"end"`
	Never bool   `help:"It has no end." xor:"end"`
	forTenantFlags
}

func (c *numberEndCmd) Run(ctx context.Context, env *Env) error {
	const over = "1970-01-01T00:00:01Z" // any time that is over means now, by the store's clock
	body := map[string]any{"until": over}
	if c.At != "" {
		body["until"] = c.At
	}
	if c.Never {
		body["until"] = nil
	}
	var n api.NumberView
	done, err := c.change(ctx, env, http.MethodPatch, c.under("numbers", c.ID), body, "einmal number list --tenant "+clean(c.Tenant), &n)
	if done || err != nil {
		return err
	}
	tellLease(env, &n)
	return nil
}
