package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/einmal/einmal/internal/edge/api"
)

type tenantCmd struct {
	List    tenantListCmd    `cmd:"" help:"List tenants."`
	Add     tenantAddCmd     `cmd:"" help:"Make a tenant."`
	Show    tenantShowCmd    `cmd:"" help:"Show a tenant."`
	Label   tenantLabelCmd   `cmd:"" help:"Call a tenant something else; its name stays."`
	Suspend tenantSuspendCmd `cmd:"" help:"Take nothing new from a tenant; what was taken goes on, and can be read."`
	Resume  tenantResumeCmd  `cmd:"" help:"Lift a suspension."`
}

type tenantListCmd struct{ clientFlags }

func (c *tenantListCmd) Run(ctx context.Context, env *Env) error {
	return showAll(ctx, env, &c.clientFlags, "/v1/tenants", "There is no tenant.", []string{"NAME", "STATE", "PREPAID", "CREATED (UTC)", "LABEL"}, func(t api.TenantView) []string {
		return []string{clean(t.Name), clean(t.State), yesNo(t.Prepaid), clockOrDash(t.CreatedAt), clean(t.Label)}
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

type tenantAddCmd struct {
	Name     string `arg:"" help:"Lower-case letters, digits and hyphens. It never changes."`
	Label    string `help:"What people call it."`
	Postpaid bool   `help:"It pays from no wallet."`
	clientFlags
}

func (c *tenantAddCmd) Run(ctx context.Context, env *Env) error {
	var t api.TenantView
	body := given(map[string]any{"name": c.Name, "label": c.Label})
	body["prepaid"] = !c.Postpaid
	done, err := c.change(ctx, env, http.MethodPost, "/v1/tenants", body, "einmal tenant list   (shows whether it was made)", &t)
	if done || err != nil {
		return err
	}
	s := env.style()
	_, _ = fmt.Fprintf(env.Stdout, "tenant %s is made\n", clean(t.Name))
	_, _ = fmt.Fprintln(env.Stdout, s.faint("next: einmal key create --tenant "+clean(t.Name)+" --name NAME --scope admin"))
	return nil
}

type tenantShowCmd struct {
	Name string `arg:""`
	clientFlags
}

func (c *tenantShowCmd) Run(ctx context.Context, env *Env) error {
	var t api.TenantView
	done, err := c.change(ctx, env, http.MethodGet, "/v1/tenants/"+url.PathEscape(c.Name), nil, "run the same command again", &t)
	if done || err != nil {
		return err
	}
	return tellTenant(env, &t)
}

func tellTenant(env *Env, t *api.TenantView) error {
	state := clean(t.State)
	if t.StateSince != nil {
		state += " since " + clock(*t.StateSince) + " UTC by " + clean(t.StateBy) + ": " + clean(t.StateReason)
	}
	created := clockOrDash(t.CreatedAt)
	if t.CreatedBy != "" {
		created += " by " + clean(t.CreatedBy)
	}
	table(env.Stdout, [][]string{
		{"name", clean(t.Name)}, {"label", clean(t.Label)}, {"state", state}, {"prepaid", yesNo(t.Prepaid)}, {"created (UTC)", created},
	})
	return nil
}

type tenantLabelCmd struct {
	Name  string `arg:""`
	Label string `arg:""`
	clientFlags
}

func (c *tenantLabelCmd) Run(ctx context.Context, env *Env) error {
	return changeTenant(ctx, env, &c.clientFlags, c.Name, map[string]any{"label": c.Label})
}

type tenantSuspendCmd struct {
	Name string `arg:""`
	personFlags
	clientFlags
}

func (c *tenantSuspendCmd) Run(ctx context.Context, env *Env) error {
	return changeTenant(ctx, env, &c.clientFlags, c.Name, map[string]any{"state": "suspended", "by": c.By, "reason": c.Reason})
}

type tenantResumeCmd struct {
	Name string `arg:""`
	personFlags
	clientFlags
}

func (c *tenantResumeCmd) Run(ctx context.Context, env *Env) error {
	return changeTenant(ctx, env, &c.clientFlags, c.Name, map[string]any{"state": "active", "by": c.By, "reason": c.Reason})
}

func changeTenant(ctx context.Context, env *Env, f *clientFlags, name string, body map[string]any) error {
	var t api.TenantView
	done, err := f.change(ctx, env, http.MethodPatch, "/v1/tenants/"+url.PathEscape(name), body, "einmal tenant show "+clean(name), &t)
	if done || err != nil {
		return err
	}
	return tellTenant(env, &t)
}
